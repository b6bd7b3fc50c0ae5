//! Model calls: the phases that they belong to, and the result of a refinement.

use serde::{Deserialize, Serialize};

use super::{Reference, Task, ToolCall};

/// The phase a model call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Choosing the skill for a request, or for a task that a list gives none (spec 2.3).
    Route,
    /// Planning (spec 2.3), and reading a sheet file.
    Plan,
    /// Refinement of one task.
    Refine,
    /// Execution of one task.
    Execute,
    /// Review: whether the result of one task is complete.
    Review,
    /// Merge of several execution runs by a model.
    Merge,
    /// Iteration after a round.
    Iterate,
    /// A follow-up on an ended run.
    Continue,
    /// The answer of a run from several results.
    Join,
}

/// A refinement (spec 3.7). Each present key replaces the task's value; absent keys do not change it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refinement {
    /// New `What is needed`.
    pub need: Option<String>,
    /// New references. `Some(vec![])` for the value `none`. Contains only valid ones.
    pub references: Option<Vec<Reference>>,
    /// New `Expected output`.
    pub expected: Option<String>,
    /// Makes the task need approval.
    pub approval: bool,
    /// Valid tool calls that replace the task's.
    pub calls: Vec<ToolCall>,
}

impl Refinement {
    /// Applies each given key to the task. Approval can only be added. Calls are replaced only by calls. Name and skill
    /// never change.
    pub fn apply_to(&self, task: &mut Task) {
        if let Some(need) = self.need.as_ref().filter(|need| !need.trim().is_empty()) {
            task.need.clone_from(need);
        }
        if let Some(references) = &self.references {
            task.references.clone_from(references);
        }
        if let Some(expected) = self.expected.as_ref().filter(|expected| !expected.trim().is_empty()) {
            task.expected.clone_from(expected);
        }
        task.approval |= self.approval;
        if !self.calls.is_empty() {
            task.calls.clone_from(&self.calls);
        }
    }
}
