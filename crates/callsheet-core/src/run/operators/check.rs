//! Whether log entries of a task tree fit.

use crate::record::{EffectKey, Entry, Step, Tree};
use crate::run::{Reject, Run, Stage};
use crate::spec::Slug;

use super::{EvalPhase, OpState, TaskOp};

/// Checks log entries of the tree.
#[derive(Clone, Copy)]
pub(in crate::run) struct TreeCheck<'a>(pub &'a Run);

impl<'a> TreeCheck<'a> {
    /// A tree was adopted.
    pub fn adopted(self, tree: &Tree) -> Result<(), Reject> {
        let run = self.0;
        let template = matches!(run.entry(), Some(Entry::Template { .. }));
        let known = tree.templates.contains_key(&tree.entry);
        let awaited = run.stage() == Stage::AwaitList && run.operators.tree.is_none();
        if awaited && template && known { Ok(()) } else { Err(Reject::ListNotAwaited) }
    }

    /// A failed task begins again.
    pub fn retried(self, slug: &Slug) -> Result<(), Reject> {
        self.0.operators.retry(slug)?;
        let works = matches!(self.0.stage(), Stage::Operate | Stage::Conclude(_));
        if works { Ok(()) } else { Err(Reject::NotFailed(slug.clone())) }
    }

    /// A task was evaluated.
    pub fn evaluated(self, task: &Slug, n: u32, step: &Step) -> Result<(), Reject> {
        let not_in_flight = || Reject::NotInFlight(EffectKey::Evaluate { task: task.clone(), n });
        let due = match self.op(task)? {
            TaskOp { state: OpState::Due(moment), evaluations, .. } if *evaluations == n => *moment,
            _ => return Err(not_in_flight()),
        };
        if self.0.stage() != Stage::Operate {
            return Err(Reject::Concluding);
        }
        let fits = match step {
            Step::Opened(_) | Step::Seeks { .. } | Step::Matches => due == EvalPhase::Open,
            Step::GoesOn | Step::Regrown { .. } => due == EvalPhase::Judge,
            Step::Again { .. } | Step::Reparse { .. } => due == EvalPhase::Close,
            Step::Closed(_) => true,
        };
        if fits { Ok(()) } else { Err(not_in_flight()) }
    }

    /// Its context was looked up.
    pub fn retrieved(self, task: &Slug, n: u32) -> Result<(), Reject> {
        let key = EffectKey::Retrieve { task: task.clone(), n };
        let op = self.op(task)?;
        if self.0.stage() != Stage::Operate {
            return Err(Reject::Concluding);
        }
        let expected = op.state == OpState::Seeking && op.lookups == n;
        if expected && self.0.flights.contains(&key) { Ok(()) } else { Err(Reject::NotInFlight(key)) }
    }

    fn op(self, task: &Slug) -> Result<&'a TaskOp, Reject> {
        self.0.operators.get(task).ok_or_else(|| Reject::UnknownTask(task.clone()))
    }
}
