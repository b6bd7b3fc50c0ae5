//! Splits the bytes of a stream into frames: the data of server-sent events, or lines of JSON. The first character
//! shows the kind of stream more reliably than the media type, which servers and proxies often set wrongly. Pure.

use serde::de::IgnoredAny;

/// How a stream is cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value per line.
    Lines,
    /// The whole body is one frame, for servers that do not stream.
    Whole,
}

/// A line, an event or a whole answer exceeded its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// The maximum number of bytes of one line of a stream, and of the data of one event. A token is a few bytes; a call
/// that contains a whole file is a few hundred thousand.
const MAX_LINE: usize = 1024 * 1024;

/// The maximum number of bytes of an answer in one piece.
pub(super) const MAX_WHOLE: usize = 16 * 1024 * 1024;

/// How many bytes of a page are enough to name it.
const PAGE: usize = 4 * 1024;

/// Splits bytes into frames, whatever chunks they arrive in.
#[derive(Debug)]
pub struct Frames {
    framing: Framing,
    /// The first character of the stream, if it has arrived.
    first: Option<u8>,
    line: Vec<u8>,
    /// Whether the previous line ended with a carriage return, to which a newline may belong.
    returned: bool,
    data: String,
}

impl Frames {
    /// An empty stream that should have this framing.
    pub fn new(framing: Framing) -> Self {
        Self { framing, first: None, line: Vec::new(), returned: false, data: String::new() }
    }

    /// Adds bytes and returns the frames that they complete. What is too long is neither kept nor read.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut bytes = bytes;
        if self.first.is_none() {
            let blank = |byte: &&u8| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte);
            bytes = bytes.get(bytes.iter().take_while(blank).count()..).unwrap_or_default();
            let Some(first) = bytes.first() else { return Ok(Vec::new()) };
            self.first = Some(*first);
            self.framing = told(self.framing, *first);
        }
        let mut frames = Vec::new();
        if self.framing == Framing::Whole {
            self.keep(bytes, MAX_WHOLE)?;
            return Ok(frames);
        }
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            if std::mem::take(&mut self.returned) && piece == b"\n" {
                continue;
            }
            self.keep(piece, MAX_LINE)?;
            if piece.ends_with(b"\n") || piece.ends_with(b"\r") {
                self.returned = piece.ends_with(b"\r");
                let line = std::mem::take(&mut self.line);
                frames.extend(self.end_line(&line));
            }
            if self.data.len() > MAX_LINE {
                return Err(TooLong);
            }
        }
        Ok(frames)
    }

    /// The beginning of a page that came instead of a reply. `ended` means that nothing follows.
    pub fn page(&self, ended: bool) -> Option<String> {
        let is_page = self.first == Some(b'<') && (ended || self.line.len() > PAGE);
        is_page.then(|| String::from_utf8_lossy(self.line.get(..PAGE).unwrap_or(&self.line)).into_owned())
    }

    fn keep(&mut self, piece: &[u8], most: usize) -> Result<(), TooLong> {
        if self.line.len().saturating_add(piece.len()) > most {
            return Err(TooLong);
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// The remaining frames at the end of the stream, because servers forget the last line break.
    pub fn end(mut self) -> Vec<String> {
        let line = std::mem::take(&mut self.line);
        if self.framing == Framing::Whole {
            let text = String::from_utf8_lossy(&line).into_owned();
            let several = !is_complete(&text) && text.lines().filter(|line| is_complete(line)).count() > 1;
            let pieces: Vec<&str> = if several { text.lines().collect() } else { vec![text.as_str()] };
            return pieces.into_iter().filter(|text| !text.trim().is_empty()).map(str::to_owned).collect();
        }
        let mut frames: Vec<String> = self.end_line(&line).into_iter().collect();
        if !self.data.is_empty() {
            frames.push(self.data);
        }
        frames
    }

    fn end_line(&mut self, line: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\n', '\r']);
        if self.framing == Framing::Lines { self.end_of_value(text) } else { self.end_of_field(text) }
    }

    /// Handles a value that spans several lines.
    fn end_of_value(&mut self, text: &str) -> Option<String> {
        if !self.data.is_empty() {
            self.data.push('\n');
        }
        self.data.push_str(text);
        let open = serde_json::from_str::<IgnoredAny>(&self.data).is_err_and(|error| error.is_eof());
        if open && !self.data.trim().is_empty() {
            return None;
        }
        Some(std::mem::take(&mut self.data)).filter(|text| !text.trim().is_empty())
    }

    fn end_of_field(&mut self, text: &str) -> Option<String> {
        if text.is_empty() {
            return Some(std::mem::take(&mut self.data)).filter(|data| !data.is_empty());
        }
        let (field, mut value) = text.split_once(':').unwrap_or((text, ""));
        // Older llama.cpp servers send a failure as a field `error` instead of `data`.
        if field != "data" && field != "error" {
            return None;
        }
        // Proxies wrap events and comments in their own events.
        while let Some(inner) = value.trim_start().strip_prefix("data:") {
            value = inner;
        }
        if value.trim_start().starts_with(':') {
            return None;
        }
        // Some servers omit the blank line between two events.
        let before = is_complete(&self.data).then(|| std::mem::take(&mut self.data));
        if !self.data.is_empty() {
            self.data.push('\n');
        }
        self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
        before
    }
}

/// The actual framing of a stream that should have the framing `wanted` and begins with this character.
fn told(wanted: Framing, first: u8) -> Framing {
    match (wanted, first) {
        (_, b'<') => Framing::Whole,
        (Framing::Events, b'{' | b'[') => Framing::Whole,
        (Framing::Lines, b'd' | b'e' | b'i' | b':') => Framing::Events,
        _ => wanted,
    }
}

/// Whether a text is a complete frame.
fn is_complete(text: &str) -> bool {
    let text = text.trim();
    text == "[DONE]" || text.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Frames, Framing, MAX_LINE, TooLong};

    fn frames_of(framing: Framing, chunks: &[&[u8]]) -> Vec<String> {
        let mut frames = Frames::new(framing);
        let mut out: Vec<String> = chunks.iter().flat_map(|chunk| frames.push(chunk).unwrap()).collect();
        out.extend(frames.end());
        out
    }

    #[test]
    fn events_keep_data_lines_and_drop_comments_and_names() {
        let text = ": hello\r\nevent: delta\r\ndata: {\"a\":1}\r\n\r\ndata: one\ndata:two\n\nid: 7\n\ndata: [DONE]";
        assert_eq!(frames_of(Framing::Events, &[text.as_bytes()]), ["{\"a\":1}", "one\ntwo", "[DONE]"]);
    }

    /// covers: 12.1
    #[test]
    fn frames_come_in_many_shapes() {
        let (events, lines) = (Framing::Events, Framing::Lines);
        for (framing, text, expected) in [
            (events, "data: : waiting\n\ndata: {\"a\":1}\n\n", &["{\"a\":1}"][..]),
            (events, "data: data: {\"a\":1}\n\n", &["{\"a\":1}"]),
            (events, "data: {\"a\":1}\ndata: {\"a\":2}\ndata: [DONE]\n", &["{\"a\":1}", "{\"a\":2}", "[DONE]"]),
            (events, "data: {\"a\":1}\r\rdata: [DONE]\r\r", &["{\"a\":1}", "[DONE]"]),
            (events, "data: one\r\ndata: two\r\n\r\n", &["one\ntwo"]),
            (events, "\n {\"a\":1}", &["{\"a\":1}"]),
            (events, "{\n \"a\":1\n}", &["{\n \"a\":1\n}"]),
            (events, "{\"a\":1}\n{\"a\":2}\n", &["{\"a\":1}", "{\"a\":2}"]),
            (lines, "{\n\"a\":1\n}\n{\"a\":2}\n", &["{\n\"a\":1\n}", "{\"a\":2}"]),
            (lines, "data: {\"a\":1}\n\ndata: [DONE]\n\n", &["{\"a\":1}", "[DONE]"]),
        ] {
            assert_eq!(frames_of(framing, &[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn a_page_is_known_by_its_first_sign() {
        let mut frames = Frames::new(Framing::Events);
        frames.push(b"\n<!doctype html>").unwrap();
        assert_eq!(frames.page(false), None);
        assert_eq!(frames.page(true).as_deref(), Some("<!doctype html>"));
    }

    #[test]
    fn an_error_field_is_a_frame() {
        assert_eq!(frames_of(Framing::Events, &[b"error: {\"code\":500}\n\n"]), ["{\"code\":500}"]);
    }

    /// covers: 12.1
    #[test]
    fn a_line_that_is_too_long_is_no_frame() {
        for framing in [Framing::Events, Framing::Lines] {
            let mut line = vec![b'x'; MAX_LINE];
            assert_eq!(Frames::new(framing).push(&line), Ok(Vec::new()));
            line.push(b'\n');
            assert_eq!(Frames::new(framing).push(&line), Err(TooLong));
        }
        let mut frames = Frames::new(Framing::Events);
        let lines = format!("data: {}\n", "x".repeat(MAX_LINE / 2));
        assert_eq!(frames.push(lines.as_bytes()), Ok(Vec::new()));
        assert_eq!(frames.push(lines.as_bytes()), Err(TooLong));
    }

    proptest! {
        #[test]
        fn chunk_borders_do_not_matter(lines in prop::collection::vec("data: [a-zäß€🎬]{1,9}\n\n|\\{\"k\":\"[a-z€]{0,9}\"\\}\n", 0..6), at in prop::collection::vec(0usize..200, 0..5)) {
            let text: Vec<u8> = lines.concat().into_bytes();
            for framing in [Framing::Events, Framing::Lines, Framing::Whole] {
                let mut borders: Vec<usize> = at.iter().map(|border| border % (text.len() + 1)).collect();
                borders.extend([0, text.len()]);
                borders.sort_unstable();
                let chunks: Vec<&[u8]> = borders.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
                prop_assert_eq!(frames_of(framing, &chunks), frames_of(framing, &[text.as_slice()]));
            }
        }
    }
}
