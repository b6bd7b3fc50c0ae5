//! Prepares text before it is read as Markdown (spec 4.2): bytes to text, size, line ends, odd characters.

use std::borrow::Cow;
use std::ops::Range;

/// The largest reply that is read, in bytes (spec 4.8 `reply-too-large`).
pub const MAX_REPLY_BYTES: usize = 2 * 1024 * 1024;

/// Converts any bytes to text. Invalid UTF-8 is replaced (spec 4.1).
pub fn from_bytes(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// One line of the text during preparation.
///
/// Nearly all lines are unchanged, so a line borrows from the text and needs no copy.
#[derive(Clone, Debug, Default)]
pub struct Line<'a> {
    /// Content without line end.
    pub text: Cow<'a, str>,
    /// Whether a repair removed it. It is then not part of any value.
    pub removed: bool,
}

impl<'a> Line<'a> {
    /// A line as it is now.
    pub fn of(text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: text.into(), removed: false }
    }

    /// The same line, independent of the text.
    pub fn into_owned<'b>(self) -> Line<'b> {
        Line { text: Cow::Owned(self.text.into_owned()), removed: self.removed }
    }

    /// A line that was taken away.
    pub fn gone() -> Self {
        Self { text: Cow::Borrowed(""), removed: true }
    }
}

/// Lines of a text up to the size of the largest reply, and whether it was cut.
pub fn lines(text: &str) -> (Vec<Line<'_>>, bool) {
    let mut end = text.len().min(MAX_REPLY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    let kept = kept.strip_prefix('\u{feff}').unwrap_or(kept);
    let mut lines = Vec::with_capacity(kept.bytes().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1);
    let mut rest = kept;
    // Line ends are `\n`, `\r\n` and `\r`. The last one ends the last line and starts none.
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let (line, tail) = rest.split_at(at);
        lines.push(Line::of(line));
        rest = tail.strip_prefix("\r\n").or_else(|| tail.get(1..)).unwrap_or_default();
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(Line::of(rest));
    }
    (lines, end < text.len())
}

/// Whether a text is empty or contains only blanks. For nearly every line, the first byte is enough.
pub fn is_blank(text: &str) -> bool {
    match text.bytes().find(|byte| !matches!(byte, b' ' | b'\t')) {
        None => true,
        Some(byte) if byte.is_ascii() && !byte.is_ascii_whitespace() && byte != 0x0b => false,
        Some(_) => text.trim().is_empty(),
    }
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

/// Replaces smart quotes, no-break and zero-width characters by plain ones (spec 4.4 `quotes-straightened`).
pub fn straighten(text: &str) -> Cow<'_, str> {
    let odd = |c: char| is_zero_width(c) || is_odd_space(c) || is_smart_quote(c);
    // All odd characters are non-ASCII, and nearly all lines are ASCII.
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

/// Where [`straighten`] changes a text, as bytes of the result. A removed character is an empty range.
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

/// A line with a plain beginning, if odd characters hide its beginning (blanks, then a heading, list or emphasis mark).
/// `None` if there is nothing to repair.
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

/// Columns of blanks at the beginning of a line. A tab goes to the next multiple of four.
pub fn indent(line: &str) -> usize {
    let mut columns = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4 - columns % 4,
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
