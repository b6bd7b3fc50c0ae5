//! Detects the whole of a file in the place of a part of it (spec 3.9 `address-conflict`), because it would duplicate
//! the rest.

use std::ops::Range;

/// The rest must have this many lines. A shorter rest may well resemble the part.
const LEAST_LINES: usize = 3;

/// Whether the text for a part of a file contains the rest of the file too: either all of its lines in order, or as
/// many lines as the rest has, from the file's first line to its last one. An inserted text may well begin and end like
/// the file, such as one more test beside the only one.
pub(super) fn holds_rest(before: &str, range: &Range<usize>, new: &str) -> bool {
    let (head, tail) = (before.get(..range.start).unwrap_or_default(), before.get(range.end..).unwrap_or_default());
    let size = head.trim().len() + tail.trim().len();
    // Much shorter texts are not compared, so that many small changes of a large file cost no more than their length.
    if 2 * new.len() < size {
        return false;
    }
    let rest = worded(head).chain(worded(tail)).count();
    let is_long = rest >= LEAST_LINES && worded(new).count() >= rest;
    holds_all(head, tail, new) || !range.is_empty() && is_long && spans(before, head, tail, new)
}

fn holds_all(head: &str, tail: &str, new: &str) -> bool {
    const LEAST_BYTES: usize = 30;
    let size = head.trim().len() + tail.trim().len();
    if size < LEAST_BYTES || new.len() < size {
        return false;
    }
    let mut lines = new.lines().map(str::trim);
    let mut rest = worded(head).chain(worded(tail));
    let enough = rest.clone().nth(LEAST_LINES - 1).is_some();
    enough && rest.all(|line| lines.any(|other| other == line))
}

/// Whether a text begins with the first line of a file and ends with its last one, as far as these are outside the
/// replaced part.
fn spans(before: &str, head: &str, tail: &str, new: &str) -> bool {
    let begins = worded(head).next().is_none() || worded(new).next() == worded(before).next();
    let ends = worded(tail).next().is_none() || worded(new).next_back() == worded(before).next_back();
    begins && ends
}

/// Lines with content, without blanks at their edges.
fn worded(text: &str) -> impl DoubleEndedIterator<Item = &str> + Clone {
    text.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric))
}
