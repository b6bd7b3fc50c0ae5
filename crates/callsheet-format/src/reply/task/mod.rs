//! Replies about one task: refinements, executions with and without changes, merges and loop turns (spec 3.7-3.12,
//! 10.7).
//!
//! Each kind is read in two pure passes: [`super::lookups`] lists what must be known about the world, and the `read_*`
//! function uses the answers. Answers may raise new lookups (the text of a file whose path was repaired), so the shell
//! asks until nothing more is needed. Three rounds are enough.

mod body;
mod captions;
mod execution;
mod formats;
mod links;
mod next_section;
mod refinement;
mod turn;
mod unchanged;
mod whole_file;
mod write;

pub use execution::{Written, read_execution, read_merge, read_write_execution};
pub use links::{document_headings, relinked, summary_files, summary_with_details};
pub use refinement::read_refinement;
pub use turn::{TurnInput, read_loop_turn};

use std::ops::Range;

use callsheet_core::nouns::{Phase, SkillPolicy};

use crate::markdown::{Document, Format, is_blank};
use crate::reading::{Lookup, ReadContext};

use super::ReplyKind;
use super::calls::{BlockForm, CallBlock};

/// What must be known to read a reply about a task and is not in `context.answers` yet. This runs the reading itself
/// and keeps only its lookups.
pub(super) fn lookups(kind: ReplyKind, text: &str, context: &ReadContext) -> Vec<Lookup> {
    let mut notes = execution::notes(Phase::Execute, context);
    match kind {
        ReplyKind::Refinement => drop(refinement::read(text, context, &mut notes)),
        ReplyKind::WriteExecution => drop(execution::writer(text, context, &mut notes)),
        ReplyKind::Merge => drop(execution::merge(text, context, &mut notes)),
        ReplyKind::Execution | ReplyKind::ToolCalls => drop(execution::result(text, context, &mut notes)),
        ReplyKind::Plan | ReplyKind::Sheet | ReplyKind::Iteration | ReplyKind::Continuation => {}
    }
    notes.wanted()
}

/// The formats whose headings and markers a result or a turn may contain.
pub(super) fn formats() -> [Format; 2] {
    [formats::execution(true, formats::Blocks::Synonym, true), formats::LOOP]
}

/// The policy of the current task's skill.
fn skill_policy(context: &ReadContext) -> Option<&SkillPolicy> {
    let name = context.current.as_ref()?.skill.as_deref()?;
    context.catalog.iter().find(|skill| skill.name == name).map(|skill| &skill.policy)
}

/// The fences of some lines, and the text between them as plain blocks, in order.
fn call_blocks(document: &Document, range: Range<usize>) -> Vec<CallBlock> {
    let mut blocks = Vec::new();
    // Lines between fences, each preceded by a line end.
    let mut bare = String::new();
    let mut bare_line = 0;
    let mut at = range.start;
    let line_of = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let close = |bare: &mut String, line: u32, blocks: &mut Vec<CallBlock>| {
        let mut text = std::mem::take(bare);
        if !is_blank(&text) {
            text.remove(0);
            blocks.push(CallBlock { text, form: BlockForm::Bare, line, lenient: false });
        }
    };
    let first_fence = document.fences.partition_point(|fence| fence.span.last < line_of(range.start));
    let mut fences = document.fences.iter().skip(first_fence).peekable();
    while at < range.end {
        if let Some(fence) = fences.next_if(|fence| fence.span.first <= line_of(at)) {
            close(&mut bare, bare_line, &mut blocks);
            let form = BlockForm::Fence { tag: fence.lang.clone() };
            let line = fence.span.first.saturating_add(1).min(fence.span.last);
            blocks.push(CallBlock { text: fence.content.clone(), form, line, lenient: false });
            at = usize::try_from(fence.span.last).unwrap_or(range.end).max(at + 1);
            continue;
        }
        if bare.is_empty() {
            bare_line = line_of(at);
        }
        bare.push('\n');
        document.push_text(at, &mut bare);
        at += 1;
    }
    close(&mut bare, bare_line, &mut blocks);
    blocks
}
