//! Tools as the core knows them: what they do to the world, and whether a call may be repeated (spec 11.1).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a tool can do outside the run directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Only looks.
    Read,
    /// Changes files, through a change set.
    Write,
    /// Starts a process.
    Execute,
}

/// Whether a call that started and did not finish may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub enum RepeatClass {
    /// Repeating only reads again.
    Read,
    /// Repeating has the effect of doing it once.
    Idempotent,
    /// Must not be repeated: interrupted is reported, not rerun.
    Once,
}

/// What is known of a tool without running it. An unknown tool counts as `Write`, `Once`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Canonical name, `[a-z_]+`.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// JSON Schema of the arguments object.
    pub parameters: Value,
    /// Effect on the world.
    pub effect: ToolEffect,
    /// Whether a call may be repeated.
    pub repeat: RepeatClass,
    /// Calls of this tool never run beside each other (spec 10.3).
    #[serde(default)]
    pub exclusive: bool,
    /// Names that models, skills and templates write for it, in lower case. Tools may share one, which means all of them.
    #[serde(default, skip_serializing)]
    pub aliases: Vec<String>,
}

impl ToolSpec {
    /// Its calls change nothing by themselves: they give a change set. A tool that acts at once declares `Once`.
    pub fn stages_changes(&self) -> bool {
        self.effect == ToolEffect::Write && self.repeat == RepeatClass::Idempotent
    }
}

/// The canonical names that one written name stands for: itself, or the tools that have it as an alias, by name (spec
/// of templates, 14). Names are compared without case.
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
pub struct ToolCall {
    /// Tool name.
    pub name: String,
    /// Unique inside its task; `<name>-<n>` when the model gave none (repair `call-id-set`).
    pub id: String,
    /// An object; `{}` when absent.
    pub arguments: Value,
}
