//! The event `reviewed`.

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair};
use crate::record::CallKey;
use crate::record::words::call_words;
use crate::run::Run;
use crate::run::execution::Execution;
use crate::run::reviews::Reviews;
use crate::nouns::Phase;

use super::check::Check;
use super::{Checked, Line, Recorded};

/// The reply of a review was read (spec 10.9). A reply without a verdict counts as complete, with a warning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reviewed {
    /// The call.
    pub key: CallKey,
    /// What is missing in the result. `None` if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// What the next attempt is told, or why there is no verdict.
    pub issues: Vec<Issue>,
}

impl Recorded for Reviewed {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        let task = self.key.task.as_ref().and_then(|slug| run.tasks.get(slug));
        let exec = self.key.run.as_ref().and_then(|id| task?.run(id));
        let asked = exec.is_some_and(Execution::is_under_review);
        Check(run).to_be_read(&self.key, self.key.phase == Phase::Review && asked)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Reviews(run).reviewed(&self.key, self.missing.as_deref(), &self.repairs, &self.issues);
    }

    fn line(&self, run: &Run) -> Option<Line> {
        let issue = self.issues.first()?;
        Some(Line::new(format!("{}: ", call_words(&self.key, run.part(&self.key)))).quote(&issue.what, 200))
    }
}
