//! Prompts: their templates (spec 8.1-8.6), one table of placeholders, and one struct per prompt with a cap on each
//! fragment (spec 8.8). The small texts of the host are in core.

mod excerpt;
mod fragment;
mod handler;
mod key;
mod prompts;
mod rounds;
mod route;
mod template;
mod templates;

pub use excerpt::{Excerpt, Gap, Shown, cut, cut_lines, cut_tokens, line_count, preview};
pub use fragment::{CurrentFile, Environment, Retry, header, tool_instructions};
pub use handler::HandlerPrompt;
pub use key::{Cap, Part, PromptKey, Slot};
pub use prompts::{ExecutionKind, ExecutionPrompt, JoinPrompt, MergePrompt, PlanPrompt, RefinementPrompt};
pub use rounds::{ContinuationPrompt, IterationPrompt};
pub use route::{Candidate, RoutePrompt};
pub use template::{Example, Rendered, Template};
pub use templates::{TemplateSource, Templates};
