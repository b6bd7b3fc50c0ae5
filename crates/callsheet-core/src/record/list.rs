//! Accepted lists in their recorded form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::nouns::{Goals, SkillPolicy, Slug, Task, TaskList};

/// A task of an adopted list, and how it relates to an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlannedTask {
    /// The task, with name and slug filled in.
    pub task: Task,
    /// Whether the task with the same slug is unchanged (spec 2.11, 2.18). It then keeps its state, refinement and
    /// approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// Why the task needs approval (spec 11.1). `None` if it only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Whether code created it from the request, with everything that it reads. It takes one call, without refinement
    /// and tools (spec 2.3).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
}

/// A task that a reply removes from the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Removal {
    /// The task.
    pub task: Slug,
    /// The reason, in the words of the reply.
    pub reason: String,
}

/// An accepted list. A reply adds to the plan: tasks that it does not name stay unchanged. A person's edit is the whole
/// plan: tasks that it leaves out do not start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AdoptedList {
    /// Goals and markers. An empty text keeps the former goals.
    pub goals: Goals,
    /// Tasks by their 0-based step in the plan. Steps without listed tasks are empty.
    pub steps: Vec<Vec<PlannedTask>>,
    /// Pinned policies of the skills that its tasks name (spec 2.5, 7.5).
    pub skills: BTreeMap<String, SkillPolicy>,
    /// For a request with a single task: the files that it asks for, by their paths in the request (spec 2.3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Everything besides its tasks.
    #[serde(flatten)]
    pub beside: Beside,
}

/// What a list contains besides its tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Beside {
    /// Tasks that a reply removes from the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Removal>,
    /// Links whose targets are no longer relevant (spec 5.10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_longer_relevant: Vec<String>,
    /// Body of `Issues with the tasks`, which only the person sees.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remarks: String,
}

impl AdoptedList {
    /// The plain list.
    pub fn list(&self) -> TaskList {
        TaskList {
            goals: self.goals.clone(),
            steps: self
                .steps
                .iter()
                .map(|step| crate::nouns::Step { tasks: step.iter().map(|planned| planned.task.clone()).collect() })
                .collect(),
        }
    }
}
