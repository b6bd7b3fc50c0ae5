//! The event `question_declined`.

use serde::{Deserialize, Serialize};

use crate::record::EffectKey;
use crate::run::{PersonAnswer, Reject, Run};
use crate::run::approval::Approval;
use crate::run::tools::ToolResults;
use crate::nouns::{ExecutionId, Slug};

use super::check::require;
use super::{Checked, Line, Recorded};

/// Nobody was there to answer a question in the middle of a tool call. The call goes on without an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionDeclined {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The id of the call.
    pub call: String,
}

impl Recorded for QuestionDeclined {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        require(run.stage().is_working(), || Reject::Concluding)?;
        let key = self.key();
        require(Approval(run).is_open_midway(&key), || Reject::NotInFlight(key.clone()))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        ToolResults(run).answered(&self.key(), PersonAnswer::Declined);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(self.key())
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail(format!("{}: its question is declined", self.task)))
    }
}

impl QuestionDeclined {
    fn key(&self) -> EffectKey {
        EffectKey::Question { task: self.task.clone(), run: self.run.clone(), call: self.call.clone() }
    }
}
