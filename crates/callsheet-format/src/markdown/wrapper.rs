//! `reply-unfenced` (spec 4.4): a whole reply in one fence, closed or not.

use callsheet_core::issue::{RepairCode, Span};

use crate::reading::Diagnostics;

use super::fence::{Mark, Part, Tracker, mark};
use super::heading::Format;
use super::text::Line;

/// The maximum number of wrappers that are removed from one reply, because a model may put one into another.
const MOST: usize = 2;

/// Lines of a wrapper's marks, 0-based. The closing one may be missing.
#[derive(Clone, Copy)]
struct Wrapper {
    first: usize,
    last: Option<usize>,
}

impl Wrapper {
    fn has_mark(&self, at: usize) -> bool {
        self.first == at || self.last == Some(at)
    }
}

/// Removes the wrapper's marks if recognised headings are inside one wrapper and none is outside it, and if one is then
/// outside all fences.
pub fn remove(lines: &mut [Line<'_>], format: &Format, notes: &mut Diagnostics) -> bool {
    let mut found: Vec<Wrapper> = Vec::new();
    while !has_title_outside(lines, &found, format) {
        let Some(next) = next(lines, &found, format).filter(|_| found.len() < MOST) else { return false };
        found.push(next);
    }
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    for Wrapper { first, last } in &found {
        let before = lines.get(*first).map(|line| line.text.to_string()).unwrap_or_default();
        for at in [Some(*first), *last].into_iter().flatten() {
            if let Some(line) = lines.get_mut(at) {
                *line = Line::gone();
            }
        }
        let span = Span { first: number(*first), last: number(last.unwrap_or(lines.len().saturating_sub(1))) };
        notes.repair(RepairCode::ReplyUnfenced, span, &before, "");
    }
    !found.is_empty()
}

/// The first wrapper inside those found so far that contains a recognised heading.
fn next(lines: &[Line<'_>], found: &[Wrapper], format: &Format) -> Option<Wrapper> {
    let start = found.last().map_or(0, |outer| outer.first + 1);
    let end = found.last().and_then(|outer| outer.last).unwrap_or(lines.len());
    let inside = lines.get(start..end)?;
    let (at, open) = inside.iter().enumerate().find_map(|(at, line)| wrapper(&line.text).map(|mark| (at, mark)))?;
    let first = start + at;
    let last = closing(lines.get(..end)?, first, open.sign, open.count);
    let inner = lines.get(first + 1..last.unwrap_or(end))?;
    inner.iter().any(|line| format.is_title_line(&line.text)).then_some(Wrapper { first, last })
}

fn wrapper(line: &str) -> Option<Mark<'_>> {
    mark(line).filter(|mark| matches!(mark.info.to_lowercase().as_str(), "" | "md" | "markdown" | "text" | "txt"))
}

/// Whether a recognised heading is outside all fences, ignoring the wrappers.
fn has_title_outside(lines: &[Line<'_>], wrappers: &[Wrapper], format: &Format) -> bool {
    let mut tracker = Tracker::default();
    let others = lines.iter().enumerate().filter(|(at, _)| !wrappers.iter().any(|wrapper| wrapper.has_mark(*at)));
    let mut others = others.map(|(_, line)| line);
    others.any(|line| tracker.next(&line.text) == Part::Outside && format.is_title_line(&line.text))
}

/// The wrapper's closing line. Fences with a language inside it are nested. If only blank lines follow, the last
/// possible mark closes the wrapper.
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
