//! What the core knows about tools: their effect on the world, and whether a call may be repeated (spec 11.1).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BlobId;

/// What a tool can do outside the run directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Only looks.
    Read,
    /// Changes files, through a change set.
    Write,
    /// Starts a process.
    Execute,
}

/// Whether a call that started but did not finish may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "PascalCase")]
pub enum RepeatClass {
    /// Repeating only reads again.
    Read,
    /// Repeating has the same effect as doing it once.
    Idempotent,
    /// Must not be repeated. If interrupted, it is reported and not run again.
    Once,
}

/// What is known about a tool without running it. An unknown tool counts as `Write`, `Once`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Canonical name, `[a-z0-9_]+`.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments object.
    pub parameters: Value,
    /// Effect on the world.
    pub effect: ToolEffect,
    /// Whether a call may be repeated.
    pub repeat: RepeatClass,
    /// Whether calls of this tool never run in parallel (spec 10.3).
    #[serde(default)]
    pub exclusive: bool,
    /// Whether only tasks get it whose skill or template names it, such as a tool of another program's server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named_only: bool,
    /// Other names that models, skills and templates use for it, in lower case. If tools share an alias, it means all
    /// of them.
    #[serde(default, skip_serializing)]
    pub aliases: Vec<String>,
    /// What a grant of its calls is bound to: where the tool is and all that it declares. `None` if its calls cannot be
    /// granted.
    #[serde(default, skip_serializing)]
    pub granted_as: Option<BlobId>,
}

impl ToolSpec {
    /// A tool without other names, which any skill may use and whose calls cannot be granted for longer than one answer.
    pub fn new(name: &str, description: &str, parameters: Value, effect: ToolEffect, repeat: RepeatClass) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            effect,
            repeat,
            exclusive: false,
            named_only: false,
            aliases: Vec::new(),
            granted_as: None,
        }
    }

    /// Whether its calls change nothing by themselves and return a change set. A tool that acts at once declares
    /// `Once`.
    pub fn stages_changes(&self) -> bool {
        self.effect == ToolEffect::Write && self.repeat == RepeatClass::Idempotent
    }
}

/// The canonical names for a written name: the name itself, or the tools with this alias, sorted by name (spec of
/// templates, 14). Ignores case.
pub fn canonical_tools<'a>(written: &str, tools: impl Iterator<Item = &'a ToolSpec> + Clone) -> Vec<String> {
    let folded = written.trim().to_lowercase().replace('-', "_");
    if tools.clone().any(|tool| tool.name == folded) {
        return vec![folded];
    }
    let mut meant: Vec<String> =
        tools.filter(|tool| tool.aliases.contains(&folded)).map(|tool| tool.name.clone()).collect();
    meant.sort();
    if meant.is_empty() { vec![written.trim().to_owned()] } else { meant }
}

/// One call of a tool. Rendered with the keys in this order (spec 9.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// Tool name.
    pub name: String,
    /// Unique within its task. `<name>-<n>` if the model gave none (repair `call-id-set`).
    pub id: String,
    /// An object; `{}` when absent.
    pub arguments: Value,
}
