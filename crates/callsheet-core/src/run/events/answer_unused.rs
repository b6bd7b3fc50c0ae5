//! The event `answer_unused`.

use serde::{Deserialize, Serialize};

use crate::record::{AnsweredBy, Gate};
use crate::run::Run;

use super::{Checked, Line, Recorded, When};

/// A saved answer was not used, because a later one about the same question counts (spec 11.5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AnswerUnused {
    /// The gate, with the number under which it asked.
    pub gate: Gate,
    /// The answer in a word: `approved`, `denied`.
    pub verdict: String,
    /// Where the answer was given.
    pub by: Option<AnsweredBy>,
}

impl Recorded for AnswerUnused {
    fn when(&self) -> When {
        When::Always
    }

    fn check(&self, _run: &Run) -> Checked {
        Ok(())
    }

    fn apply(&self, _run: &mut Run, _at: u64) {}

    fn line(&self, _run: &Run) -> Option<Line> {
        let by = self.by.as_ref().map(|by| format!(" {}", by.words())).unwrap_or_default();
        let (n, verdict) = (self.gate.n, &self.verdict);
        Some(Line::new(format!("approval {n}: of several answers, one was not used: {verdict}{by}")))
    }
}
