//! Prompts of iteration and continuation.

use callsheet_core::prompt::PromptError;

use super::fragment::{Environment, Fill, Retry};
use super::prompts::rendered;
use super::{PromptKey, Rendered, Templates};

/// Replaces the outstanding tasks after a round (spec 2.11).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IterationPrompt {
    /// `Catalog::render`.
    pub skill_catalog: String,
    /// Where the run takes place.
    pub environment: Environment,
    /// The project's description. May be empty.
    pub project_description: String,
    /// Paths of the project's files, including a note about those left out. May be empty.
    pub project_files: Vec<String>,
    /// The request, verbatim.
    pub original_prompt: String,
    /// Accepted follow-ups, verbatim, in order.
    pub follow_ups: Vec<String>,
    /// The goals of the list.
    pub goals_summary: String,
    /// Done tasks, each under `### Completed task output N` (spec 9.2).
    pub completed_outputs: String,
    /// Outstanding tasks in LIST form (spec 9.2).
    pub current_task_list: String,
    /// Failures with their issues, denials with the person's words, and blocked tasks with the cause (spec 2.9).
    pub task_problems: String,
    /// The rejected list of the previous attempt.
    pub retry: Option<Retry>,
}

impl IterationPrompt {
    /// System and user text.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        rendered(templates, PromptKey::Iteration, self.fill(PromptKey::Iteration))
    }

    fn fill(&self, key: PromptKey) -> Fill {
        let mut fill = Fill::new(key);
        fill.catalog(&self.skill_catalog);
        fill.place(&self.environment, &self.project_description);
        fill.paths("project_files", "Project files", &self.project_files);
        fill.quoted("original_prompt", "Original prompt", "text", &self.original_prompt);
        fill.quoted_each("follow_up_prompts", "Follow-ups", &self.follow_ups);
        fill.titled("goals_summary", "Goals so far", &self.goals_summary);
        let outputs = "precursor_with_completed_outputs";
        fill.titled(outputs, "Outputs from completed tasks", &self.completed_outputs);
        fill.titled("current_task_list", "Current task list", &self.current_task_list);
        fill.titled("task_problems", "Problems in this round", &self.task_problems);
        fill.retry(self.retry.as_ref());
        fill
    }
}

/// Turns a follow-up to an ended run into new goals and tasks (spec 2.17).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContinuationPrompt {
    /// The same state that an iteration is told.
    pub state: IterationPrompt,
    /// The new follow-up, verbatim.
    pub follow_up: String,
}

impl ContinuationPrompt {
    /// System and user text.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        let mut fill = self.state.fill(PromptKey::Continuation);
        fill.quoted("user_follow_up", "New follow-up", "text", &self.follow_up);
        rendered(templates, PromptKey::Continuation, fill)
    }
}
