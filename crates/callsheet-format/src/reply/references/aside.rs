//! Text in a `References` value beside its links (spec 4.4 `reference-bare`, `prose-trimmed`): either a name, which is
//! looked up like a target, or words around the links. None of it may be lost silently.

use crate::markdown::{item_text, straighten};

use super::links::{Brackets, bare_word, is_pathlike, linked};

/// One part of a value, in order.
#[derive(Debug)]
pub(super) enum Place {
    /// A link or a bare target.
    Link,
    /// Anything else.
    Aside(Aside),
}

/// Text beside the links.
#[derive(Debug)]
pub(super) struct Aside {
    /// As written.
    pub raw: String,
    /// 0-based line within the value.
    pub line: usize,
    pub kind: Kind,
    /// Whether there is no link between the same two commas.
    pub alone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// In a code span, or in square brackets without a target.
    Marked,
    /// In round brackets, a remark on what precedes it; or a title followed by a colon.
    Remark,
    /// Words.
    Words,
}

impl Aside {
    /// The text without the marks around it.
    pub fn text(&self) -> &str {
        plain(&self.raw)
    }
}

/// The parts of a value.
pub(super) fn places(value: &str) -> Vec<Place> {
    let mut found = Found::default();
    for (at, line) in value.lines().enumerate() {
        found.line(straighten(line).trim_end(), at);
    }
    found.places
}

#[derive(Default)]
struct Found {
    places: Vec<Place>,
    /// Where the current piece begins.
    piece: usize,
}

impl Found {
    /// Links and words of one line, in the order in which [`super::links::written_links`] finds the links.
    fn line(&mut self, line: &str, at: usize) {
        let brackets = Brackets::of(line);
        let mut rest = item_text(line).unwrap_or(line);
        loop {
            let trimmed = rest.trim_start();
            let next = trimmed.trim_start_matches([',', ';', '|', '·', '.']);
            if next.len() < trimmed.len() {
                self.close();
            }
            rest = next.trim_start();
            if rest.is_empty() {
                self.close();
                return;
            }
            if let Some((_, after)) = linked(rest, at, &brackets) {
                self.places.push(Place::Link);
                rest = after;
            } else if let Some((kind, raw, after)) = bracketed(rest, &brackets) {
                self.push(raw, kind, at);
                rest = after;
            } else {
                let (word, after) = bare_word(rest);
                self.word(word, after, at);
                rest = after;
            }
        }
    }

    fn word(&mut self, word: &str, after: &str, at: usize) {
        let target = plain(word);
        if is_pathlike(target) {
            self.places.push(Place::Link);
        } else if ["and", "or", "&", "-", "–", "—"].iter().any(|joint| target.eq_ignore_ascii_case(joint)) {
            self.close();
        } else if !target.is_empty() {
            let kind = match word.starts_with('`') {
                true if after.starts_with(':') => Kind::Remark,
                true => Kind::Marked,
                false => Kind::Words,
            };
            self.push(word, kind, at);
        }
    }

    /// Adds words. Consecutive words of one piece become one text.
    fn push(&mut self, raw: &str, kind: Kind, line: usize) {
        let inside = self.places.len() > self.piece;
        if let Some(Place::Aside(last)) = self.places.last_mut()
            && inside
            && (last.kind, kind) == (Kind::Words, Kind::Words)
        {
            last.raw.push(' ');
            last.raw.push_str(raw);
            return;
        }
        let aside = Aside { raw: raw.to_owned(), line, kind, alone: false };
        self.places.push(Place::Aside(aside));
    }

    /// Ends a piece, and tells its asides what is beside them.
    fn close(&mut self) {
        let end = self.places.len();
        let own = self.places.get_mut(self.piece..).unwrap_or_default();
        let alone = !own.iter().any(|place| matches!(place, Place::Link));
        for place in own {
            if let Place::Aside(aside) = place {
                aside.alone = alone;
            }
        }
        self.piece = end;
    }
}

/// A remark in round brackets or a title without a target, if it contains no target, and the text after it.
fn bracketed<'a>(text: &'a str, brackets: &Brackets<'a>) -> Option<(Kind, &'a str, &'a str)> {
    let (kind, open) = if text.starts_with('(') { (Kind::Remark, '(') } else { (Kind::Marked, '[') };
    let (inner, after) = brackets.split(text, open)?;
    let holds_target = inner.contains("](") || inner.split_whitespace().any(|word| is_pathlike(plain(word)));
    let ends = after.is_empty() || after.starts_with([' ', ',', ';', '.', '|', ')', '\t']);
    if holds_target || !ends || !inner.contains(char::is_alphanumeric) {
        return None;
    }
    Some((kind, text.get(..text.len() - after.len())?, after))
}

/// A text without the marks around it.
pub(super) fn plain(text: &str) -> &str {
    let marks = |c: char| matches!(c, '`' | '*' | '"' | '\'' | '<' | '>' | '(' | ')' | '[' | ']');
    text.trim_matches(marks).trim_end_matches(['.', ',', ':', ';', '!'])
}
