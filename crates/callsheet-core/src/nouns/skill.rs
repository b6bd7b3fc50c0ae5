//! Skills: named instructions with a tool list and a policy (spec 7).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BlobId, MergePolicy, Policy, TaskLimits, ToolCall};

/// How a skill's tasks are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkillMode {
    /// Tool calls are fixed before the run, and the model evaluates their output.
    #[default]
    Interpret,
    /// A limited tool conversation (spec 10.7).
    Loop,
    /// A handler of a template: a tool conversation with its own limits (spec "Templates" 9).
    Handler,
    /// A process. No model is asked.
    Process,
    /// A template, run as a whole with the arguments of its call (spec "Templates" 16).
    Template,
}

/// Commands that a skill may run once a person approved its task (spec 7.11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SkillCommand {
    /// Their first words.
    pub words: Vec<String>,
    /// Whether a command has no further words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

impl fmt::Display for SkillCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))?;
        f.write_str(if self.whole { "" } else { " …" })
    }
}

/// How an `interpret` task divides its tool calls and references among evaluations (spec 10.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionMode {
    /// One evaluation for each tool call, each with all references. Without calls, one for all references if they fit
    /// into one prompt.
    #[default]
    PerCall,
    /// One evaluation with the output of all calls and all references.
    Together,
    /// Like `PerCall`, but without calls one evaluation for each reference.
    PerReference,
}

/// Limits that a skill sets for its own tasks (spec 7.3). `None` means the run's limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SkillLimits {
    /// The limits of each task.
    #[serde(flatten)]
    pub task: TaskLimits,
    /// The maximum number of parallel execution runs of one task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// Tokens of one tool output shown to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_output_tokens: Option<u32>,
    /// Tokens of one reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_tokens: Option<u32>,
}

/// What the run machine must know about a skill. Pinned in the log when a list is adopted, so a changed file on disk
/// never changes a run (spec 7.5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SkillPolicy {
    /// Hash of the whole skill text. The text itself is a blob.
    pub hash: Option<BlobId>,
    /// Allowed tools by canonical name, in the order written.
    pub tools: Vec<String>,
    /// The `PROVIDER/MODEL` that the skill asks for.
    pub model: Option<String>,
    /// Models to use if that one cannot be used or reached, in this order (spec "Templates" 1, 2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// How its tasks are divided into execution runs (spec 10.1).
    pub execution: ExecutionMode,
    /// Execution mode.
    pub mode: SkillMode,
    /// Overrides the run's refinement policy.
    pub refine: Option<Policy>,
    /// Overrides the run's merge policy.
    pub merge: Option<MergePolicy>,
    /// Overrides the run's review policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Policy>,
    /// The check that its changes must pass, by its name in the settings. A name without a setting means no check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Whether its tasks may create only the new files that they name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_files_named: bool,
    /// Whether no model may choose it: only a person, by its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named_only: bool,
    /// Whether its tasks start without a gate, because its file lists no tools: each change and each command then waits
    /// for an answer of its own (spec 7.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_each: bool,
    /// Commands that run without a further question once a person approved the task (spec 7.11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SkillCommand>,
    /// Limits of its tasks.
    pub limits: SkillLimits,
    /// Why its tasks need approval (spec 11.1), in words for a person. `None` if they only read.
    pub writer: Option<String>,
    /// Whether replies use the format with file changes (spec 3.9): `interpret` mode with `write_file` among the tools.
    pub writes_files: bool,
    /// Whether it needs tool arguments from a refinement (spec 2.12): `interpret` mode with tools other than
    /// `write_file`.
    pub needs_arguments: bool,
}

impl SkillPolicy {
    /// Whether its tasks need tool arguments that neither `calls` nor a refinement can provide, because the skill's
    /// policy, else that of the run, is `never` (spec 2.12).
    pub fn lacks_refinement(&self, of_run: Policy, calls: &[ToolCall]) -> bool {
        self.needs_arguments && calls.is_empty() && self.refine.unwrap_or(of_run) == Policy::Never
    }
}

/// The form of the skill's file (spec 7.1, 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkillForm {
    /// `<name>/SKILL.md`: one body for both stages.
    Folder,
    /// `<name>.md`: front matter, refinement part, execution part.
    SingleFile,
}

/// Where a skill was found, strongest first (spec 7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkillLayer {
    /// `.callsheet/skills/`.
    Project,
    /// `.agents/skills/`.
    ProjectAgents,
    /// `.claude/skills/`.
    ProjectClaude,
    /// The user's Callsheet skills directory.
    User,
    /// `.agents/skills/` in the user's home.
    UserAgents,
    /// `.claude/skills/` in the user's home.
    UserClaude,
    /// Shipped with Callsheet.
    Bundled,
}

/// Layer and path of a skill's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SkillSource {
    /// Layer.
    pub layer: SkillLayer,
    /// Path as shown to a person.
    pub path: String,
}

/// A skill that was read and checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Skill {
    /// Name in the catalog.
    pub name: String,
    /// When to use it. The planner reads this.
    pub description: String,
    /// Requests for which it is the right skill.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Form of its file.
    pub form: SkillForm,
    /// Where it came from.
    pub source: SkillSource,
    /// Instructions for refinement.
    pub refinement: String,
    /// Instructions for execution. Never empty.
    pub execution: String,
    /// Body of its `input-requirements` section (spec 7.4), or empty.
    pub input_requirements: String,
    /// What the machine must know about it.
    pub policy: SkillPolicy,
    /// The whole file as read.
    pub text: String,
}
