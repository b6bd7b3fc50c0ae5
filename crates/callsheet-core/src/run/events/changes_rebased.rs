//! The event `changes_rebased`.

use serde::{Deserialize, Serialize};

use crate::record::{ChangeSet, EffectKey};
use crate::run::Run;
use crate::run::changes::{SetKey, SetStage};
use crate::run::changing::Changing;
use crate::nouns::{BlobId, ExecutionId, Slug};

use super::check::Check;
use super::{blobs, Checked, Recorded};

/// A file of a change set changed before the set was applied, or while a gate shows it. Nothing of the set is on
/// disk. A set that fits the current files replaces it, under the next number of the task (spec 3.10).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangesRebased {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The number of the change set within the task.
    pub set: u32,
    /// The set that replaces it.
    pub changes: ChangeSet,
    /// Whether its hunks equal the approved hunks byte for byte, so that the approval is still valid.
    pub as_shown: bool,
}

impl Recorded for ChangesRebased {
    fn check(&self, run: &Run) -> Checked {
        let key = self.key();
        let waits = run.changes.get(&key).is_some_and(|set| matches!(set.stage, SetStage::Gated(_)));
        if waits { Ok(()) } else { Check(run).in_flight(key.apply()) }
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Changing(run).rebased(&self.key(), &self.changes, self.as_shown);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(self.key().apply())
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_changes(&self.changes)
    }
}

impl ChangesRebased {
    fn key(&self) -> SetKey {
        SetKey { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }
}
