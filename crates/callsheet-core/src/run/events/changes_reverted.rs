//! The event `changes_reverted`.

use serde::{Deserialize, Serialize};

use crate::run::{Reject, Run};
use crate::run::changing::Changing;
use crate::nouns::{ExecutionId, Slug};

use super::check::require;
use super::{Checked, Recorded, Stale, When};

/// A person reverted applied changes after the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangesReverted {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The number of the change set within the task.
    pub set: u32,
}

impl Recorded for ChangesReverted {
    fn when(&self) -> When {
        When::Always
    }

    fn check(&self, run: &Run) -> Checked {
        let task = run.tasks.get(&self.task);
        let mut applied = task.into_iter().flat_map(|task| &task.applied);
        let known = applied.any(|one| one.set == self.set && !one.reverted);
        require(known, || Reject::UnknownSet { task: self.task.clone(), set: self.set })
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Changing(run).reverted(&self.task, self.set);
    }

    fn stale(&self) -> Stale<'_> {
        Stale { sheet: true, task: Some(&self.task) }
    }
}
