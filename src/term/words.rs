//! Numbers and states in the words people read.

use callsheet_core::record::Outcome;
pub use callsheet_core::view::{dollars, duration, thousands};
use callsheet_runtime::ports::ModelInfo;

/// The context window of a model and who said so, or the setting that says it.
pub fn window_words(model: &ModelInfo) -> String {
    match (model.window, model.window_from) {
        (Some(tokens), from) => {
            let from = from.map(|from| format!(", {}", from.words())).unwrap_or_default();
            format!("{} tokens{from}", thousands(u64::from(tokens)))
        }
        (None, _) => format!("not known (set providers.{}.window)", model.provider),
    }
}

/// A sentence from words: with a capital letter in front.
pub fn sentence(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// What an outcome means, in a sentence without a period.
pub fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Incomplete => "incomplete: a task failed, was denied or blocked",
        Outcome::MaxRounds => "Max rounds reached",
        Outcome::Planned => "planned",
        Outcome::PlanFailed => "no valid plan",
        Outcome::IterationFailed => "no valid iteration",
        Outcome::ApprovalRequired => "waiting for approval",
        Outcome::InputRequired => "waiting for an answer",
        Outcome::Unreachable => "could not reach the model",
        Outcome::Misconfigured => "the model refused the request",
        Outcome::LimitReached => "reached a limit",
        Outcome::Cancelled => "cancelled",
        Outcome::TaskFailed => "the task failed",
        Outcome::InputInvalid => "inputs are missing or wrong",
    }
}
