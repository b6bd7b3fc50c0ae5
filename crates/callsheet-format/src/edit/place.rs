//! Where the text of a symbol change is inserted (spec 3.9): the section of a heading, or the lines of a symbol.

use std::ops::Range;

use callsheet_core::symbols::Symbol;

use crate::edit::SymbolPosition;

use super::heading::{Heading, with_comment};
use super::text::{Lines, ending, with_ending, with_final, without_final};

/// Replaces the lines `first` to `last` by `new`, whose lines all have endings.
pub(super) fn replace_lines(lines: &Lines<'_>, first: usize, last: usize, new: &str) -> (Range<usize>, String) {
    let start = lines.start(first);
    (start..lines.start(last + 1).max(start), new.to_owned())
}

/// A change of a heading's section.
pub(super) fn section(
    lines: &Lines<'_>,
    heading: &Heading,
    location: SymbolPosition,
    new: &str,
    eol: &str,
) -> (Range<usize>, String) {
    let commented = with_comment(lines, heading.first);
    let blank_after = |text: &str| text.lines().last().is_none_or(|line| line.trim().is_empty());
    match location {
        SymbolPosition::Replace => replace_lines(lines, heading.first, heading.last, new),
        SymbolPosition::ReplaceWithComment => replace_lines(lines, commented, heading.last, new),
        SymbolPosition::Remove => replace_lines(lines, heading.first, heading.last_blank, ""),
        SymbolPosition::Before => {
            let gap = if blank_after(new) { "" } else { eol };
            replace_lines(lines, commented, commented - 1, &format!("{new}{gap}"))
        }
        SymbolPosition::After => {
            let gap = if new.lines().next().is_none_or(|line| line.trim().is_empty()) { "" } else { eol };
            replace_lines(lines, heading.last + 1, heading.last, &format!("{gap}{new}"))
        }
    }
}

/// A change of a symbol. If it shares its lines with other code, only its bytes change.
pub(super) fn symbol(
    before: &str,
    lines: &Lines<'_>,
    symbol: &Symbol,
    location: SymbolPosition,
    new: &str,
) -> (Range<usize>, String) {
    let eol = ending(before);
    let own = SymbolLines::of(lines, symbol);
    if !has_own_lines(before, lines, symbol, &own) {
        return inline(before, symbol, location, &with_ending(new, eol), eol);
    }
    let indent = indent_of(lines.get(own.first));
    let new = with_final(&with_ending(&indented(new, indent), eol), eol);
    match location {
        SymbolPosition::Replace => replace_lines(lines, own.replaced_from(lines, &new), own.last, &new),
        SymbolPosition::ReplaceWithComment => replace_lines(lines, own.outer, own.last, &new),
        SymbolPosition::Remove => {
            let (first, last) = own.removed(lines);
            replace_lines(lines, first, last, "")
        }
        SymbolPosition::Before | SymbolPosition::After => {
            let below = location == SymbolPosition::After;
            let at = if below { own.last + 1 } else { own.outer };
            let (above, under) = own.gaps(lines, at, &new);
            let gap = |wanted: bool| if wanted { eol } else { "" };
            replace_lines(lines, at, at - 1, &format!("{}{new}{}", gap(above), gap(under)))
        }
    }
}

/// The 1-based lines of a symbol, limited to the file whatever the outline says.
struct SymbolLines {
    /// With its comment.
    outer: usize,
    first: usize,
    last: usize,
}

impl SymbolLines {
    fn of(lines: &Lines<'_>, symbol: &Symbol) -> Self {
        let count = lines.count().max(1);
        let first = (symbol.first as usize).clamp(1, count);
        Self {
            outer: (symbol.outer_first as usize).clamp(1, first),
            first,
            last: (symbol.last as usize).clamp(first, count),
        }
    }

    /// Where replacing starts. If the new text begins with the symbol's own comment or attributes, the old ones are
    /// replaced too.
    fn replaced_from(&self, lines: &Lines<'_>, new: &str) -> usize {
        let begins = new.lines().map(str::trim).find(|line| !line.is_empty());
        if self.outer < self.first && begins == Some(lines.get(self.outer).trim()) { self.outer } else { self.first }
    }

    /// The lines to remove: a symbol with its comment, and with the blank lines between it and one of its neighbours.
    fn removed(&self, lines: &Lines<'_>) -> (usize, usize) {
        let (mut first, mut last) = (self.outer, self.last);
        let above = first.checked_sub(1).filter(|above| *above > 0).map(|above| lines.get(above).trim_end());
        let opens = above.is_none_or(|line| line.is_empty() || line.ends_with(['{', '(', '[', ':']));
        while opens && last < lines.count() && lines.get(last + 1).trim().is_empty() {
            last += 1;
        }
        let ends = last >= lines.count() || closes(lines.get(last + 1));
        while ends && first > 1 && lines.get(first - 1).trim().is_empty() {
            first -= 1;
        }
        (first, last)
    }

    /// Whether a text inserted before line `at` needs a blank line above and below: if it or the symbol has several
    /// lines, and there is no blank line or end of a block yet.
    fn gaps(&self, lines: &Lines<'_>, at: usize, new: &str) -> (bool, bool) {
        if self.outer == self.last && new.lines().count() <= 1 {
            return (false, false);
        }
        let above = at.checked_sub(1).filter(|above| *above > 0).map(|above| lines.get(above).trim_end());
        let below = (at <= lines.count()).then(|| lines.get(at));
        let blank = |line: Option<&str>| line.is_some_and(|line| line.trim().is_empty());
        let starts = blank(new.lines().next());
        let ends = blank(new.lines().last());
        (
            !starts && above.is_some_and(|line| !line.is_empty() && !line.ends_with(['{', '(', '[', ':'])),
            !ends && below.is_some_and(|line| !line.trim().is_empty() && !closes(line)),
        )
    }
}

fn closes(line: &str) -> bool {
    line.trim_start().starts_with(['}', ')', ']'])
}

/// Whether its lines contain only the symbol, the mark that ends it and a comment.
fn has_own_lines(before: &str, lines: &Lines<'_>, symbol: &Symbol, own: &SymbolLines) -> bool {
    let ahead = before.get(lines.start(own.first)..symbol.start);
    let behind = before.get(symbol.end..lines.start(own.last + 1));
    let (Some(ahead), Some(behind)) = (ahead, behind) else { return true };
    let behind = behind.trim().trim_start_matches([',', ';']).trim_start();
    let comment = ["//", "/*", "#"].iter().any(|mark| behind.starts_with(mark));
    ahead.trim().is_empty() && (behind.is_empty() || comment)
}

fn inline(before: &str, symbol: &Symbol, location: SymbolPosition, new: &str, eol: &str) -> (Range<usize>, String) {
    let end = symbol.end.min(before.len());
    let (start, new) = (symbol.start.min(end), without_final(new));
    match location {
        SymbolPosition::Replace | SymbolPosition::ReplaceWithComment => (start..end, new.to_owned()),
        SymbolPosition::Remove => (start..end, String::new()),
        SymbolPosition::Before => (start..start, format!("{new}{eol}")),
        SymbolPosition::After => (end..end, format!("{eol}{new}")),
    }
}

fn indent_of(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

/// `text` shifted so that its first line has the indentation of the place. If only the first line had lost its
/// indentation, the others are unchanged.
fn indented(text: &str, indent: &str) -> String {
    let mut filled = text.lines().filter(|line| !line.trim().is_empty());
    let Some(own) = filled.next().map(indent_of) else { return text.to_owned() };
    if own == indent {
        return text.to_owned();
    }
    let rest: Vec<&str> = filled.collect();
    let strip = rest.iter().all(|line| line.starts_with(own));
    let least = rest.iter().map(|line| indent_of(line).len()).min().unwrap_or(0);
    let at_place = rest.last().is_some_and(|line| indent_of(line) == indent && closes(line));
    let first_only =
        !strip || !rest.is_empty() && own.is_empty() && (least > indent.len() || at_place && least >= indent.len());
    let mut moved = String::with_capacity(text.len() + 64);
    let mut seen = false;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() || first_only && seen {
            moved.push_str(line);
            continue;
        }
        seen = true;
        moved.push_str(indent);
        moved.push_str(line.strip_prefix(own).unwrap_or(line));
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn a_text_takes_the_indentation_of_its_place() {
        for (text, indent, moved) in [
            ("fn a() {\n    x\n}\n", "    ", "    fn a() {\n        x\n    }\n"),
            ("    fn a() {\n        x\n    }\n", "    ", "    fn a() {\n        x\n    }\n"),
            ("fn a() {\n        x\n    }\n", "    ", "    fn a() {\n        x\n    }\n"),
            ("def a():\n    x\n\n    y\n", "    ", "    def a():\n        x\n\n        y\n"),
            ("def a():\n        x\n", "    ", "    def a():\n        x\n"),
            ("        fn a() {}\n", "    ", "    fn a() {}\n"),
            ("\tfn a() {\n\t\tx\n\t}\n", "", "fn a() {\n\tx\n}\n"),
            ("  a\n b\n", "    ", "    a\n b\n"),
            ("\n \n", "    ", "\n \n"),
            ("", "    ", ""),
        ] {
            assert_eq!(indented(text, indent), moved, "{text:?}");
        }
    }
}
