//! Accepted lists as they are recorded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::spec::{Goals, SkillPolicy, Slug, Task, TaskList};

/// A task of an adopted list and what it was before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// The task, name and slug filled.
    pub task: Task,
    /// It is the task of the same slug, unchanged (spec 2.11, 2.18): state, refinement and approval stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// Why it is a writer (spec 11.1); `None`: a reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Code made it of the request, with all that it reads: one call, without refinement and tools (spec 2.3).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
}

/// A task that a reply removes from the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Which.
    pub task: Slug,
    /// Why, in the words of the reply.
    pub reason: String,
}

/// An accepted list. A reply adds to the plan: tasks that it does not name stay as they are. A person's edit is the whole
/// plan: of what it leaves out, nothing starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AdoptedList {
    /// Goals and markers; empty text keeps the former goals.
    pub goals: Goals,
    /// Tasks by their 0-based step in the plan; steps of which nothing is listed are empty.
    pub steps: Vec<Vec<PlannedTask>>,
    /// Policies of the skills its tasks name, pinned (spec 2.5, 7.5).
    pub skills: BTreeMap<String, SkillPolicy>,
    /// Of a request that is one task: files that it asks for, by their paths in it (spec 2.3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// What stands beside its tasks.
    #[serde(flatten)]
    pub beside: Beside,
}

/// What stands beside the tasks of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Tasks that a reply removes from the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Removal>,
    /// Links no longer relevant (spec 5.10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_longer_relevant: Vec<String>,
    /// Body of `Issues with the tasks`, shown to the person only.
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
                .map(|step| crate::spec::Step { tasks: step.iter().map(|planned| planned.task.clone()).collect() })
                .collect(),
        }
    }
}
