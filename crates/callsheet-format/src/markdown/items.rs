//! Headings written as list items (spec 4.4 `heading-level`): `- **Tasks**`, `- ## Tasks`, `1. Task section 1:`, with
//! their content nested below. They are searched only in a text without the headings that its format requires.

use callsheet_core::issue::{RepairCode, Span};

use crate::reading::Diagnostics;

use super::fence::{Part, Tracker};
use super::heading::{Format, Heading, Rule, clean};
use super::label::marker;
use super::text::{Line, dedent, indent, is_blank, straighten};

/// The longest item, in bytes, that can be a title.
const LONGEST: usize = 80;

/// Headings of which a reply needs at least one.
pub(super) fn is_essential(heading: Heading) -> bool {
    use Heading::{ResultSummary, Task, TaskSection, Tasks, ToolCalls};
    matches!(heading, Tasks | TaskSection | Task | ToolCalls | ResultSummary)
}

/// Rewrites items that are titles as headings, and removes the indentation of what is nested below them. Returns false
/// if none of them is a heading that the format requires.
pub(super) fn promote(lines: &mut [Line<'_>], format: &Format, notes: &mut Diagnostics) -> bool {
    let mut tracker = Tracker::default();
    let mut titles: Vec<(usize, usize, &'static Rule, Option<u32>)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if tracker.next(&line.text) == Part::Outside
            && let Some((content, rule, number)) = title(&line.text, format)
        {
            titles.push((at, content, rule, number));
        }
    }
    if !titles.iter().any(|(at, content, rule, _)| is_essential(rule.heading) && holds_more(lines, *at, *content)) {
        return false;
    }
    let mut titles = titles.into_iter().peekable();
    let mut depth = 0;
    for (at, line) in lines.iter_mut().enumerate() {
        if let Some((_, content, rule, number)) = titles.next_if(|title| title.0 == at) {
            let signs = "######".get(..usize::from(rule.level)).unwrap_or_default();
            let number = number.map(|number| format!(" {number}")).unwrap_or_default();
            let heading = format!("{signs} {}{number}", rule.title);
            let span = Span::line(u32::try_from(at + 1).unwrap_or(u32::MAX));
            notes.repair(RepairCode::HeadingLevel, span, &line.text, &heading);
            line.text = heading.into();
            depth = content;
        } else if depth > 0 && !is_blank(&line.text) {
            let columns = indent(&line.text).min(depth);
            if columns > 0 {
                line.text = dedent(&line.text, columns).to_owned().into();
            }
        }
    }
    true
}

/// Whether the next non-blank line is nested below an item, or is an item itself.
fn holds_more(lines: &[Line<'_>], at: usize, content: usize) -> bool {
    let next = lines.iter().skip(at + 1).find(|line| !is_blank(&line.text));
    next.is_some_and(|line| indent(&line.text) >= content || marker(&line.text).is_some())
}

/// The title that an item consists of, and the column where its content starts.
fn title(line: &str, format: &Format) -> Option<(usize, &'static Rule, Option<u32>)> {
    // Nearly every line is not an item, and nearly every item is not a title.
    let item = marker(line).filter(|item| item.rest.len() <= LONGEST && !item.rest.is_empty())?;
    let plain = straighten(item.rest);
    let written = clean(&plain);
    let found = format.titled(written)?;
    let numbered = found.rule.heading != Heading::TaskSection || found.number.is_some();
    // A single word may belong to a list of words, and an item that continues after a number is a task.
    let set_off = written.len() < plain.len() || written.contains(' ');
    let whole = written.len() <= found.rule.title.len() + " 999".len();
    (numbered && set_off && whole).then_some((item.content, found.rule, found.number))
}
