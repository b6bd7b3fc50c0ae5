//! Finds what is at a position in a line.

use std::ops::Range;

use callsheet_core::nouns::{Slug, Task};
use callsheet_format::reading::ReadContext;
use callsheet_format::reply::read_sheet;

/// A key of a line with the bytes of its value: `- **Skill** x`, `skill: x`, `tools: x`.
pub(crate) fn key(line: &str) -> Option<(String, Range<usize>)> {
    let body = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+'));
    let bold = line.get(..line.len() - body.len())?.ends_with("**");
    let (head, value) = if bold { body.split_once("**")? } else { body.split_once(':')? };
    let head = head.trim().trim_end_matches(':');
    let is_key =
        !head.is_empty() && head.len() <= 40 && head.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '_'));
    let start = line.len() - value.trim_start().len();
    is_key.then(|| (head.to_lowercase(), start..line.len().max(start)))
}

/// A link of a line: the bytes of its title and of its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) title: Range<usize>,
    pub(crate) target: Range<usize>,
}

/// The links of a line, in order.
pub(crate) fn links(line: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = line.get(from..).and_then(|rest| rest.find("](")).map(|at| at + from) {
        let target = at + 2;
        let Some(end) = line.get(target..).and_then(|rest| rest.find(')')).map(|end| end + target) else { break };
        if let Some(title) = line.get(..at).and_then(|before| before.rfind('[')) {
            found.push(Link { title: title + 1..at, target: target..end });
        }
        from = end;
    }
    found
}

/// The bytes inside the placeholder `{{…}}` that contains a byte of a line.
pub(crate) fn placeholder(line: &str, byte: usize) -> Option<Range<usize>> {
    let start = line.get(..byte)?.rfind("{{")?;
    let end = start + line.get(start..)?.find("}}")?;
    (byte <= end + 2).then_some(start + 2..end)
}

/// The bytes of the last construct that is open at the end of `before`: those after its opening mark, if no end follows
/// the mark.
pub(crate) fn open<'a>(before: &'a str, mark: &str, ends: &[char]) -> Option<&'a str> {
    let at = before.rfind(mark)? + mark.len();
    before.get(at..).filter(|rest| !rest.contains(ends))
}

/// A task with its lines, counted from 0.
pub(crate) struct Placed {
    pub(crate) task: Task,
    pub(crate) lines: Range<usize>,
}

/// The tasks of a sheet with their lines.
pub(crate) fn tasks(text: &str) -> Vec<Placed> {
    let reading = read_sheet(text, &ReadContext::default());
    let zero = |line: u32| usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let placed = |(task, span): (&Task, &callsheet_core::issue::Span)| Placed {
        task: task.clone(),
        lines: zero(span.first)..zero(span.last).saturating_add(1),
    };
    let mut found: Vec<Placed> = reading.value.list.tasks().zip(&reading.value.spans).map(placed).collect();
    found.sort_by_key(|placed| placed.lines.start);
    found
}

/// The task whose result is the target, and the bytes of its slug in the target.
pub(crate) fn producer<'a>(target: &str, tasks: &'a [Placed]) -> Option<(&'a Placed, Range<usize>)> {
    let found = |slug: &str| tasks.iter().find(|placed| placed.task.slug == Slug::new(slug));
    if let Some(slug) = target.strip_prefix('#').and_then(|rest| rest.strip_suffix("-results")) {
        return Some((found(slug)?, 1..1 + slug.len()));
    }
    let rest = target.strip_prefix("task://")?;
    let slug = rest.split(['#', '/']).next()?.trim_end_matches(".md");
    Some((found(slug)?, 7..7 + slug.len()))
}

/// The value of `after:`, either on its own line or at the end of an item.
pub(crate) fn after(line: &str) -> Option<Range<usize>> {
    let at = line.to_ascii_lowercase().rfind("after:")?;
    let start = at + "after:".len();
    let end = line.len() - usize::from(line.ends_with(')') && line.get(..at)?.ends_with('('));
    (start <= end).then_some(start..end)
}
