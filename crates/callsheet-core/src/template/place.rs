//! Converts byte offsets in a file to lines and columns, in time that does not depend on the length of lines.

use serde::{Deserialize, Serialize};

/// A range of bytes in the file. The end is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bytes {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Bytes {
    /// The range from `start` to before `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Whether `other` lies within the range.
    pub fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A 1-based line and column; columns count Unicode scalar values (spec 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// Where a small element was written. Trees are compared without their places, so every spot equals every other.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spot {
    /// Its bytes.
    pub span: Bytes,
    /// Its first character.
    pub place: Position,
}

impl PartialEq for Spot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Spot {}

impl Default for Position {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

/// The number of bytes between two marks, which limits how many bytes a lookup counts.
const STRIDE: usize = 256;

/// Finds the lines and columns of byte offsets. A byte order mark at the start has no column.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a str,
    marks: Vec<(usize, Position)>,
}

impl<'a> Lines<'a> {
    /// Goes through the text once.
    pub fn new(text: &'a str) -> Self {
        let first = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut marks = vec![(first, Position::default())];
        let mut place = Position::default();
        let mut last = first;
        for (at, character) in text.char_indices().skip_while(|(at, _)| *at < first) {
            if at >= last + STRIDE {
                marks.push((at, place));
                last = at;
            }
            advance(&mut place, character);
        }
        Self { text, marks }
    }

    /// A range of bytes with its place.
    pub fn spot(&self, span: Bytes) -> Spot {
        Spot { span, place: self.place(span.start) }
    }

    /// The place of a byte offset. An offset inside a character belongs to the character. An offset after the end
    /// belongs to the end.
    pub fn place(&self, offset: usize) -> Position {
        let index = self.marks.partition_point(|(at, _)| *at <= offset).saturating_sub(1);
        let Some((start, mut place)) = self.marks.get(index).copied() else { return Position::default() };
        for (at, character) in self.text.get(start..).unwrap_or_default().char_indices() {
            if start + at + character.len_utf8() > offset {
                break;
            }
            advance(&mut place, character);
        }
        place
    }
}

fn advance(place: &mut Position, character: char) {
    if character == '\n' {
        place.line = place.line.saturating_add(1);
        place.column = 1;
    } else {
        place.column = place.column.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Lines, Position};

    #[test]
    fn a_byte_order_mark_has_no_column() {
        let lines = Lines::new("\u{feff}ab\ncd");
        assert_eq!(lines.place(3), Position { line: 1, column: 1 });
        assert_eq!(lines.place(6), Position { line: 2, column: 1 });
        assert_eq!(lines.place(99), Position { line: 2, column: 3 });
    }

    proptest! {
        #[test]
        fn marks_change_nothing(text in "([a-zé日]{0,9}\n?){0,120}") {
            let lines = Lines::new(&text);
            for (at, _) in text.char_indices() {
                let before = &text[..at];
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                prop_assert_eq!(lines.place(at), Position { line: line as u32, column: column as u32 });
            }
        }
    }
}
