//! The limits that may affect a run. `limits` contains what each limit forbids.

use serde::{Deserialize, Serialize};

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `jobs`: the number of work units in flight (spec 2.6).
    Jobs,
    /// `limits.parallel` of a skill: the number of executions of one task at the same time (spec 10.3).
    Parallel,
    /// Exclusive tools, which run one call at a time (spec 10.3).
    Exclusive,
    /// `attempts` of a phase (spec 12).
    Attempts,
    /// `max_rounds` (spec 2.4).
    MaxRounds,
    /// `max_calls` of the run.
    MaxCalls,
    /// `max_tokens` of the run.
    MaxTokens,
    /// `max_cost_usd` of the run.
    MaxCost,
    /// `run_timeout_seconds`.
    RunTimeout,
    /// `timeout_seconds` of a task.
    TaskTimeout,
    /// `limits.max_calls` of a skill.
    TaskCalls,
    /// `limits.max_tokens` of a skill.
    TaskTokens,
    /// `max_turns` of a loop task (spec 10.7).
    MaxTurns,
    /// Three repeated calls of a loop task (spec 10.7).
    RepeatedCalls,
    /// `no_progress_repeats`: equal turns of a handler in a row (spec "Templates" 9).
    NoProgress,
    /// `max_context_fraction` of a handler. The code that builds prompts enforces it. Here it is only reported.
    Window,
    /// `max_output_bytes` of a handler. The code that receives replies enforces it. Here it is only reported.
    Output,
}

impl Limit {
    /// All limits that affect what is outstanding.
    pub const ALL: [Self; 15] = [
        Self::Jobs,
        Self::Parallel,
        Self::Exclusive,
        Self::Attempts,
        Self::MaxRounds,
        Self::MaxCalls,
        Self::MaxTokens,
        Self::MaxCost,
        Self::RunTimeout,
        Self::TaskTimeout,
        Self::TaskCalls,
        Self::TaskTokens,
        Self::MaxTurns,
        Self::RepeatedCalls,
        Self::NoProgress,
    ];

    /// The name by which a person sets it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Parallel => "parallel",
            Self::Exclusive => "exclusive",
            Self::Attempts => "attempts",
            Self::MaxRounds => "max_rounds",
            Self::MaxCalls | Self::TaskCalls => "max_calls",
            Self::MaxTokens | Self::TaskTokens => "max_tokens",
            Self::MaxCost => "max_cost_usd",
            Self::RunTimeout => "run_timeout_seconds",
            Self::TaskTimeout => "timeout_seconds",
            Self::MaxTurns => "max_turns",
            Self::RepeatedCalls => "repeated_calls",
            Self::NoProgress => "no_progress_repeats",
            Self::Window => "max_context_fraction",
            Self::Output => "max_output_bytes",
        }
    }
}
