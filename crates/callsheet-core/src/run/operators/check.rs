//! Checks whether log entries of a task tree fit.

use crate::nouns::Slug;
use crate::record::{EffectKey, Entry, Step, Tree};
use crate::run::{Reject, Run, Stage};
use crate::template::operators::EvalPhase;

use super::{NodeInstance, OpState, Redo};

/// Checks log entries of a tree.
#[derive(Clone, Copy)]
pub(in crate::run) struct TreeCheck<'a>(pub &'a Run);

impl<'a> TreeCheck<'a> {
    /// Checks whether a tree may be adopted.
    pub fn adopted(self, tree: &Tree) -> Result<(), Reject> {
        let run = self.0;
        let template = matches!(run.entry(), Some(Entry::Template { .. }));
        let known = tree.templates.contains_key(&tree.entry);
        let awaited = run.stage() == Stage::AwaitList && run.operators.mounts.is_empty();
        if awaited && template && known { Ok(()) } else { Err(Reject::ListNotAwaited) }
    }

    /// Checks whether a task of the run's own tree may begin again or be removed. It is named by its own name or that of
    /// its handler.
    pub fn redone(self, slug: &Slug, how: Redo) -> Result<(), Reject> {
        let operators = &self.0.operators;
        let op = operators.named(slug).ok_or_else(|| Reject::UnknownTask(slug.clone()))?;
        let works = matches!(self.0.stage(), Stage::Operate | Stage::Conclude(_));
        if !works || !op.is_closed() {
            return Err(how.refused(slug));
        }
        operators.redone(op.number, how).map(|_| ())
    }

    /// Checks whether an evaluation of a task was outstanding.
    pub fn evaluated(self, task: &Slug, n: u32, step: &Step) -> Result<(), Reject> {
        let not_in_flight = || Reject::NotInFlight(EffectKey::Evaluate { task: task.clone(), n });
        let due = match self.op(task)? {
            NodeInstance { phase: OpState::Due(moment), evaluations, .. } if *evaluations == n => *moment,
            _ => return Err(not_in_flight()),
        };
        if !self.0.stage().is_working() {
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

    /// Checks whether a lookup of context was outstanding.
    pub fn retrieved(self, task: &Slug, n: u32) -> Result<(), Reject> {
        let key = EffectKey::Retrieve { task: task.clone(), n };
        let op = self.op(task)?;
        if !self.0.stage().is_working() {
            return Err(Reject::Concluding);
        }
        let expected = op.phase == OpState::Seeking && op.lookups == n;
        if expected && self.0.in_flight.contains(&key) { Ok(()) } else { Err(Reject::NotInFlight(key)) }
    }

    fn op(self, task: &Slug) -> Result<&'a NodeInstance, Reject> {
        self.0.operators.get(task).ok_or_else(|| Reject::UnknownTask(task.clone()))
    }
}
