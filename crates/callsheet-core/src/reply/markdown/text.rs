//! Text before it is read as Markdown (spec 4.2): bytes to text, size, line ends, odd characters.

use std::borrow::Cow;
use std::ops::Range;

/// Largest reply that is read, bytes (spec 4.8 `reply-too-large`).
pub const MAX_REPLY_BYTES: usize = 2 * 1024 * 1024;

/// Text of any bytes; invalid UTF-8 is replaced (spec 4.1).
pub fn from_bytes(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// One line of the text while it is prepared.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Content without line end.
    pub text: String,
    /// Taken away by a repair: not part of any value.
    pub removed: bool,
}

/// Lines of a text that is at most the largest reply, and whether it was cut.
pub fn lines(text: &str) -> (Vec<Line>, bool) {
    let mut end = text.len().min(MAX_REPLY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    let kept = kept.strip_prefix('\u{feff}').unwrap_or(kept);
    let unified = kept.replace("\r\n", "\n").replace('\r', "\n");
    let unified = unified.strip_suffix('\n').unwrap_or(&unified);
    let lines = unified.split('\n').map(|line| Line { text: line.to_owned(), removed: false }).collect();
    (lines, end < text.len())
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

fn is_odd_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{2002}' | '\u{2003}' | '\u{2009}' | '\u{3000}')
}

fn is_smart_quote(c: char) -> bool {
    matches!(c, '‘' | '’' | '‚' | '“' | '”' | '„')
}

/// Smart quotes, no-break and zero-width characters as plain ones (spec 4.4 `quotes-straightened`).
pub fn straighten(text: &str) -> Cow<'_, str> {
    let odd = |c: char| is_zero_width(c) || is_odd_space(c) || is_smart_quote(c);
    // All odd characters lie beyond ASCII, and nearly all lines do not.
    if text.is_ascii() || !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let plain = text.chars().filter(|c| !is_zero_width(*c)).map(|c| match c {
        '‘' | '’' | '‚' => '\'',
        '“' | '”' | '„' => '"',
        c if is_odd_space(c) => ' ',
        c => c,
    });
    Cow::Owned(plain.collect())
}

/// Where [`straighten`] changes a text, as bytes of the straight text; a character that is dropped is an empty range.
pub fn odd_places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    for c in text.chars() {
        if is_zero_width(c) {
            places.push(at..at);
        } else if is_odd_space(c) || is_smart_quote(c) {
            places.push(at..at + 1);
            at += 1;
        } else {
            at += c.len_utf8();
        }
    }
    places
}

/// A line whose beginning (blanks, then a heading, list or emphasis mark) hides behind odd characters, with a plain
/// beginning; `None` if there is nothing to mend.
pub fn plain_start(line: &str) -> Option<String> {
    let odd = |c: char| is_zero_width(c) || is_odd_space(c);
    if line.is_ascii() {
        return None;
    }
    let end = line.find(|c: char| !(c.is_whitespace() || odd(c) || "#*-+_`>.)".contains(c) || c.is_ascii_digit()));
    let (start, rest) = line.split_at(end.unwrap_or(line.len()));
    if !start.contains(odd) || !start.contains(|c: char| "#*-+_0123456789".contains(c)) {
        return None;
    }
    Some(format!("{}{rest}", straighten(start)))
}

/// Columns of blanks at the beginning of a line, a tab to the next multiple of four.
pub fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

/// The line without its first `columns` columns of blanks, or with fewer if it has fewer.
pub fn dedent(line: &str, columns: usize) -> &str {
    let mut gone = 0;
    for (at, c) in line.char_indices() {
        if gone >= columns || !matches!(c, ' ' | '\t') {
            return line.get(at..).unwrap_or_default();
        }
        gone += if c == '\t' { 4 - gone % 4 } else { 1 };
    }
    ""
}
