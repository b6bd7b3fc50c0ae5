//! The event `changes_rejected`.

use serde::{Deserialize, Serialize};

use crate::issue::Issue;
use crate::record::EffectKey;
use crate::run::Run;
use crate::run::changes::SetKey;
use crate::run::changing::Changing;
use crate::nouns::{ExecutionId, Slug};

use super::check::Check;
use super::{Checked, Line, Recorded};

/// A change set could not be applied. Nothing of it is on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangesRejected {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The number of the change set within the task.
    pub set: u32,
    /// Why it could not be applied.
    pub issues: Vec<Issue>,
}

impl Recorded for ChangesRejected {
    fn check(&self, run: &Run) -> Checked {
        Check(run).in_flight(self.key().apply())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Changing(run).rejected(&self.key(), &self.issues);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(self.key().apply())
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail(format!("{}: its changes could not be made", self.task)))
    }
}

impl ChangesRejected {
    fn key(&self) -> SetKey {
        SetKey { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }
}
