//! The content of replies after reading. Lists of tasks are `nouns::TaskList`.

use callsheet_core::nouns::ToolCall;
use serde::{Deserialize, Serialize};

use crate::edit::Change;

/// A file from a `Details` block (spec 3.8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailFile {
    /// One path component.
    pub filename: String,
    /// Its content.
    pub content: String,
}

/// The reply of an execution, with or without changes, or of a merge (spec 3.8, 3.9, 3.11, 3.12).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionReply {
    /// Body of `Result summary`. Never empty if the reply is accepted.
    pub summary: String,
    /// The whole reply without thinking.
    pub document: String,
    /// Files of `Details` blocks.
    pub details: Vec<DetailFile>,
    /// Whether `**more work needed**` was alone on a line.
    pub more_work: bool,
    /// Whether `**no changes needed**` was alone on a line.
    pub no_changes: bool,
    /// Existing files that it names and quotes in this case.
    pub unchanged: Vec<String>,
    /// Changes of `Change details` blocks, in order.
    pub changes: Vec<Change>,
}

/// One turn of a loop task (spec 10.7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopTurn {
    /// Valid calls to make.
    Calls(Vec<ToolCall>),
    /// A reply in execution format.
    Final(Box<ExecutionReply>),
}
