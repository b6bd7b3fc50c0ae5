//! The links of a `References` value (spec 3.3): Markdown links, and what is read as one (`reference-bare`,
//! `link-unwrapped`, `quotes-straightened`).

use std::borrow::Cow;

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::RepairCode;

use crate::markdown::{odd_places, straighten};

/// The longest title or target in bytes: a path of 4,096 bytes, all of them escaped, and its fragment. Brackets are
/// paired in one walk, so reading is linear for any number.
const LONGEST: usize = 16_000;

/// The longest text, in bytes, of words that name no target.
const LONGEST_WORDS: usize = 2_000;

/// A link as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenLink<'a> {
    /// Link text without markup. Empty for a bare target.
    pub title: Cow<'a, str>,
    /// Target as written.
    pub target: Cow<'a, str>,
    /// The whole text.
    pub raw: Cow<'a, str>,
    /// 0-based line within the value.
    pub line: usize,
    /// Written as `[title](target)`.
    pub linked: bool,
    /// Corrections, in order.
    pub repairs: [Option<RepairCode>; 3],
}

impl WrittenLink<'_> {
    fn note(&mut self, code: RepairCode) {
        if let Some(free) = self.repairs.iter_mut().find(|taken| taken.is_none()) {
            *free = Some(code);
        }
    }

    /// The link with owned texts.
    fn into_owned(self) -> WrittenLink<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let Self { title, target, raw, line, linked, repairs } = self;
        WrittenLink { title: own(title), target: own(target), raw: own(raw), line, linked, repairs }
    }
}

/// Words that mean that there is no reference.
const NONE: &[&str] =
    &["", "none", "n a", "na", "nil", "null", "nothing", "no references", "not applicable", "none needed", "no"];

/// Whether a value says that there is no reference.
pub fn is_none(value: &str) -> bool {
    // A link without a title is a reference, whatever the name of its target.
    if value.contains("[](") {
        return false;
    }
    // A value with more letters than any of these words cannot be one of them.
    let long = value.chars().filter(|c| c.is_alphanumeric()).nth(16).is_some();
    !long && NONE.contains(&normalize(value).as_str())
}

/// Whether a value says that there is no reference, possibly followed by a remark with the reason.
pub fn says_none(value: &str) -> bool {
    is_none(value) || remark_of_none(value).is_some()
}

/// The words after `none` in a value that says that there is no reference: in brackets, or after a comma or a dash.
/// None of them may be a target.
pub(super) fn remark_of_none(value: &str) -> Option<Vec<String>> {
    const LONGEST: usize = 160;
    let value = value.trim();
    let marks = |c: char| matches!(c, '*' | '_');
    if value.len() > LONGEST || value.contains(['\n', '`', '#', '[', ']', '<', '\\', '|']) {
        return None;
    }
    let value = value.trim_matches(marks);
    let end = value.find(|c: char| !(c.is_ascii_alphabetic() || c == '/'))?;
    let (word, rest) = value.split_at_checked(end)?;
    if !["none", "n/a", "nil"].iter().any(|none| word.eq_ignore_ascii_case(none)) {
        return None;
    }
    let rest = rest.trim_start_matches(marks).trim();
    let bracket = rest.strip_prefix('(').and_then(|rest| rest.trim_end_matches('.').strip_suffix(')'));
    let remark = bracket.or_else(|| rest.strip_prefix([',', ';', '-', '–', '—']))?.trim();
    // A path contains a slash, or a dot inside a word; an address contains a colon; the name of a skill or a task a
    // number or a `_`.
    let odd = |word: &str| {
        let word = word.trim_end_matches(['.', ',', ';']);
        word.contains(['/', '.', ':', '_', '(', ')']) || word.contains(|c: char| c.is_ascii_digit())
    };
    let words = || normalize(remark).split(' ').map(str::to_owned).collect();
    (!remark.split_whitespace().any(odd)).then(words)
}

/// The links of a value, in order.
pub fn written_links(value: &str) -> Vec<WrittenLink<'_>> {
    let mut links: Vec<WrittenLink<'_>> = Vec::new();
    for (at, line) in value.lines().enumerate() {
        let first = links.len();
        let separated = match straighten(line) {
            Cow::Borrowed(line) => line_links(line, at, &mut links),
            Cow::Owned(straight) => {
                let mut found = Vec::new();
                let separated = line_links(&straight, at, &mut found);
                odd_links(line, &straight, &mut found);
                links.extend(found.into_iter().map(|link: WrittenLink<'_>| link.into_owned()));
                separated
            }
        };
        for (index, link) in links.iter_mut().enumerate().skip(first) {
            // A separator other than a space, and a separate line, are read as a space.
            if (separated && index > first || at > 0 && index == first) && link.linked {
                link.note(RepairCode::ReferenceBare);
            }
        }
    }
    let linked = links.iter().any(|link| link.linked);
    let paths = links.iter().any(|link| !link.linked && is_pathlike(&link.target));
    // Words around links are not references (`named` decides what else they are). A value that consists only of words
    // is a reference that resolves to nothing.
    links.retain(|link| link.linked || is_pathlike(&link.target) || !(linked || paths));
    links
}

/// Marks the links that had odd characters in the written line. They are in the same order in the straightened line, so
/// one walk finds them.
fn odd_links(line: &str, straight: &str, links: &mut [WrittenLink<'_>]) {
    let places = odd_places(line);
    let mut from = 0;
    for link in links {
        let Some(start) = straight.get(from..).and_then(|rest| rest.find(&*link.raw)) else { continue };
        let (start, end) = (from + start, from + start + link.raw.len());
        let next = places.partition_point(|place| place.end <= start);
        if places.get(next).is_some_and(|place| place.start < end) {
            link.note(RepairCode::QuotesStraightened);
        }
        from = end;
    }
}

/// The links of one line. Returns whether something other than blanks separates them.
fn line_links<'a>(line: &'a str, at: usize, links: &mut Vec<WrittenLink<'a>>) -> bool {
    let line = line.trim_end();
    let brackets = Brackets::of(line);
    let marked = crate::markdown::item_text(line);
    let mut rest = marked.unwrap_or(line);
    let mut separated = marked.is_some();
    loop {
        let trimmed = rest.trim_start();
        let next = trimmed.trim_start_matches([',', ';', '|', '·', '.']);
        separated |= next.len() < trimmed.len() && !next.trim().is_empty();
        rest = next.trim_start();
        if rest.is_empty() {
            return separated;
        }
        if let Some((link, after)) = linked(rest, at, &brackets) {
            links.push(link);
            rest = after;
            continue;
        }
        let (word, after) = bare_word(rest);
        rest = after;
        push_bare(word, at, links);
    }
}

/// Adds a word. Consecutive words without a path among them stay one text, so that an issue can quote it.
fn push_bare<'a>(word: &'a str, at: usize, links: &mut Vec<WrittenLink<'a>>) {
    let target = word.trim_matches(|c: char| matches!(c, '`' | '*' | '"' | '\'' | '<' | '>' | '(' | ')' | '[' | ']'));
    let target = target.trim_end_matches(['.', ',', ':', ';', '!']);
    let target = without_inner_code(word).map_or(Cow::Borrowed(target), Cow::Owned);
    if target.is_empty() || ["and", "or", "&", "-", "–", "—"].iter().any(|word| target.eq_ignore_ascii_case(word)) {
        return;
    }
    if let Some(last) = links.last_mut()
        && !last.linked
        && last.line == at
        && !is_pathlike(&last.target)
        && !is_pathlike(&target)
    {
        if last.target.len() < LONGEST_WORDS {
            for (text, more) in [(&mut last.target, &*target), (&mut last.raw, word)] {
                let text = text.to_mut();
                text.push(' ');
                text.push_str(more);
            }
        }
        return;
    }
    links.push(WrittenLink {
        title: Cow::Borrowed(""),
        target,
        raw: Cow::Borrowed(word),
        line: at,
        linked: false,
        repairs: [Some(RepairCode::ReferenceBare), None, None],
    });
}

/// A path of which only the end is in code style, such as "/srv/lab/`src/net.rs`", without the marks.
fn without_inner_code(word: &str) -> Option<String> {
    let (folder, inner) = word.split_once('`')?;
    let file = inner.trim_end_matches(['.', ',', ':', ';', '!']).strip_suffix('`')?;
    let plain = folder.ends_with('/') && !file.is_empty() && !file.starts_with('/') && !file.contains('`');
    plain.then(|| format!("{folder}{file}"))
}

/// A word that can only be a target: a path, an address or an anchor.
pub(super) fn is_pathlike(text: &str) -> bool {
    let inner = text.trim_matches('.');
    !text.contains(' ')
        && (inner.contains(['/', '.', '#', ':', '\\']) || matches!(text, "project_description" | "current_file"))
}

pub(super) fn bare_word(text: &str) -> (&str, &str) {
    if let Some(inner) = text.strip_prefix('`')
        && let Some(end) = inner.find('`')
    {
        return text.split_at_checked(end + 2).unwrap_or((text, ""));
    }
    let end = text
        .char_indices()
        .find(|(at, c)| {
            let ends = |tail: &str| tail.is_empty() || tail.starts_with(char::is_whitespace);
            c.is_whitespace() || matches!(c, ',' | ';') && text.get(at + 1..).is_none_or(ends)
        })
        .map_or(text.len(), |(at, _)| at);
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The brackets of a line with their closing positions, found in one walk.
pub(super) struct Brackets<'a> {
    line: &'a str,
    /// Distance from each opening bracket to its closing one. 0 for all other bytes.
    lengths: Vec<u16>,
}

impl<'a> Brackets<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let mut lengths = vec![0; line.len()];
        let (mut square, mut round) = (Vec::new(), Vec::new());
        let mut escaped = false;
        for (at, sign) in line.bytes().enumerate() {
            let open = match sign {
                _ if escaped => None,
                b'[' => {
                    square.push(at);
                    None
                }
                b'(' => {
                    round.push(at);
                    None
                }
                b']' => square.pop(),
                b')' => round.pop(),
                _ => None,
            };
            escaped = !escaped && sign == b'\\';
            if let Some((length, slot)) = open
                .filter(|open| at - open <= LONGEST)
                .and_then(|open| Some((u16::try_from(at - open).ok()?, lengths.get_mut(open)?)))
            {
                *slot = length;
            }
        }
        Self { line, lengths }
    }

    /// The text between the bracket at the start of `text`, which is a tail of the line, and its closing bracket; and
    /// the text after that.
    pub(super) fn split(&self, text: &'a str, open: char) -> Option<(&'a str, &'a str)> {
        let start = self.line.len().checked_sub(text.len())?;
        let length = text.starts_with(open).then(|| self.lengths.get(start).copied())?.filter(|length| *length > 0)?;
        let end = start + usize::from(length);
        Some((self.line.get(start + 1..end)?, self.line.get(end + 1..)?))
    }
}

/// Reads `[title](target)` at the start of the text, however it is wrapped, and the text after it.
pub(super) fn linked<'a>(text: &'a str, at: usize, brackets: &Brackets<'a>) -> Option<(WrittenLink<'a>, &'a str)> {
    let body = text.trim_start_matches(['*', '_', '`', '<', '!']);
    let wrapped = body.len() < text.len();
    let (inner, after) = brackets.split(body, '[')?;
    let gap = after.len() - after.trim_start_matches(' ').len();
    // `[README.md]` alone: its text is the target.
    let (target, tail) = brackets.split(after.trim_start_matches(' '), '(')?;
    let (target, angle) = unwrap_target(target);
    let title = match unescape(inner) {
        Cow::Borrowed(title) => Cow::Borrowed(title.trim()),
        Cow::Owned(title) => Cow::Owned(title.trim().to_owned()),
    };
    // Blanks and marks are removed together, so that reading the result again changes nothing.
    let edge = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '[' | ']');
    let marked = title.trim_matches(edge).len() < title.len() && !inner.contains('\\');
    let title = if marked { Cow::Borrowed(inner.trim_matches(edge)) } else { title };
    // A title is written on one line, with normalized blanks.
    let folds = title.contains("  ") || title.contains(|c: char| c.is_whitespace() && c != ' ');
    let title = if folds { title.split_whitespace().collect::<Vec<_>>().join(" ").into() } else { title };
    let tail = if wrapped { tail.trim_start_matches(['*', '_', '`', '>']) } else { tail };
    let unwrapped = (wrapped || gap > 0 || angle || marked).then_some(RepairCode::LinkUnwrapped);
    let raw = text.get(..text.len() - tail.len()).unwrap_or(text).trim();
    let (target, raw) = (Cow::Borrowed(target), Cow::Borrowed(raw));
    Some((WrittenLink { title, target, raw, line: at, linked: true, repairs: [unwrapped, None, None] }, tail))
}

/// A target without angle brackets, code style and link title, and whether it had any.
fn unwrap_target(written: &str) -> (&str, bool) {
    let text = written.trim();
    let bare = text.trim_matches(|c: char| matches!(c, '<' | '>' | '`' | '(' | ')'));
    let bare = match bare.find(" \"").or_else(|| bare.find(" '")) {
        Some(at) => bare.get(..at).unwrap_or(bare).trim_end(),
        None => bare,
    };
    (bare, bare != written)
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match (c, letters.peek()) {
            ('\\', Some('[' | ']' | '\\')) => {}
            _ => {
                out.push(c);
                continue;
            }
        }
        out.extend(letters.next());
    }
    Cow::Owned(out)
}
