//! A hunk that a person has rewritten. Its context and `-` lines are the lines of the file, in order. The person
//! decides which of them stay and what is between them.

use std::collections::{BTreeMap, VecDeque};

use crate::sheet::split_mark;

use super::text::without_final;

/// Why an edited hunk cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditFault {
    /// It has no line of a hunk.
    #[error("its text is empty")]
    Empty,
    /// A line does not begin with a mark.
    #[error("line {line} does not begin with a blank, `-` or `+`: {found:?}")]
    Mark {
        /// Line of the edited text, counted from 1.
        line: usize,
        /// The line.
        found: String,
    },
    /// A context or `-` line differs from the line of the file at that place.
    #[error("line {line} is {found:?}, but the file has {wanted:?} there")]
    Other {
        /// Line of the edited text, counted from 1.
        line: usize,
        /// The line, without its mark.
        found: String,
        /// The line of the file.
        wanted: String,
    },
    /// It has more context and `-` lines than the hunk.
    #[error("line {line} goes beyond the lines of the file that the hunk covers: {found:?}")]
    TooMany {
        /// Line of the edited text, counted from 1.
        line: usize,
        /// The line, without its mark.
        found: String,
    },
    /// It has fewer context and `-` lines than the hunk.
    #[error("a line of the file is missing at the end: {wanted:?}; mark it `-` to delete it")]
    TooFew {
        /// The first line of the file that is missing.
        wanted: String,
    },
}

/// The lines of a file that a hunk covers.
pub(super) struct Stretch<'a> {
    /// As they were.
    pub old: &'a [&'a str],
    /// Lines that the hunk adds.
    pub added: &'a [&'a str],
    /// Whether the lines reach the end of the file.
    pub ends_file: bool,
    /// Line ending of the file.
    pub ending: &'a str,
}

/// A line of the result.
struct Line<'a> {
    text: &'a str,
    /// Its bytes, if it was in the file or in the hunk.
    whole: Option<&'a str>,
    /// Whether the marker for a missing line ending follows.
    bare: bool,
}

impl<'a> Stretch<'a> {
    /// The text that replaces the lines. Lines of the file and of the hunk keep their bytes; new ones get the line
    /// ending of the file.
    pub fn apply(&self, edited: &'a str) -> Result<String, EditFault> {
        let mut lines: Vec<Line<'a>> = Vec::new();
        let mut old = self.old.iter();
        let mut added = by_text(self.added);
        let mut any = false;
        // The marker for a missing line ending belongs to the line above it, which may be a removed one.
        let mut deleted = false;
        let (_, edited) = split_mark(edited);
        let shown = edited.trim_end_matches(['\n', '\r']);
        let last = shown.split('\n').count();
        for (index, raw) in edited.split('\n').take(last).enumerate() {
            let line = index + 1;
            let raw = raw.strip_suffix('\r').unwrap_or(raw);
            let (mark, text) = match raw.chars().next() {
                Some('#') => continue,
                Some('@') if raw.starts_with("@@") => continue,
                Some('\\') => {
                    if let (false, Some(last)) = (deleted, lines.last_mut()) {
                        last.bare = true;
                    }
                    continue;
                }
                // Editors remove blanks at the ends of lines.
                None => (' ', ""),
                Some(mark @ (' ' | '-' | '+')) => (mark, raw.get(1..).unwrap_or("")),
                Some(_) => return Err(EditFault::Mark { line, found: raw.to_owned() }),
            };
            any = true;
            deleted = mark == '-';
            if mark == '+' {
                let whole = added.get_mut(text).and_then(VecDeque::pop_front);
                lines.push(Line { text, whole, bare: false });
                continue;
            }
            let Some(whole) = old.next() else {
                return Err(EditFault::TooMany { line, found: text.to_owned() });
            };
            if without_final(whole) != text {
                let wanted = without_final(whole).to_owned();
                return Err(EditFault::Other { line, found: text.to_owned(), wanted });
            }
            if mark == ' ' {
                lines.push(Line::of_file(whole));
            }
        }
        if !any {
            return Err(EditFault::Empty);
        }
        let mut blank = edited.get(shown.len()..).unwrap_or("").matches('\n').count().saturating_sub(1);
        for whole in old {
            // Empty context lines, from which an editor removed the marks.
            if blank == 0 || !without_final(whole).is_empty() {
                return Err(EditFault::TooFew { wanted: without_final(whole).to_owned() });
            }
            blank -= 1;
            lines.push(Line::of_file(whole));
        }
        Ok(self.joined(&lines))
    }

    fn joined(&self, lines: &[Line<'_>]) -> String {
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            let is_last = self.ends_file && index + 1 == lines.len();
            let open = is_last && line.bare;
            let known = line.whole.unwrap_or(line.text);
            text.push_str(if open && known.ends_with('\n') { without_final(known) } else { known });
            if !open && !known.ends_with('\n') {
                text.push_str(self.ending);
            }
        }
        text
    }
}

impl<'a> Line<'a> {
    fn of_file(whole: &'a str) -> Self {
        Self { text: without_final(whole), whole: Some(whole), bare: !whole.ends_with('\n') }
    }
}

/// Lines by their text without line ending, in order.
fn by_text<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, VecDeque<&'a str>> {
    let mut found: BTreeMap<&str, VecDeque<&str>> = BTreeMap::new();
    for line in lines {
        found.entry(without_final(line)).or_default().push_back(line);
    }
    found
}
