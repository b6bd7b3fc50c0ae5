//! What a lookup is asked and what it gives (spec 13). All of it is recorded, so a replay looks nothing up.

use serde::{Deserialize, Serialize};

/// A file that fits, and why: `["/abs/path", "why" | null]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMatch(
    /// Its path: absolute in the index, as the project names it once the handler looked at it.
    pub String,
    /// Why, if something can be said.
    pub Option<String>,
);

/// Something of the parent's frame that may matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextItem {
    /// Title, or path of a file.
    pub name: String,
    /// Text; empty for a file, whose content memory never sees.
    pub text: String,
}

/// The question of `get_relevant_context_for`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextQuery {
    /// The filled text of the task.
    pub task_text: String,
    /// What the task would inherit, to be chosen from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inherited_context: Vec<ContextItem>,
    /// Outputs of earlier tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub previous_outputs: Vec<String>,
    /// Inputs that take part (`match` true), with their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<(String, String)>,
    /// Looked for instead of the text of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the index is searched; else only `inherited_context` is chosen from.
    pub search_index: bool,
}

/// The answer of `get_relevant_context_for`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RelevantContext {
    /// What memory has to say, in words.
    pub context: String,
    /// Files, the best first.
    pub matches: Vec<FileMatch>,
    /// Which of `inherited_context` matter, by number from 0, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<usize>,
    /// The index holds nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty_index: bool,
    /// What is worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Everything a task wants to be found before it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeekRequest {
    /// A read-only command that prints one path a line (spec 14).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The lookup of `file_paths` by description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described: Option<ContextQuery>,
    /// The lookup of fresh context, and the choice among inherited items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub related: Option<ContextQuery>,
    /// Whether what is known of each file is wanted too, for a model that chooses among them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub about: bool,
}

/// What was found for a task. Paths are as the project names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// Existing files that the command printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Why the command gave nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_error: Option<String>,
    /// Files found by description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub described: Vec<FileMatch>,
    /// Fresh files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<FileMatch>,
    /// Metadata of these files, by path, if they were wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<(String, String)>,
    /// What memory had to say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Inherited items that matter, by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<usize>,
    /// What is worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
