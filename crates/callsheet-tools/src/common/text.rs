//! Output with a size limit.

use std::fmt::Write as _;

/// Lines of output up to a number of bytes. Lines that no longer fit are counted.
pub(crate) struct Capped {
    text: String,
    limit: usize,
    full: bool,
}

impl Capped {
    /// Keeps at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, full: false }
    }

    /// Adds a line if it fits. After the first line that did not fit, it adds none.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if self.full || self.text.len().saturating_add(line.len()).saturating_add(1) > self.limit {
            self.full = true;
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// The lines that were kept.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines()
    }

    /// The text and a note on what is missing. The note does not count towards the limit.
    pub(crate) fn with_note(mut self, note: &str) -> String {
        if !note.is_empty() {
            let _infallible = writeln!(self.text, "[{note}]");
        }
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }
}

/// At most `bytes` of `text`, ending at a character boundary.
pub(crate) fn clip(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix("ch")) {
        (1, _) => format!("1 {noun}"),
        (_, Some(_)) => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}
