//! The byte order mark that some files begin with.

/// A byte order mark.
const MARK: char = '\u{feff}';

/// The mark a text begins with, if it does, and the text behind it. The mark is no part of what a file says: lines, headings
/// and symbols begin behind it.
pub fn split_mark(text: &str) -> (&str, &str) {
    let at = if text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
    text.split_at_checked(at).unwrap_or(("", text))
}
