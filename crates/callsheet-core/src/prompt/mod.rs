//! Prompts: a strict template engine (spec 8.1-8.6), one table of what each template may hold, one struct per prompt
//! with a cap on each fragment (spec 8.8), and the small texts of the host that a model reads.

mod engine;
mod error;
mod excerpt;
mod fragment;
mod handler;
mod key;
mod note;
mod prompts;
mod rounds;
mod templates;

pub use engine::{Template, Value, Values};
pub use error::PromptError;
pub use excerpt::{Excerpt, Gap, Shown, cut, cut_lines, cut_tokens, line_count, preview};
pub use fragment::{CurrentFile, Environment, Retry, header, tool_instructions};
pub use handler::HandlerPrompt;
pub use key::{Cap, Part, PromptKey, Slot};
pub use note::Note;
pub use prompts::{ExecutionKind, ExecutionPrompt, MergePrompt, PlanPrompt, RefinementPrompt, Rendered};
pub use rounds::{ContinuationPrompt, IterationPrompt};
pub use templates::{TemplateSource, Templates, USER_PART};
