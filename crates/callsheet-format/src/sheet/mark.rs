//! The byte order mark at the beginning of some files.

/// A byte order mark.
const MARK: char = '\u{feff}';

/// The mark with which a text begins, if any, and the rest of the text. The mark is not a part of the content: lines,
/// headings and symbols begin after it.
pub fn split_mark(text: &str) -> (&str, &str) {
    let at = if text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
    text.split_at_checked(at).unwrap_or(("", text))
}
