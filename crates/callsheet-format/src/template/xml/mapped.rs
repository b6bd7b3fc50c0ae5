//! Decoded text that remembers where each part of it is in the file.

use callsheet_core::template::Bytes;

/// The blanks of XML.
pub(in crate::template) const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Text with the places from which it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::template) struct Mapped {
    text: String,
    /// Pairs of an offset in the text and an offset in the file. Both grow.
    runs: Vec<(usize, usize)>,
    /// The end of the text in the file.
    end: usize,
}

impl Mapped {
    /// Text that was not written in the file and stands for `span`.
    pub(in crate::template) fn made(text: &str, span: Bytes) -> Self {
        Self { text: text.to_owned(), runs: vec![(0, span.start)], end: span.end }
    }

    /// Appends `text`, which is at `source` in the file and takes `length` bytes there.
    pub(in crate::template) fn push(&mut self, text: &str, source: usize, length: usize) {
        let straight = self.end == source
            && self
                .runs
                .last()
                .is_some_and(|(at, from)| from.checked_add(self.text.len().saturating_sub(*at)) == Some(source));
        if !straight && !text.is_empty() {
            self.runs.push((self.text.len(), source));
        }
        self.text.push_str(text);
        self.end = source.saturating_add(length);
    }

    /// Appends another text.
    pub(in crate::template) fn append(&mut self, other: &Self) {
        let base = self.text.len();
        self.runs.extend(other.runs.iter().map(|(at, source)| (base + at, *source)));
        self.text.push_str(&other.text);
        self.end = other.end;
    }

    /// The same text with another end in the file.
    pub(in crate::template) fn ending(mut self, end: usize) -> Self {
        self.end = end;
        self
    }

    /// The text with replacements, which must be in order and must not overlap.
    pub(in crate::template) fn replaced(&self, edits: &[(usize, usize, String)]) -> Self {
        let mut out = Self::default();
        let mut at = 0;
        for (start, end, text) in edits {
            out.append(&self.part(at, *start));
            out.push(text, self.source(*start), 0);
            at = *end;
        }
        out.append(&self.part(at, self.text.len()));
        out.ending(self.end)
    }

    /// The text.
    pub(in crate::template) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the text contains only blanks.
    pub(in crate::template) fn is_blank(&self) -> bool {
        self.text.trim_matches(BLANKS).is_empty()
    }

    /// The place in the file of the byte at `offset` of the text.
    pub(in crate::template) fn source(&self, offset: usize) -> usize {
        if offset >= self.text.len() {
            return self.end;
        }
        let index = self.runs.partition_point(|(at, _)| *at <= offset).saturating_sub(1);
        let Some((at, source)) = self.runs.get(index) else { return self.end };
        source.saturating_add(offset.saturating_sub(*at)).min(self.end.max(*source))
    }

    /// The place in the file of a range of the text.
    pub(in crate::template) fn span(&self, start: usize, end: usize) -> Bytes {
        let last = if end > start { self.source(end - 1).saturating_add(1) } else { self.source(start) };
        Bytes::new(self.source(start), if end >= self.text.len() { self.end } else { last })
    }

    /// The place in the file of the whole text.
    pub(in crate::template) fn whole(&self) -> Bytes {
        self.span(0, self.text.len())
    }

    /// A part of the text. Empty if the offsets are not on character boundaries.
    fn part(&self, start: usize, end: usize) -> Self {
        let mut out = Self::default();
        let Some(text) = self.text.get(start..end) else { return out };
        let first = self.runs.partition_point(|(at, _)| *at <= start).saturating_sub(1);
        for (at, source) in self.runs.iter().skip(first).take_while(|(at, _)| *at < end) {
            let skipped = start.saturating_sub(*at);
            out.runs.push((at.saturating_sub(start), source.saturating_add(skipped)));
        }
        text.clone_into(&mut out.text);
        out.end = self.span(start, end).end;
        out
    }

    /// The text without blanks at both ends.
    pub(in crate::template) fn trimmed(&self) -> Self {
        let start = self.text.len() - self.text.trim_start_matches(BLANKS).len();
        let end = self.text.trim_end_matches(BLANKS).len();
        if start >= end { Self { end: self.end, ..Self::default() } } else { self.part(start, end) }
    }

    /// The text without outer blank lines and without the indentation that all lines share (spec 2.1). The first
    /// line, which follows the start tag, loses its own indentation.
    pub(in crate::template) fn dedented(&self) -> Self {
        let mut lines: Vec<(usize, usize)> = Vec::new();
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            let kept = line.strip_suffix('\n').unwrap_or(line);
            let kept = if kept.trim_matches(BLANKS).is_empty() { "" } else { kept };
            lines.push((start, start + kept.len()));
            start += line.len();
        }
        let indent = self.common_indent(&lines);
        let first_full = lines.iter().position(|(start, end)| end > start);
        let last_full = lines.iter().rposition(|(start, end)| end > start);
        let (Some(first), Some(last)) = (first_full, last_full) else {
            return Self { end: self.end, ..Self::default() };
        };
        let mut out = Self::default();
        for (number, (start, end)) in lines.iter().copied().enumerate().take(last + 1).skip(first) {
            let line = self.text.get(start..end).unwrap_or_default();
            let own = line.len() - line.trim_start_matches([' ', '\t']).len();
            let from = if number == 0 { own } else { indent.min(own) };
            if number > first {
                out.push("\n", self.source(start.saturating_sub(1)), 1);
            }
            out.append(&self.part(start + from, end));
        }
        let end = out.text.trim_end_matches(BLANKS).len();
        if end < out.text.len() { out.part(0, end) } else { out }
    }

    /// The length in bytes of the blanks at the start of all lines with text, except the first line of the content.
    fn common_indent(&self, lines: &[(usize, usize)]) -> usize {
        let mut common: Option<&str> = None;
        for (start, end) in lines.iter().skip(1).filter(|(start, end)| end > start) {
            let line = self.text.get(*start..*end).unwrap_or_default();
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            common = Some(match common {
                None => indent,
                Some(known) => {
                    let shared = known.bytes().zip(indent.bytes()).take_while(|(a, b)| a == b).count();
                    known.get(..shared).unwrap_or_default()
                }
            });
        }
        common.map_or(0, str::len)
    }
}
