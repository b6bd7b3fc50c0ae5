//! Why a task or an execution failed.

use crate::issue::Issue;

use super::limit::Limit;

/// Why a task or an execution failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// The reason, for a person and for the iteration.
    pub reason: String,
    /// The issues of the last refused reply or of the reference check.
    pub issues: Vec<Issue>,
    /// Whether it failed only because of communication (spec 12.3, 12.4).
    pub communication: bool,
    /// The kind of cause, for rules that distinguish causes.
    pub cause: Cause,
}

/// The kind of cause that ended a task or an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// Another cause, which the reason describes.
    #[default]
    Other,
    /// A limit of the task itself.
    Limit(Limit),
    /// A limit of a task of the tree above it (spec "Templates" 9).
    AboveLimit(Limit),
    /// The prompt did not fit the context window.
    Overflow,
    /// The configuration is wrong, for example the credentials or the model name.
    Configuration,
    /// The model repeated equal turns (spec "Templates" 9).
    NoProgress,
    /// A subtask failed because a budget above it is used up (spec "Templates" 12).
    Subtask,
}
