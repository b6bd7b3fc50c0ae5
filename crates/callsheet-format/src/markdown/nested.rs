//! `fence-nested` (spec 4.4): a Markdown fence that contains fences with marks of the same length. CommonMark ends it
//! at the first closing mark; the pairs of marks show what its writer means.

use callsheet_core::issue::{RepairCode, Span};

use crate::reading::Diagnostics;

use super::fence::{Mark, Part, Tracker, mark};
use super::heading::{Format, Heading, clean};
use super::text::Line;

/// Languages whose texts contain fences.
const HOLDERS: [&str; 6] = ["", "markdown", "md", "mdx", "text", "txt"];

/// An outer fence that contains fences: 0-based lines of its marks, and the length of the longest mark inside.
struct Outer {
    first: usize,
    last: usize,
    longest: usize,
}

/// Lengthens the marks of fences that contain others, if every mark then has its pair and no title is lost.
pub fn lengthen(lines: &mut [Line<'_>], format: &Format, notes: &mut Diagnostics) {
    let Some(outer) = pairs(lines) else { return };
    if outer.is_empty() || hides_title(lines, &outer, format) {
        return;
    }
    for Outer { first, last, longest } in outer {
        let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let before = lines.get(first).map(|line| line.text.to_string()).unwrap_or_default();
        for at in [first, last] {
            if let Some(line) = lines.get_mut(at) {
                let longer = mark(&line.text).map(|mark| longer(&line.text, mark, longest + 1));
                line.text = longer.unwrap_or_default().into();
            }
        }
        let after = lines.get(first).map_or("", |line| &*line.text);
        notes.repair(RepairCode::FenceNested, Span { first: number(first), last: number(last) }, &before, after);
    }
}

/// The line with a mark of `count` signs.
fn longer(line: &str, mark: Mark<'_>, count: usize) -> String {
    let start = line.trim_start_matches([' ', '\t']);
    let blanks = line.get(..line.len() - start.len()).unwrap_or_default();
    format!("{blanks}{}{}", mark.sign.to_string().repeat(count), start.trim_start_matches(mark.sign))
}

/// Fences that contain others, if a mark with a language inside a Markdown fence opens another one. `None` if a mark
/// then has no pair.
fn pairs(lines: &[Line<'_>]) -> Option<Vec<Outer>> {
    let mut tracker = Tracker::default();
    let mut found = Vec::new();
    // Open marks inside the outer fence, starting with its own.
    let mut open: Vec<Mark<'_>> = Vec::new();
    let (mut first, mut longest) = (0, 0);
    for (at, line) in lines.iter().enumerate() {
        if open.is_empty() {
            match tracker.next(&line.text) {
                Part::Open(mark) if is_holder(mark) => {
                    tracker = Tracker::default();
                    (first, longest) = (at, 0);
                    open.push(mark);
                }
                _ => {}
            }
            continue;
        }
        let Some(mark) = mark(&line.text) else { continue };
        let Some(top) = open.last().copied().filter(|top| top.sign == mark.sign) else { continue };
        if !mark.info.is_empty() {
            // A mark that is shorter than the fence around it ends nothing and is content.
            if mark.count >= top.count {
                longest = longest.max(mark.count);
                open.push(mark);
            }
        } else if mark.count >= top.count && mark.indent <= top.indent + 3 {
            open.pop();
            if open.is_empty() && longest > 0 {
                found.push(Outer { first, last: at, longest: longest.max(mark.count) });
            }
        }
    }
    (open.is_empty() && !tracker.is_open()).then_some(found)
}

fn is_holder(mark: Mark<'_>) -> bool {
    HOLDERS.contains(&mark.info.to_lowercase().as_str())
}

/// Whether a title that CommonMark sees outside fences would be inside one of those that contain others. Then the end
/// of the outer fence may have been forgotten.
fn hides_title(lines: &[Line<'_>], outer: &[Outer], format: &Format) -> bool {
    let mut tracker = Tracker::default();
    let mut outer = outer.iter().peekable();
    lines.iter().enumerate().any(|(at, line)| {
        let outside = tracker.next(&line.text) == Part::Outside;
        while outer.next_if(|outer| outer.last < at).is_some() {}
        let held = outer.peek().is_some_and(|outer| outer.first <= at);
        outside && held && is_title(&line.text, format)
    })
}

/// Whether a line is a heading in the exact form of the format. Texts have their own details and summaries.
fn is_title(line: &str, format: &Format) -> bool {
    let Some(found) = line.strip_prefix('#').and_then(|title| format.titled(clean(title))) else { return false };
    found.rule.heading != Heading::Details
}
