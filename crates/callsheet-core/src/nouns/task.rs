//! A task list: steps in order; the tasks of one step run in parallel (spec 1, 3.3).

use serde::{Deserialize, Serialize};

use super::{Policy, Reference, Slug, ToolCall};

/// One unit of work, with the keys of spec 3.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Task {
    /// Its display name. The host fills it in if the author gave none (spec 6.1).
    pub name: String,
    /// The stable identity that is derived from the name (spec 6.2). Empty until names are filled in.
    pub slug: Slug,
    /// Former slugs of a renamed task, still valid in references (spec 6.4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<Slug>,
    /// `What is needed`: required. Never empty in an accepted list.
    pub need: String,
    /// The skill's name. Without one, the task runs with the built-in reader instructions (spec 7.8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// `For each`: the task is done once for each item that its first reference contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<ForEach>,
    /// What the task reads, in order. With `for_each`, the first is where its items come from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// `Expected output`. If the author gave none, a default with a warning.
    pub expected: String,
    /// `Requires user approval`: makes the task need approval. It never removes that need.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// `Review`: overrides the review policy of its skill and its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Policy>,
    /// Tool calls from the plan or the refinement. All are valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Labelled text with unknown keys, kept with the task (issue `unknown-key`), one `Label: value` per line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub extra: String,
}

/// How a task is done once for each item (spec 3.16).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ForEach {
    /// The name of the placeholder `{name}`, which stands for the item.
    pub name: String,
    /// Whether the task is done although an item failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_failures: bool,
}

impl Task {
    /// Where the items of a task with `For each` come from.
    pub fn source(&self) -> Option<&Reference> {
        self.for_each.as_ref().and(self.references.first())
    }

    /// What a task is done for, in words: `file in notes/`. Empty without `For each`.
    pub fn for_each_words(&self) -> String {
        let Some((for_each, source)) = self.for_each.as_ref().zip(self.source()) else { return String::new() };
        let failures = if for_each.allow_failures { "; failed items do not fail the task" } else { "" };
        format!("{} in {}{failures}", for_each.name, source.target)
    }

    /// What each item of a task with `For each`, or the task itself, reads.
    pub fn own_references(&self) -> &[Reference] {
        let from = usize::from(self.for_each.is_some()).min(self.references.len());
        self.references.get(from..).unwrap_or_default()
    }

    /// Why a task needs approval although its skill changes nothing (spec 11.1). A person sees this at the gate.
    pub const ASKS_FOR_APPROVAL: &str = "the task asks for approval";
}

/// One `### Task section N`. Its tasks run in parallel (spec 2.6).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Step {
    /// Tasks in the order written.
    pub tasks: Vec<Task>,
}

/// The purpose of the list, and what it says about its own completeness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Goals {
    /// The body of `Goals / summary` without marker lines. Empty if the list has none.
    pub text: String,
    /// Whether `**plan complete**` was on a separate line (spec 2.13).
    #[serde(default)]
    pub plan_complete: bool,
    /// Whether `**plan continues**` was on a separate line (spec 2.2).
    #[serde(default)]
    pub plan_continues: bool,
}

/// Ordered steps with their goals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskList {
    /// Goals and markers.
    pub goals: Goals,
    /// Steps in order. None is empty in an accepted list.
    pub steps: Vec<Step>,
}

impl TaskList {
    /// All tasks in sheet order.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.steps.iter().flat_map(|step| &step.tasks)
    }

    /// All tasks in sheet order, to change.
    pub fn tasks_mut(&mut self) -> impl Iterator<Item = &mut Task> {
        self.steps.iter_mut().flat_map(|step| &mut step.tasks)
    }
}

/// The words of a task that distinguish it from another task with the same name (spec 4.4 `echo-dropped`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// Its skill.
    pub skill: Option<String>,
    /// What is needed.
    pub need: String,
}
