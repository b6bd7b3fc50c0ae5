//! The event `reply_refused`.

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair, Severity};
use crate::record::CallKey;
use crate::record::words::call_words;
use crate::run::Run;
use crate::run::replies::Replies;
use crate::nouns::{Phase, Refinement};

use super::check::Check;
use super::{Checked, Line, Recorded, Stale};

/// A reply was refused, because it has at least one issue of severity error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReplyRefused {
    /// The call.
    pub key: CallKey,
    /// All issues.
    pub issues: Vec<Issue>,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// The valid part of a refused refinement. It is stored in the task, so that the next attempt starts from it
    /// (spec 3.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<Refinement>,
}

impl Recorded for ReplyRefused {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        // An unreadable review counts as a verdict, and an unreadable route as no choice.
        Check(run).to_be_read(&self.key, !matches!(self.key.phase, Phase::Review | Phase::Route))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Replies(run).refused(&self.key, &self.issues, &self.repairs, self.valid.as_ref());
    }

    /// The failed task may have parts that finished.
    fn stale(&self) -> Stale<'_> {
        Stale { sheet: false, task: self.key.task.as_ref() }
    }

    fn line(&self, run: &Run) -> Option<Line> {
        let errors = self.issues.iter().filter(|issue| issue.severity == Severity::Error).peekable();
        let mut line = Line::new(format!("{}: rejected the reply", call_words(&self.key, run.part(&self.key))));
        for (number, issue) in errors.enumerate() {
            line = line.say(if number == 0 { ":\n    " } else { "\n    " }).quote(&issue.to_string(), 200);
        }
        Some(line)
    }
}
