//! A task list: steps in order, the tasks of one step concurrent (spec 1, 3.3).

use serde::{Deserialize, Serialize};

use super::{Reference, Slug, ToolCall};

/// One unit of work, with the keys of spec 3.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its display name; filled by the host when the author gave none (spec 6.1).
    pub name: String,
    /// The stable identity derived from the name (spec 6.2). Empty until names are filled.
    pub slug: Slug,
    /// Former slugs of a renamed task, still valid in references (spec 6.4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<Slug>,
    /// `What is needed`: required, never empty in an accepted list.
    pub need: String,
    /// The skill's name; `None` runs with the built-in reader instructions (spec 7.8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// What the task reads, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// `Expected output`; defaulted with a warning when the author gave none.
    pub expected: String,
    /// `Requires user approval`: raises the task to a writer, never lowers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// Tool calls the plan or the refinement gave it, all valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Labelled text with unknown keys, kept with the task (issue `unknown-key`), one `Label: value` a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub extra: String,
}

impl Task {
    /// Why a task whose skill writes nothing is a writer (spec 11.1); shown to a person at the gate.
    pub const ASKS_FOR_APPROVAL: &str = "the task asks for approval";
}

/// One `### Task section N`: its tasks are concurrent (spec 2.6).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Tasks in the order written.
    pub tasks: Vec<Task>,
}

/// What the list is for, and what it says about its own completeness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goals {
    /// The body of `Goals / summary` without marker lines; empty when the list gave none.
    pub text: String,
    /// `**plan complete**` stood alone on a line (spec 2.13).
    #[serde(default)]
    pub plan_complete: bool,
    /// `**plan continues**` stood alone on a line (spec 2.2).
    #[serde(default)]
    pub plan_continues: bool,
}

/// Ordered steps with their goals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskList {
    /// Goals and markers.
    pub goals: Goals,
    /// Steps in order; none is empty in an accepted list.
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

/// What a task says, as far as it tells one task from another of its name (spec 4.4 `echo-dropped`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// Its skill.
    pub skill: Option<String>,
    /// What is needed.
    pub need: String,
}
