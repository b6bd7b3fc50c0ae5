//! The whole of a file in the place of a part of it (spec 3.9 `address-conflict`): it would double the rest.

use std::collections::BTreeMap;
use std::ops::Range;

/// Whether the text for a part of a file holds the rest of the file too: all of its lines in order, or, between the file's
/// first line and its last one, most of them.
pub(super) fn holds_rest(before: &str, range: &Range<usize>, new: &str) -> bool {
    let (head, tail) = (before.get(..range.start).unwrap_or_default(), before.get(range.end..).unwrap_or_default());
    let size = head.trim().len() + tail.trim().len();
    // Texts that are much shorter are not compared, so that many small changes of a large file cost no more than they are long.
    if 2 * new.len() < size {
        return false;
    }
    holds_all(head, tail, new) || spans(before, head, tail, new) && holds_most(head, tail, new, range.is_empty())
}

fn holds_all(head: &str, tail: &str, new: &str) -> bool {
    const LEAST_LINES: usize = 3;
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

/// Whether a text begins with the first line of a file and ends with its last one, as far as they stand outside the part that
/// is replaced.
fn spans(before: &str, head: &str, tail: &str, new: &str) -> bool {
    let begins = worded(head).next().is_none() || worded(new).next() == worded(before).next();
    let ends = worded(tail).next().is_none() || worded(new).next_back() == worded(before).next_back();
    begins && ends
}

/// Whether a text has most lines of the rest, in order. Lines that come again, here or there, say nothing of where a text is
/// from: what is like a part of the file, such as one more test, has those too.
fn holds_most(head: &str, tail: &str, new: &str, inserted: bool) -> bool {
    const LEAST_LINES: usize = 5;
    // What is inserted may well be like what is there: one more test beside the only one.
    let of_ten = if inserted { 8 } else { 6 };
    let written = once(worded(new));
    let rest = once(worded(head).chain(worded(tail)));
    let mut places: Vec<(usize, usize)> =
        rest.iter().filter_map(|(line, at)| Some((*at, *written.get(line)?))).collect();
    if places.len() < LEAST_LINES || places.len() * 10 < rest.len() * of_ten {
        return false;
    }
    places.sort_unstable();
    let held = longest_rising(places.into_iter().map(|(_, place)| place));
    held >= LEAST_LINES && held * 10 >= rest.len() * of_ten
}

/// Lines that say something, without blanks at their edges.
fn worded(text: &str) -> impl DoubleEndedIterator<Item = &str> + Clone {
    text.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric))
}

/// The lines that stand there once, and where.
fn once<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut found: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    for (at, line) in lines.enumerate() {
        found.entry(line).and_modify(|place| *place = None).or_insert(Some(at));
    }
    found.into_iter().filter_map(|(line, at)| Some((line, at?))).collect()
}

/// How many of these numbers rise, at most.
fn longest_rising(numbers: impl Iterator<Item = usize>) -> usize {
    // The least number in which a rising row of each length ends.
    let mut ends: Vec<usize> = Vec::new();
    for number in numbers {
        let at = ends.partition_point(|end| *end < number);
        match ends.get_mut(at) {
            Some(end) => *end = number,
            None => ends.push(number),
        }
    }
    ends.len()
}

#[cfg(test)]
mod tests {
    use super::longest_rising;

    #[test]
    fn the_longest_rising_row_is_counted() {
        for (numbers, held) in [(&[][..], 0), (&[3, 2, 1], 1), (&[9, 1, 2, 0, 3], 3), (&[1, 1, 1], 1), (&[1, 2, 5], 3)]
        {
            assert_eq!(longest_rising(numbers.iter().copied()), held, "{numbers:?}");
        }
    }
}
