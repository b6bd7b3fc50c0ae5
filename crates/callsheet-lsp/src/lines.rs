//! Converts positions in a text between bytes and the protocol's counts.

use ls_types::{Position, Range};

/// How columns are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
}

/// The lines of a text by their start.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str, encoding: Encoding) -> Self {
        let behind = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(behind).collect(), encoding }
    }

    /// The line, counted from 0, without its line end. Empty after the last line.
    pub(crate) fn get(&self, line: usize) -> &'a str {
        let start = self.starts.get(line).copied().unwrap_or(self.text.len());
        let end = self.starts.get(line.saturating_add(1)).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The byte of the text at a byte of a line.
    pub(crate) fn offset(&self, line: usize, byte: usize) -> usize {
        self.starts.get(line).map_or(self.text.len(), |start| start.saturating_add(byte))
    }

    /// The line of a position and the byte in it, at most the end of the line.
    pub(crate) fn place(&self, position: Position) -> (usize, usize) {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let text = self.get(line);
        let mut left = usize::try_from(position.character).unwrap_or(usize::MAX);
        for (at, c) in text.char_indices() {
            let width = self.width(c);
            if left < width {
                return (line, at);
            }
            left -= width;
        }
        (line, text.len())
    }

    /// The position of a byte of a line.
    pub(crate) fn position(&self, line: usize, byte: usize) -> Position {
        let text = self.get(line);
        let columns = text.char_indices().take_while(|(at, _)| *at < byte).map(|(_, c)| self.width(c)).sum::<usize>();
        Position { line: number(line), character: number(columns) }
    }

    /// The range of some bytes in one line.
    pub(crate) fn range(&self, line: usize, bytes: std::ops::Range<usize>) -> Range {
        Range { start: self.position(line, bytes.start), end: self.position(line, bytes.end) }
    }

    /// The position of a line and a column that are counted from 1. The column counts characters.
    pub(crate) fn counted(&self, (line, column): (u32, u32)) -> Position {
        let last = self.count().saturating_sub(1);
        let line = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1).min(last);
        let text = self.get(line);
        let before = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
        let byte = text.char_indices().nth(before).map_or(text.len(), |(at, _)| at);
        self.position(line, byte)
    }

    fn width(&self, c: char) -> usize {
        match self.encoding {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
