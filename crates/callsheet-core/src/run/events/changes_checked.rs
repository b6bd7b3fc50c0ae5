//! The event `changes_checked`.

use serde::{Deserialize, Serialize};

use crate::issue::Issue;
use crate::record::{CheckEnd, CheckReport, EffectKey};
use crate::run::Run;
use crate::run::changes::SetKey;
use crate::run::changing::Changing;
use crate::nouns::{BlobId, ExecutionId, Slug};

use super::check::Check;
use super::{Checked, Line, Recorded};

/// A change set was checked on a copy of the project (spec 10.10).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangesChecked {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// Number of the set.
    pub set: u32,
    /// The result of the check.
    pub check: CheckReport,
    /// What its model is told if the check failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
}

impl Recorded for ChangesChecked {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        Check(run).in_flight(self.key().attempt())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Changing(run).checked(&self.key(), &self.check, &self.issues);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(self.key().attempt())
    }

    fn blobs(&self) -> Vec<&BlobId> {
        vec![&self.check.output]
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        let how = match self.check.end {
            CheckEnd::Passed => "passed",
            CheckEnd::Failed => "failed",
            CheckEnd::NotRun => "did not run",
        };
        Some(Line::new(format!("{}: the check {} {how}", self.task, self.check.name)))
    }
}

impl ChangesChecked {
    fn key(&self) -> SetKey {
        SetKey { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }
}
