//! The event `question_answered`.

use serde::{Deserialize, Serialize};

use crate::record::EffectKey;
use crate::run::{PersonAnswer, Reject, Run};
use crate::run::approval::Approval;
use crate::run::tools::ToolResults;
use crate::nouns::{BlobId, ExecutionId, Slug};

use super::check::require;
use super::{Checked, Line, Recorded};

/// A question of a tool was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionAnswered {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The id of the call.
    pub call: String,
    /// The answer, as the output of the call.
    pub output: BlobId,
}

impl Recorded for QuestionAnswered {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        require(run.stage().is_working(), || Reject::Concluding)?;
        let key = self.key();
        require(Approval(run).is_open_question(&key), || Reject::NotInFlight(key.clone()))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        ToolResults(run).answered(&self.key(), PersonAnswer::Given(self.output.clone()));
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(self.key())
    }

    fn blobs(&self) -> Vec<&BlobId> {
        vec![&self.output]
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail(format!("{}: its question is answered", self.task)))
    }
}

impl QuestionAnswered {
    fn key(&self) -> EffectKey {
        EffectKey::Question { task: self.task.clone(), run: self.run.clone(), call: self.call.clone() }
    }
}
