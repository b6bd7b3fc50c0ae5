//! The event `gate_answered`.

use serde::{Deserialize, Serialize};

use crate::record::{Answer, AnsweredBy, EffectKey, Gate, GateKind};
use crate::run::{Reject, Run};
use crate::run::answers::{check_answer, Answers};
use crate::run::approval::Approval;
use crate::nouns::BlobId;
use crate::units::counted;

use super::check::require;
use super::{blobs, Checked, Line, Recorded};

/// A gate was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateAnswered {
    /// The gate, with the number under which it asked.
    pub gate: Gate,
    /// The answer.
    pub answer: Answer,
    /// Where the answer was given. `None` in records from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AnsweredBy>,
}

impl GateAnswered {
    /// In words: `approval 3 was denied on the page`.
    pub fn words(&self) -> String {
        let by = self.by.as_ref().map(|by| format!(" {}", by.words())).unwrap_or_default();
        format!("approval {} was {}{by}", self.gate.n, self.answer.verdict())
    }
}

impl Recorded for GateAnswered {
    fn check(&self, run: &Run) -> Checked {
        let Self { gate, answer, .. } = self;
        require(run.stage().is_working(), || Reject::Concluding)?;
        require(Approval(run).open_gates().any(|open| open == *gate), || Reject::GateClosed(gate.clone()))?;
        check_answer(gate, answer)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Answers(run).answered(&self.gate, &self.answer);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(EffectKey::Gate(self.gate.clone()))
    }

    fn blobs(&self) -> Vec<&BlobId> {
        match &self.answer {
            Answer::Part { kept, refused } => blobs::of_changes(kept).into_iter().chain([&refused.diff]).collect(),
            _ => Vec::new(),
        }
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        let how = self.answer.verdict();
        let by = self.by.as_ref().map(|by| format!(" {}", by.words())).unwrap_or_default();
        let what = match &self.gate.kind {
            GateKind::BeforeApply { task, .. } => format!("{task}: changes"),
            GateKind::BeforeCall { task, .. } => format!("{task}: call"),
            GateKind::BeforeRun(tasks) => match (&self.answer, tasks.as_slice()) {
                (_, [task]) => format!("{task}:"),
                (Answer::Each { verdicts, .. }, _) if verdicts.len() < tasks.len() => {
                    format!("{} of {} tasks:", verdicts.len(), tasks.len())
                }
                _ => format!("{}:", counted(tasks.len(), "task")),
            },
        };
        Some(Line::new(format!("{what} {how}{by}")))
    }
}
