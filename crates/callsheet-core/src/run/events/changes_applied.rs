//! The event `changes_applied`.

use serde::{Deserialize, Serialize};

use crate::record::{ChangeSet, EffectKey};
use crate::run::{Reject, Run};
use crate::run::changes::SetKey;
use crate::run::changing::Changing;
use crate::nouns::{BlobId, ExecutionId, Slug};
use crate::units::counted;

use super::check::{require, Check};
use super::{blobs, Checked, Line, Recorded, Stale};

/// A change set is on disk as a whole. It equals the pending set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangesApplied {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The number of the change set within the task.
    pub set: u32,
    /// The applied set.
    pub changes: ChangeSet,
}

impl Recorded for ChangesApplied {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        let key = self.key();
        let same = run.changes.get(&key).is_none_or(|pending| pending.changes == self.changes);
        require(same, || Reject::OtherChanges { task: self.task.clone(), set: self.set })?;
        Check(run).in_flight(key.apply())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Changing(run).applied(&self.key(), &self.changes);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(self.key().apply())
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_changes(&self.changes)
    }

    fn stale(&self) -> Stale<'_> {
        Stale { sheet: true, task: Some(&self.task) }
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::new(format!("{}: changed {}", self.task, counted(self.changes.files.len(), "file"))))
    }
}

impl ChangesApplied {
    fn key(&self) -> SetKey {
        SetKey { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }
}
