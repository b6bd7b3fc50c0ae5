//! Checks whether log entries of a task tree fit.

use crate::nouns::Slug;
use crate::record::{EffectKey, Entry, Step, Tree};
use crate::run::{Reject, Run, Stage};

use super::{NodeInstance, OpState};

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

    /// Checks whether an evaluation of a task was outstanding.
    pub fn evaluated(self, task: &Slug, n: u32, step: &Step) -> Result<(), Reject> {
        let op = self.op(task)?;
        if !self.0.stage().is_working() && matches!(op.phase, OpState::Due(_)) && op.evaluations == n {
            return Err(Reject::Concluding);
        }
        let fits = op.evaluations == n && op.phase.after(step).is_some();
        if fits { Ok(()) } else { Err(Reject::NotInFlight(EffectKey::Evaluate { task: task.clone(), n })) }
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
        self.0.operators.get(task).filter(|op| op.id == *task).ok_or_else(|| Reject::UnknownTask(task.clone()))
    }
}
