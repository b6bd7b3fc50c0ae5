//! Applies a change of a text on top of another change of the same text, if the two do not touch (spec 11.4).

use std::ops::Range;

use similar::{DiffTag, TextDiff};

/// Lines of the common text and their replacement.
type Hunk<'a> = (Range<usize>, Vec<&'a str>);

/// What `after` would be if it had been made from `now`; both were made from `before`. `None` if both change the same
/// or adjacent lines.
pub fn rebase(before: &str, after: &str, now: &str) -> Option<String> {
    let lines = lines(before);
    let (asked, made) = (hunks(before, after), hunks(before, now));
    let meets = |one: &Range<usize>, other: &Range<usize>| one.start <= other.end && other.start <= one.end;
    let mut all: Vec<Hunk<'_>> = Vec::with_capacity(asked.len() + made.len());
    let (mut asked, mut made) = (asked.into_iter().peekable(), made.into_iter().peekable());
    loop {
        let next = match (asked.peek(), made.peek()) {
            (Some((one, _)), Some((other, _))) if meets(one, other) => return None,
            (Some((one, _)), Some((other, _))) if one.start < other.start => asked.next(),
            (_, Some(_)) => made.next(),
            (Some(_), None) => asked.next(),
            (None, None) => break,
        };
        all.extend(next);
    }
    let mut text = String::with_capacity(after.len().max(now.len()));
    let mut at = 0;
    for (old, new) in all {
        lines.get(at..old.start)?.iter().chain(&new).for_each(|line| text.push_str(line));
        at = old.end;
    }
    lines.get(at..)?.iter().for_each(|line| text.push_str(line));
    Some(text)
}

/// The differences, in the order of lines.
fn hunks<'a>(before: &'a str, after: &'a str) -> Vec<Hunk<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(before), lines(after));
    let diff = TextDiff::configure().diff_slices(&old, &new);
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    changed.map(|op| (op.old_range(), new.get(op.new_range()).unwrap_or_default().to_vec())).collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::rebase;

    #[test]
    fn changes_that_do_not_meet_are_both_made() {
        let made = rebase("a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n", "a\nb\nc\nd\nE\nf\n");
        assert_eq!(made.as_deref(), Some("a\nB\nc\nd\nE\nf\n"));
        let made = rebase("a\nb\nc\nd\n", "a\nb\nc\nd\nx", "new\na\nb\nc\nd\n");
        assert_eq!(made.as_deref(), Some("new\na\nb\nc\nd\nx"));
    }

    #[test]
    fn changes_that_meet_are_not_guessed() {
        assert_eq!(rebase("a\nb\n", "A\nb\n", "x\nb\n"), None);
        assert_eq!(rebase("a\nb\n", "A\nb\n", "a\nB\n"), None, "lines beside each other");
        assert_eq!(rebase("", "a\n", "b\n"), None);
    }

    proptest! {
        #[test]
        fn a_change_over_an_unchanged_text_is_itself(before in "([abc]\n){0,8}[abc]?", after in "([abc]\n){0,8}[abc]?") {
            prop_assert_eq!(rebase(&before, &after, &before), Some(after.clone()));
            prop_assert_eq!(rebase(&before, &before, &after), Some(after));
        }
    }
}
