//! `output_mode next_section` (spec 3.9): everything after the keys of the last change block, to the end of the reply,
//! is the content of the file. It is split off before anything else is read, because it may contain headings and
//! fences.

use callsheet_core::fuzzy::normalize;
use callsheet_core::names::heading_key;

/// Content that was split off the end of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// Ends with a line ending, unless empty.
    pub content: String,
    /// Last line of the reply.
    pub last: u32,
    /// Whether the tail contains another change block, so that the end of the content is unclear.
    pub holds_block: bool,
}

/// Splits a reply before the content, if it uses `next_section`. Content that is a single fence is not split off,
/// because that is the usual fenced form.
pub(super) fn split(text: &str) -> Option<(&str, Tail)> {
    let mut fenced: Option<char> = None;
    let mut offset = 0;
    let mut in_block = false;
    let mut keys_end = None;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let sign = start.chars().next().filter(|_| start.starts_with("```") || start.starts_with("~~~"));
        match (keys_end, fenced, sign) {
            (Some(_), _, _) if is_item(start) => keys_end = Some(offset + line.len()),
            (Some(_), _, _) => break,
            (None, Some(open), Some(sign)) if open == sign => fenced = None,
            (None, None, Some(sign)) => fenced = Some(sign),
            (None, Some(_), _) => {}
            (None, None, None) => {
                if start.starts_with(['#', '*', '_']) && heading_key(line).starts_with("change") {
                    in_block = true;
                } else if start.starts_with("# ") || start.starts_with("## ") {
                    in_block = false;
                } else if in_block && normalize(line) == "output mode next section" {
                    keys_end = Some(offset + line.len());
                }
            }
        }
        offset += line.len();
    }
    let (head, tail) = text.split_at_checked(keys_end?)?;
    let content = tail.trim_start_matches(['\n', '\r']);
    let blank_only = content.trim().is_empty();
    if blank_only || is_one_fence(content) {
        return None;
    }
    let trimmed = content.trim_end_matches(['\n', '\r']);
    let last = u32::try_from(text.lines().count().max(1)).unwrap_or(u32::MAX);
    let holds_block =
        trimmed.lines().any(|line| line.starts_with('#') && heading_key(line).starts_with("change-details"));
    Some((head, Tail { content: format!("{trimmed}\n"), last, holds_block }))
}

fn is_item(line: &str) -> bool {
    line.starts_with(['-', '*', '+'])
}

fn is_one_fence(content: &str) -> bool {
    let mut lines = content.trim().lines();
    let Some(first) = lines.next() else { return false };
    let Some(sign) = first.chars().next().filter(|c| matches!(c, '`' | '~')) else { return false };
    let count = first.chars().take_while(|c| *c == sign).count();
    let close = |line: &str| {
        let line = line.trim();
        line.chars().all(|c| c == sign) && line.chars().count() >= count
    };
    let rest: Vec<&str> = lines.collect();
    count >= 3 && rest.iter().position(|line| close(line)).is_some_and(|at| at + 1 == rest.len())
}
