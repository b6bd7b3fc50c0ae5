//! Cuts text to a number of tokens (spec 5.8). Pure.

use std::borrow::Cow;

use callsheet_core::nouns::{TokenCount, tokens};
use callsheet_core::prompt::Note;

/// Tokens reserved for the note about a cut.
const NOTE_TOKENS: u32 = 24;

/// Consecutive lines of a text. The middle of a very large text may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// 1-based number of the first line.
    pub first: u32,
    /// Number of lines of the whole text.
    pub total: u32,
    /// The lines, or those before the gap.
    pub head: String,
    /// What is missing.
    pub gap: Option<Gap>,
    /// The lines after the gap. Empty without one.
    pub tail: String,
}

/// The missing middle of an excerpt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Whole lines in it.
    pub lines: u32,
    /// Tokens in it.
    pub tokens: u32,
}

/// The shown part of an excerpt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The text, with a note if something was cut.
    pub text: String,
    /// Nothing was cut.
    pub whole: bool,
}

impl Excerpt {
    /// All of `text`.
    pub fn whole(text: impl Into<String>) -> Self {
        let head = text.into();
        Self { first: 1, total: line_count(&head), head, gap: None, tail: String::new() }
    }

    /// Lines `first` to `last` of `text`, 1-based and inclusive. Lines past the end are ignored.
    pub fn lines(text: &str, first: u32, last: u32) -> Self {
        let skip = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
        let take = usize::try_from(last.saturating_sub(first.max(1)).saturating_add(1)).unwrap_or(usize::MAX);
        let head: String = text.split_inclusive('\n').skip(skip).take(if last < first { 0 } else { take }).collect();
        Self { first: first.max(1), total: line_count(text), head, gap: None, tail: String::new() }
    }

    /// Tokens of the excerpt, the gap included.
    pub fn tokens(&self) -> u32 {
        let gap = self.gap.map_or(0, |gap| gap.tokens);
        let mut count = TokenCount::default();
        count.add(&self.head);
        count.add(&self.tail);
        count.tokens().saturating_add(gap)
    }

    /// Number of the last line. One less than `first` if there is none. Both ends of one huge line count as one line.
    fn last(&self) -> u32 {
        let gap = self.gap.map_or(0, |gap| gap.lines);
        let lines = line_count(&self.head).saturating_add(gap).saturating_add(line_count(&self.tail));
        self.first.saturating_add(lines).saturating_sub(1).min(self.total.max(self.first))
    }

    /// Whether the excerpt is the whole text.
    pub fn is_whole_text(&self) -> bool {
        self.first == 1 && self.last() == self.total
    }
}

/// Number of lines of a text as editors count them: a final line end does not start another line.
pub fn line_count(text: &str) -> u32 {
    u32::try_from(text.split_inclusive('\n').count()).unwrap_or(u32::MAX)
}

/// The excerpt if it has at most `share` tokens. Otherwise its first 70 % and last 30 %, cut at line ends, with a note
/// in between (spec 5.8). A line is cut only if not even one fits.
pub fn cut(excerpt: &Excerpt, share: u32) -> Shown {
    cut_with(excerpt, share, Note::OmittedReferenceLines)
}

/// `cut` for a text that nobody can refer to.
pub fn cut_tokens(text: &str, share: u32) -> Cow<'_, str> {
    if tokens(text) <= share {
        return Cow::Borrowed(text);
    }
    let shown = cut_with(&Excerpt::whole(text), share, Note::OmittedLines);
    Cow::Owned(shown.text.trim_end_matches('\n').to_owned())
}

/// The first `most` lines of a text that nobody can refer to, with a note on what is left out.
pub fn cut_lines(text: &str, most: usize) -> Cow<'_, str> {
    let start: usize = text.split_inclusive('\n').take(most).map(str::len).sum();
    if start == text.len() {
        return Cow::Borrowed(text);
    }
    let (head, rest) = (text.get(..start).unwrap_or_default(), tail_of(text, start));
    let first = u32::try_from(most).unwrap_or(u32::MAX).saturating_add(1);
    let total = line_count(text);
    Cow::Owned(join(head, &note(Note::OmittedLines, first, total, total, tokens(rest)), "").trim_end().to_owned())
}

fn cut_with(excerpt: &Excerpt, share: u32, words: Note) -> Shown {
    let all = excerpt.tokens();
    if excerpt.gap.is_none() && all <= share {
        return Shown { text: excerpt.head.clone(), whole: true };
    }
    let budget = share.saturating_sub(NOTE_TOKENS);
    let for_head = u32::try_from(u64::from(budget) * 7 / 10).unwrap_or(budget);
    let for_tail = budget.saturating_sub(for_head);
    let head = first_lines(&excerpt.head, for_head);
    let rest = if excerpt.gap.is_some() { &excerpt.tail } else { tail_of(&excerpt.head, head.len()) };
    let tail = last_lines(rest, for_tail);
    // Whole lines are used if they make up most of the allowance. A single long line must not cost everything.
    if budget > 0 && tokens(head).saturating_add(tokens(tail)) < budget / 2 {
        return cut_inside_lines(excerpt, for_head, for_tail);
    }
    let first = excerpt.first.saturating_add(line_count(head));
    let last = excerpt.last().saturating_sub(line_count(tail)).max(first);
    let note = note(words, first, last, excerpt.total, omitted(all, head, tail));
    Shown { text: join(head, &note, tail), whole: false }
}

/// The first `lines` lines as far as they fit into `share` tokens, with a note about the rest (previews, spec 5.8).
pub fn preview(excerpt: &Excerpt, lines: u32, share: u32) -> Shown {
    let all = excerpt.tokens();
    let wanted = usize::try_from(lines).unwrap_or(usize::MAX);
    let start: usize = excerpt.head.split_inclusive('\n').take(wanted).map(str::len).sum();
    if excerpt.gap.is_none() && start == excerpt.head.len() && all <= share {
        return Shown { text: excerpt.head.clone(), whole: true };
    }
    let budget = share.saturating_sub(NOTE_TOKENS);
    let head = first_lines(excerpt.head.get(..start).unwrap_or(&excerpt.head), budget);
    if head.is_empty() && budget > 0 && lines > 0 {
        return cut_inside_lines(excerpt, budget, 0);
    }
    let first = excerpt.first.saturating_add(line_count(head));
    let last = excerpt.last().max(first);
    let words = Note::OmittedReferenceLines;
    let note = note(words, first, last, excerpt.total, omitted(all, head, ""));
    Shown { text: join(head, &note, ""), whole: false }
}

fn cut_inside_lines(excerpt: &Excerpt, for_head: u32, for_tail: u32) -> Shown {
    let head = first_chars(&excerpt.head, for_head);
    let rest = if excerpt.gap.is_some() { &excerpt.tail } else { tail_of(&excerpt.head, head.len()) };
    let tail = last_chars(rest, for_tail);
    let last = excerpt.last().max(excerpt.first);
    let note = note(Note::OmittedMiddle, excerpt.first, last, excerpt.total, omitted(excerpt.tokens(), head, tail));
    Shown { text: join(head, &note, tail), whole: false }
}

fn omitted(all: u32, head: &str, tail: &str) -> u32 {
    about(all.saturating_sub(tokens(head)).saturating_sub(tokens(tail)).max(1))
}

fn tail_of(text: &str, from: usize) -> &str {
    text.get(from..).unwrap_or_default()
}

/// The longest start of whole lines within `limit` tokens.
fn first_lines(text: &str, limit: u32) -> &str {
    let mut count = TokenCount::default();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        count.add(line);
        if count.tokens() > limit {
            break;
        }
        end += line.len();
    }
    text.get(..end).unwrap_or_default()
}

/// The longest end of whole lines within `limit` tokens.
fn last_lines(text: &str, limit: u32) -> &str {
    let mut count = TokenCount::default();
    let mut start = text.len();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    while let Some(line) = lines.pop() {
        count.add(line);
        if count.tokens() > limit {
            break;
        }
        start -= line.len();
    }
    tail_of(text, start)
}

fn first_chars(text: &str, limit: u32) -> &str {
    let mut count = TokenCount::default();
    let end = text.char_indices().find(|(_, character)| {
        count.add_char(*character);
        count.tokens() > limit
    });
    end.map_or(text, |(at, _)| text.get(..at).unwrap_or_default())
}

fn last_chars(text: &str, limit: u32) -> &str {
    let mut count = TokenCount::default();
    let before = text.char_indices().rev().find(|(_, character)| {
        count.add_char(*character);
        count.tokens() > limit
    });
    before.map_or(text, |(at, character)| tail_of(text, at + character.len_utf8()))
}

/// Rounds a number to two digits, which is enough for "about".
fn about(count: u32) -> u32 {
    let mut unit = 1_u32;
    while count / unit >= 100 {
        unit = unit.saturating_mul(10);
    }
    let whole = count / unit;
    let up = u32::from(count % unit >= unit.div_ceil(2) && unit > 1);
    (whole + up).saturating_mul(unit)
}

fn note(words: Note, first: u32, last: u32, total: u32, tokens: u32) -> String {
    let values = [first, last, total, tokens].map(|number| number.to_string());
    let [first, last, total, tokens] = &values;
    words.fill(&[("first", first), ("last", last), ("total", total), ("tokens", tokens)])
}

fn join(head: &str, note: &str, tail: &str) -> String {
    let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    if tail.is_empty() { format!("{head}{newline}{note}\n") } else { format!("{head}{newline}{note}\n{tail}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Excerpt, about, cut, preview};
    use callsheet_core::nouns::tokens;

    #[test]
    fn about_keeps_two_digits() {
        assert_eq!([0, 7, 99, 104, 105, 999, 5_151, u32::MAX].map(about), [0, 7, 99, 100, 110, 1_000, 5_200, u32::MAX]);
    }

    #[test]
    fn a_text_within_its_share_is_whole() {
        let shown = cut(&Excerpt::whole("a\nb"), 1);
        assert!(shown.whole);
        assert_eq!(shown.text, "a\nb");
    }

    #[test]
    fn a_single_long_line_keeps_both_ends() {
        let shown = cut(&Excerpt::whole("x".repeat(4_000)), 124);
        let (head, rest) = shown.text.split_once('\n').unwrap();
        let (note, tail) = rest.split_once('\n').unwrap();
        assert_eq!((head.len(), tail.len()), (280, 120));
        assert_eq!(note, "[the middle of lines 1-1 of 1 omitted, about 900 tokens]");
    }

    #[test]
    fn without_a_share_only_the_note_is_left() {
        let shown = cut(&Excerpt::lines("a\nb\nc\nd\n", 2, 3), 0);
        assert_eq!(shown.text, "[lines 2-3 of 4 omitted, about 1 tokens; use #L2-L3]\n");
    }

    #[test]
    fn lines_past_the_end_are_left_out() {
        assert_eq!(Excerpt::lines("a\nb\n", 2, 9).head, "b\n");
        assert_eq!(Excerpt::lines("a\nb\n", 5, 9).head, "");
        assert_eq!(Excerpt::lines("a\nb\n", 2, 1).head, "");
    }

    proptest! {
        #[test]
        fn a_cut_stays_within_its_share(text in "([a-zé \\r]{0,60}\n){0,30}[a-z]{0,400}", share in 0_u32..300) {
            let excerpt = Excerpt::whole(text.clone());
            let shown = cut(&excerpt, share);
            prop_assert_eq!(shown.whole, tokens(&text) <= share);
            if shown.whole {
                prop_assert_eq!(shown.text, text);
            } else {
                prop_assert!(tokens(&shown.text) <= share.max(24) + 4, "{}", shown.text);
                prop_assert!(shown.text.contains(" omitted, about "));
            }
        }

        #[test]
        fn a_preview_has_at_most_its_lines(text in "([a-z]{0,9}\n){0,60}", lines in 0_u32..40) {
            let shown = preview(&Excerpt::whole(text.clone()), lines, 600);
            let extra = u32::from(!shown.whole);
            prop_assert!(super::line_count(&shown.text) <= lines + extra);
            prop_assert_eq!(shown.whole, super::line_count(&text) <= lines);
        }
    }
}
