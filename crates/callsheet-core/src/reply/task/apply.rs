//! A refinement put onto its task (spec 3.7).

use crate::reply::Refinement;
use crate::spec::Task;

impl Refinement {
    /// Each key that was given replaces the task's value; the others stay. Approval is raised, never lowered; calls are
    /// replaced only by calls. Name and skill never change.
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
