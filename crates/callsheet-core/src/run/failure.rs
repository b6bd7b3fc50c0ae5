//! Why a task or an execution failed.

use crate::issue::Issue;

use super::limit::Limit;

/// Why a task or an execution run failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// For a person and the iteration.
    pub reason: String,
    /// Issues of the last refused reply or of the reference check.
    pub issues: Vec<Issue>,
    /// All of it was communication (spec 12.3, 12.4).
    pub communication: bool,
    /// What ended it, where a rule asks.
    pub cause: Cause,
}

/// What ended a task or an execution run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// See the reason.
    #[default]
    Other,
    /// A limit of its own.
    Limit(Limit),
    /// A limit of a task of the tree above it (spec "Templates" 9).
    AboveLimit(Limit),
    /// The prompt did not fit the window.
    Overflow,
    /// Refused credentials, unknown model and the like.
    Configuration,
    /// Equal turns in a row (spec "Templates" 9).
    NoProgress,
    /// A subtask that failed because a budget above it is spent (spec "Templates" 12).
    Subtask,
}
