//! The question and the answer of a lookup (spec 13). All of it is recorded, so a replay looks nothing up.

use serde::{Deserialize, Serialize};

/// A matching file with a reason: `["/abs/path", "why" | null]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMatch(
    /// Its path: absolute in the index, relative to the project after the handler checked it.
    pub String,
    /// The reason, if there is one.
    pub Option<String>,
);

/// A part of the parent's frame that may be relevant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextItem {
    /// Title, or path of a file.
    pub name: String,
    /// Text. Empty for a file, whose content memory never sees.
    pub text: String,
}

/// The question of `get_relevant_context_for`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextQuery {
    /// The filled text of the task.
    pub task_text: String,
    /// What the task could inherit, to choose from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inherited_context: Vec<ContextItem>,
    /// Outputs of earlier tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub previous_outputs: Vec<String>,
    /// Inputs that are used for matching (`match` true), with their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<(String, String)>,
    /// Searched instead of the text of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether to search the index. Otherwise only `inherited_context` is searched.
    pub search_index: bool,
}

/// The answer of `get_relevant_context_for`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RelevantContext {
    /// The text that memory returned.
    pub context: String,
    /// Files, the best first.
    pub matches: Vec<FileMatch>,
    /// Which of `inherited_context` are relevant, by number from 0, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<usize>,
    /// Whether the index is empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty_index: bool,
    /// What is worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Everything that must be looked up for a task before it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeekRequest {
    /// A read-only command that prints one path per line (spec 14).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The lookup of `file_paths` by description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described: Option<ContextQuery>,
    /// The lookup of fresh context, and the choice among inherited items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub related: Option<ContextQuery>,
    /// Whether to return what is known about each file too, for a model that chooses among them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub about: bool,
}

/// What was found for a task. Paths are relative to the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// Existing files that the command printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Why the command returned nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_error: Option<String>,
    /// Files found by description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub described: Vec<FileMatch>,
    /// Fresh files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<FileMatch>,
    /// Metadata of these files by path, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<(String, String)>,
    /// The text that memory returned.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Relevant inherited items, by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<usize>,
    /// What is worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
