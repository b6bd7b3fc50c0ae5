//! The event `changes_rolled_back`.

use serde::{Deserialize, Serialize};

use crate::record::EffectKey;
use crate::run::Run;
use crate::run::changes::SetKey;
use crate::run::changing::Changing;
use crate::nouns::{ExecutionId, Slug};

use super::check::Check;
use super::{Checked, Recorded};

/// An interrupted apply was rolled back. Nothing of it is on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangesRolledBack {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The number of the change set within the task.
    pub set: u32,
}

impl Recorded for ChangesRolledBack {
    fn check(&self, run: &Run) -> Checked {
        Check(run).in_flight(self.key().roll_back())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Changing(run).rolled_back(&self.key());
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(self.key().roll_back())
    }

}

impl ChangesRolledBack {
    fn key(&self) -> SetKey {
        SetKey { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }
}
