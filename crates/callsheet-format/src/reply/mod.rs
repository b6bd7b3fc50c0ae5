//! Tolerant reading of model output (spec 4), from a loose document to a value. There are two pure passes: `lookups`
//! lists what must be known about the world, `read` uses the answers. Reading never fails: every reading is `(value,
//! repairs, issues)`.

mod answer;
pub mod calls;
pub mod json;
pub mod json_form;
pub mod list;
mod placeholder;
mod recited;
pub mod references;
mod review;
mod route;
pub mod task;
mod unsupported;
mod value;

pub use answer::{read_answer, read_document};
pub use list::{
    Checklist, ListReply, Lost, is_checklist, is_keyed, read_continuation, read_iteration, read_plan, read_sheet,
    write_checklist,
};
pub use recited::recited;
pub use review::read_review;
pub use route::{Route, read_route};
pub use unsupported::{still_said, unsupported};
pub use value::{DetailFile, ExecutionReply, LoopTurn};

use callsheet_core::issue::{Issue, IssueCode, Span};
use callsheet_core::nouns::Phase;

use crate::reading::{Diagnostics, Lookup, ReadContext};

/// The issue about a withheld reply: its provider's filter ended it, or the model refused.
pub fn withheld(phase: Phase, refused: bool) -> Issue {
    let variant = if refused { "refused" } else { "" };
    Diagnostics::new(phase, false).issue(IssueCode::ReplyWithheld, variant, Span::line(1), &[])
}

/// The kinds of text that can be read (spec 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplyKind {
    /// A plan reply.
    Plan,
    /// A sheet file.
    Sheet,
    /// An iteration reply.
    Iteration,
    /// A continuation reply.
    Continuation,
    /// A refinement reply.
    Refinement,
    /// An execution reply.
    Execution,
    /// The execution reply of a task that changes files.
    WriteExecution,
    /// A merge by model.
    Merge,
    /// A turn of a loop task: tool calls as text, or the result.
    ToolCalls,
}

/// What reading a text needs to know about the world and does not know yet (spec 4.1). Answers may raise new lookups,
/// so ask again with them until the list is empty. Three rounds are enough for every text.
pub fn lookups(kind: ReplyKind, text: &str, context: &ReadContext) -> Vec<Lookup> {
    match kind {
        ReplyKind::Plan | ReplyKind::Sheet | ReplyKind::Iteration | ReplyKind::Continuation => {
            list::lookups(kind, text, context)
        }
        _ => task::lookups(kind, text, context),
    }
}
