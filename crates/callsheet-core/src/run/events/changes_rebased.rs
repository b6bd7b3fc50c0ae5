//! The event `changes_rebased`.

use serde::{Deserialize, Serialize};

use crate::record::{ChangeSet, EffectKey};
use crate::run::Run;
use crate::run::changes::{SetKey, SetStage};
use crate::run::changing::Changing;
use crate::nouns::{BlobId, ExecutionId, Slug};

use super::check::Check;
use super::{blobs, Checked, Recorded};

/// A file of a change set moved before the set was applied, or while a gate shows it; nothing of it is on disk. The set
/// that fits the files as they are now takes its place, under the next number of the task (spec 3.10).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangesRebased {
    /// Task.
    pub task: Slug,
    /// Execution run.
    pub run: ExecutionId,
    /// Number of the change set inside the task.
    pub set: u32,
    /// The set that takes its place.
    pub changes: ChangeSet,
    /// Its hunks have the lines of the hunks that were approved, byte for byte: the approval holds.
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
