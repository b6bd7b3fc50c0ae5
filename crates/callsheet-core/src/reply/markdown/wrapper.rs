//! `reply-unfenced` (spec 4.4): a whole reply wrapped in one fence, closed or not.

use crate::reply::{Notes, RepairCode, Span};

use super::fence::{Mark, Part, Tracker, mark};
use super::heading::Format;
use super::text::Line;

/// Takes the wrapper's marks away if recognised headings stand inside one wrapper and none outside it.
pub fn remove(lines: &mut [Line<'_>], format: &Format, notes: &mut Notes) -> bool {
    let Some((first, open)) = lines.iter().enumerate().find_map(|(at, line)| wrapper(&line.text).map(|m| (at, m)))
    else {
        return false;
    };
    if has_title_outside(lines, format) {
        return false;
    }
    let (sign, count) = (open.sign, open.count);
    let before = lines.get(first).map(|line| line.text.to_string()).unwrap_or_default();
    let last = closing(lines, first, sign, count);
    let end = last.unwrap_or(lines.len());
    let inside = lines.get(first + 1..end).unwrap_or_default();
    if !inside.iter().any(|line| format.is_title_line(&line.text)) {
        return false;
    }
    for at in [Some(first), last].into_iter().flatten() {
        if let Some(line) = lines.get_mut(at) {
            *line = Line::gone();
        }
    }
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let span = Span { first: number(first), last: number(last.unwrap_or(lines.len().saturating_sub(1))) };
    notes.repair(RepairCode::ReplyUnfenced, span, &before, "");
    true
}

fn wrapper(line: &str) -> Option<Mark<'_>> {
    mark(line).filter(|mark| matches!(mark.info.to_lowercase().as_str(), "" | "md" | "markdown" | "text" | "txt"))
}

fn has_title_outside(lines: &[Line<'_>], format: &Format) -> bool {
    let mut tracker = Tracker::default();
    lines.iter().any(|line| tracker.next(&line.text) == Part::Outside && format.is_title_line(&line.text))
}

/// The wrapper's closing line. Fences with a language inside it nest; the last possible mark closes the wrapper when
/// only blank lines follow it.
fn closing(lines: &[Line<'_>], first: usize, sign: char, count: usize) -> Option<usize> {
    let mut depth = 1_usize;
    for (at, line) in lines.iter().enumerate().skip(first + 1) {
        let Some(mark) = mark(&line.text).filter(|mark| mark.sign == sign && mark.count >= count) else { continue };
        if mark.info.is_empty() {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        } else {
            depth += 1;
        }
    }
    None
}
