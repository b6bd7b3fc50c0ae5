//! Blocks between the keys of a person's task. A block that is not a tool call belongs to the text above it, as if it
//! were indented (spec 3.4): it is neither left out nor reported as a wrong call.

use callsheet_core::issue::RepairCode;

use crate::markdown::{Document, Fence};
use crate::reading::{Diagnostics, ReadContext};

use super::format::label;
use super::group::RawTask;
use super::unread::told;

/// The task with such blocks added to its need or its expected output. `None` if it has none. A block below another key
/// is an issue.
pub(super) fn kept<'a>(
    raw: &RawTask<'a>,
    document: &Document<'_>,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Option<RawTask<'a>> {
    let is_text = |index: usize| document.fences.get(index).filter(|fence| !may_be_call(fence, context));
    raw.fences.iter().find(|behind| is_text(behind.fence).is_some())?;
    let mut own = raw.clone();
    own.fences.retain(|behind| is_text(behind.fence).is_none());
    for behind in &raw.fences {
        let Some(fence) = is_text(behind.fence) else { continue };
        let text = block(fence, document);
        match own.labels.get_mut(behind.label) {
            Some(above) if matches!(above.known(), Some(label::NEED | label::EXPECTED)) => {
                notes.repair(RepairCode::ListShape, fence.span, &text, above.label.as_str());
                let value = above.value.to_mut();
                match (value.is_empty(), &*fence.lang) {
                    // It is the whole value, like an indented block (spec 3.2).
                    (true, "text") => value.push_str(fence.content.trim_end()),
                    (true, _) => value.push_str(&text),
                    _ => value.push_str(&format!("\n{text}")),
                }
            }
            _ => told(fence.span, fence.content.lines().next().unwrap_or("```"), notes),
        }
    }
    Some(own)
}

/// Whether a fence may be a call: JSON or markup that contains a name and either a tool or arguments. A name alone is
/// common in data.
fn may_be_call(fence: &Fence, context: &ReadContext) -> bool {
    const NAMES: &[&str] = &["name", "tool", "function", "call"];
    const VALUES: &[&str] = &["arguments", "parameters", "args", "input"];
    let lower = fence.content.trim_start().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let is_of_tool = || context.tools.iter().any(|tool| lower.contains(&format!("\"{}\"", tool.name)));
    fence.lang.starts_with("tool") || lower.starts_with(['{', '[', '<']) && has(NAMES) && (has(VALUES) || is_of_tool())
}

/// The block as written. An unclosed fence is closed.
fn block(fence: &Fence, document: &Document<'_>) -> String {
    let line = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let mut text = document.text(line(fence.span.first).saturating_sub(1)..line(fence.span.last));
    if !fence.closed {
        let mark: String = text.trim_start().chars().take_while(|sign| matches!(sign, '`' | '~')).collect();
        text.push('\n');
        text.push_str(&mark);
    }
    text
}
