//! Where the contents of references come from, other than the project's files.

use callsheet_core::nouns::{PlanPart, Slug};

/// The output of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskOutput {
    /// The canonical slug, after resolving an alias.
    pub slug: Option<Slug>,
    /// Result summary.
    pub summary: String,
    /// The document.
    pub document: String,
    /// What a person skipped or undid, for the end of the document. Parts of the document repeat it.
    pub rejected: String,
    /// Names of its recorded details files.
    pub details: Vec<String>,
}

/// The answer to a question for a task's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// No task of the run has this slug or alias.
    Unknown,
    /// The task is known but not done.
    NotYet,
    /// It is done.
    Done(TaskOutput),
}

/// What the run itself contains: plan, prompts and outputs. The driver answers from the run's state and its blobs.
pub trait RunTexts {
    /// The original prompt, then the follow-ups, verbatim.
    fn prompts(&self) -> Vec<String>;

    /// A part of the plan as Markdown: goals, or a task section in COARSE form.
    fn plan(&self, part: &PlanPart) -> Option<String>;

    /// Slugs of the tasks that have an output.
    fn outputs(&self) -> Vec<Slug>;

    /// The output of a task.
    fn output(&self, slug: &Slug) -> Output;

    /// The content of a recorded details file, without what was skipped since.
    fn detail(&self, slug: &Slug, file: &str) -> Option<Vec<u8>>;
}
