//! The form of a file that changes preserve (spec 3.10): its byte order mark, its final newline, and the line endings
//! and blanks of unchanged lines.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use callsheet_core::symbols::Symbol;

use crate::sheet::split_mark;

use super::text::{Lines, ending, without_final};

/// A file in the form in which changes are applied: without a byte order mark, and with an ending on its last line.
/// Both are restored afterwards.
pub(super) struct Form<'a> {
    mark: &'a str,
    end: End,
    pub text: Cow<'a, str>,
}

/// How the last line of a file ends.
enum End {
    /// Like the others, or there is no line.
    Closed,
    /// With a carriage return alone.
    Return,
    /// With nothing.
    Open,
}

impl<'a> Form<'a> {
    pub(super) fn of(file: &'a str) -> Self {
        let (mark, text) = split_mark(file);
        let (end, lacks) = match text.chars().next_back() {
            None | Some('\n') => (End::Closed, ""),
            Some('\r') => (End::Return, "\n"),
            Some(_) => (End::Open, ending(text)),
        };
        let text = if lacks.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}{lacks}")) };
        Self { mark, end, text }
    }

    /// A text to insert into the file, without a byte order mark.
    pub(super) fn plain<'t>(&self, written: &'t str) -> &'t str {
        if self.mark.is_empty() { written } else { split_mark(written).1 }
    }

    /// A symbol of the file with its position in this text.
    pub(super) fn placed(&self, symbol: &Symbol) -> Symbol {
        let at = |byte: usize| byte.saturating_sub(self.mark.len());
        Symbol { start: at(symbol.start), end: at(symbol.end), ..symbol.clone() }
    }

    /// The file after it was changed to this text.
    pub(super) fn restored(&self, after: &str) -> String {
        let after = match self.end {
            End::Closed => after,
            End::Return => after.strip_suffix('\n').unwrap_or(after),
            End::Open => without_final(after),
        };
        format!("{}{after}", self.mark)
    }
}

/// `new` in place of these bytes of a file, in which unchanged lines are kept as they are in the file. They are found
/// by comparing the written old text with the new one; without a written old text, the file's text is compared.
pub(super) fn kept(
    before: &str,
    lines: &Lines<'_>,
    range: &Range<usize>,
    new: &str,
    written: Option<Written<'_>>,
) -> String {
    let file: Vec<&str> = before.get(range.clone()).unwrap_or_default().split_inclusive('\n').collect();
    let put: Vec<&str> = new.split_inclusive('\n').collect();
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = match written {
        Some(written) => (written.old.split('\n').map(bare).collect(), written.new.split('\n').map(bare).collect()),
        None => (lines_of(&file), lines_of(&put)),
    };
    if old_lines.len() != file.len() || new_lines.len() != put.len() {
        return new.to_owned();
    }
    let same = same_lines(&old_lines, &new_lines);
    // The ending of a line of the file, even if it is after the replaced bytes.
    let first = lines.line_at(range.start);
    let ending_at = |at: usize| lines.ending(first.saturating_add(at));
    let near = if first > 1 && lines.start(first) == range.start { lines.ending(first - 1) } else { ending_at(0) };
    let mut kept = String::with_capacity(new.len());
    // The old lines before this one were already handled.
    let mut passed = 0;
    let mut gap_end = 0;
    for (at, line) in put.iter().enumerate() {
        let stays = same.get(at).copied().flatten();
        let text = match stays.and_then(|old| file.get(old)) {
            Some(whole) => without_final(whole),
            None => without_final(line),
        };
        if stays.is_none() && gap_end <= at {
            gap_end = (at..put.len()).find(|at| same.get(*at).is_some_and(Option::is_some)).unwrap_or(put.len());
        }
        let next = same.get(gap_end).copied().flatten().unwrap_or(file.len());
        let ending = match stays {
            Some(old) => {
                passed = old + 1;
                ending_at(old)
            }
            // A new line gets the ending of the line that it replaces, or of the one above it.
            None if passed < next => {
                passed += 1;
                ending_at(passed - 1)
            }
            None => passed.checked_sub(1).map_or(near, ending_at),
        };
        kept.push_str(text);
        if line.ends_with('\n') {
            kept.push_str(if ending.is_empty() { "\n" } else { ending });
        }
    }
    kept
}

/// The written old and new text of some lines, without the ending of the last line.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub old: &'a str,
    pub new: &'a str,
}

fn lines_of<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| without_final(line)).collect()
}

fn bare(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// For each new line, the old line that it equals, in order. First the ends are compared, then lines that are unique in
/// both texts, then their neighbours, so the time is that of sorting.
fn same_lines(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let mut same: Vec<Option<usize>> = vec![None; new.len()];
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let anchors = anchors(old, new, head..old.len() - tail, head..new.len() - tail);
    let fixed = (0..head).map(|at| (at, at)).chain(anchors);
    let fixed = fixed.chain((0..tail).rev().map(|at| (old.len() - 1 - at, new.len() - 1 - at)));
    let mut free = (0, 0);
    for (at, to) in fixed.chain([(old.len(), new.len())]) {
        // Forwards from the last unchanged line, then backwards from this one.
        while free.0 < at && free.1 < to && old.get(free.0) == new.get(free.1) {
            if let Some(slot) = same.get_mut(free.1) {
                *slot = Some(free.0);
            }
            free = (free.0 + 1, free.1 + 1);
        }
        let mut back = (at, to);
        while back.0 > free.0 && back.1 > free.1 && old.get(back.0 - 1) == new.get(back.1 - 1) {
            back = (back.0 - 1, back.1 - 1);
            if let Some(slot) = same.get_mut(back.1) {
                *slot = Some(back.0);
            }
        }
        if let Some(slot) = same.get_mut(to) {
            *slot = Some(at);
        }
        free = (at + 1, to + 1);
    }
    same
}

/// Pairs of lines that are unique in both ranges: the longest sequence that increases in both.
fn anchors(old: &[&str], new: &[&str], of_old: Range<usize>, of_new: Range<usize>) -> Vec<(usize, usize)> {
    let there = once(old, of_old);
    let mut pairs: Vec<(usize, usize)> =
        once(new, of_new).into_iter().filter_map(|(line, at)| Some((*there.get(line)?, at))).collect();
    pairs.sort_unstable();
    rising(&pairs)
}

/// Lines that are unique in a range, with their positions.
fn once<'a>(lines: &[&'a str], range: Range<usize>) -> BTreeMap<&'a str, usize> {
    let mut found: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    for (at, line) in range.clone().zip(lines.get(range).unwrap_or_default()) {
        found.entry(line).and_modify(|place| *place = None).or_insert(Some(at));
    }
    found.into_iter().filter_map(|(line, at)| Some((line, at?))).collect()
}

/// The longest sequence of pairs that increases in the second number. The pairs already increase in the first.
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // By length of a sequence, the pair with the smallest number that ends one; and for each pair, the pair before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, number)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs.get(*end).is_some_and(|(_, other)| other < number));
        before.push(length.checked_sub(1).and_then(|length| ends.get(length).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut row = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        row.extend(pairs.get(at).copied());
        next = before.get(at).copied().flatten();
    }
    row.reverse();
    row
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Form, same_lines};

    #[test]
    fn lines_that_stay_are_found() {
        let same = |old: &str, new: &str| {
            let (old, new): (Vec<&str>, Vec<&str>) = (old.split(' ').collect(), new.split(' ').collect());
            let found = same_lines(&old, &new).into_iter();
            found.map(|at| at.map_or("-".to_owned(), |at| at.to_string())).collect::<Vec<_>>().join(" ")
        };
        for (old, new, found) in [
            ("a b c", "a x c", "0 - 2"),
            ("a b c", "x a b y c", "- 0 1 - 2"),
            ("a b c d e", "a y b x d z e", "0 - 1 - 3 - 4"),
            ("a b", "b a", "1 -"),
            ("x a x", "x x", "0 2"),
            ("a b a", "x a b a a", "- 0 1 - 2"),
        ] {
            assert_eq!(same(old, new), found, "{old:?} {new:?}");
        }
    }

    proptest! {
        #[test]
        fn lines_that_stay_are_the_same_and_in_order(old in "[abcde]{0,12}", new in "[abcde]{0,12}") {
            let lines = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
            let (old, new) = (lines(&old), lines(&new));
            let (old, new): (Vec<&str>, Vec<&str>) =
                (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
            let same = same_lines(&old, &new);
            prop_assert_eq!(same.len(), new.len());
            let pairs: Vec<(usize, usize)> = same.iter().enumerate().filter_map(|(at, old)| Some(((*old)?, at))).collect();
            prop_assert!(pairs.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(pairs.iter().all(|(at, to)| old[*at] == new[*to]));
            if old == new {
                prop_assert_eq!(pairs.len(), old.len());
            }
        }

        #[test]
        fn a_file_that_does_not_change_is_itself(file in "\u{feff}?[ab\\r\\n]{0,12}") {
            let form = Form::of(&file);
            prop_assert_eq!(form.restored(&form.text), file);
        }
    }
}
