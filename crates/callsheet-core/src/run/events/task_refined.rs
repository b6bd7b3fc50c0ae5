//! The event `task_refined`.

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair};
use crate::record::CallKey;
use crate::run::Run;
use crate::run::replies::Replies;
use crate::nouns::{Phase, Refinement};

use super::check::Check;
use super::{Checked, Recorded, Stale};

/// A refinement was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskRefined {
    /// The call.
    pub key: CallKey,
    /// The new values.
    pub refinement: Refinement,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// Warnings.
    pub issues: Vec<Issue>,
}

impl Recorded for TaskRefined {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        Check(run).to_be_read(&self.key, self.key.phase == Phase::Refine && self.key.task.is_some())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Replies(run).refined(&self.key, &self.refinement, &self.repairs, &self.issues);
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }
}
