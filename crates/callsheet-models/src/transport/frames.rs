//! Bytes of a stream into frames: the data of server-sent events, or lines of JSON. Pure.

/// How a stream is cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value a line.
    Lines,
    /// The whole body is one frame, for servers that do not stream.
    Whole,
}

/// A line, an event or an answer in one piece grew past its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Bytes that one line of a stream may have, and the data of one event. A token is a few bytes, and a call with a whole file
/// in it some hundred thousand.
const MAX_LINE: usize = 1024 * 1024;

/// Bytes of an answer in one piece.
pub(super) const MAX_WHOLE: usize = 16 * 1024 * 1024;

/// Cuts bytes into frames, whatever the chunks they come in.
#[derive(Debug)]
pub struct Frames {
    framing: Framing,
    line: Vec<u8>,
    data: String,
}

impl Frames {
    /// An empty stream.
    pub fn new(framing: Framing) -> Self {
        Self { framing, line: Vec::new(), data: String::new() }
    }

    /// Takes the next bytes and returns the frames they complete. What is too long is neither kept nor read.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut frames = Vec::new();
        if self.framing == Framing::Whole {
            self.keep(bytes, MAX_WHOLE)?;
            return Ok(frames);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.keep(piece, MAX_LINE)?;
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                frames.extend(self.end_line(&line));
            }
            if self.data.len() > MAX_LINE {
                return Err(TooLong);
            }
        }
        Ok(frames)
    }

    fn keep(&mut self, piece: &[u8], most: usize) -> Result<(), TooLong> {
        if self.line.len().saturating_add(piece.len()) > most {
            return Err(TooLong);
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// The frames left when the stream ended: servers forget the last line break.
    pub fn end(mut self) -> Vec<String> {
        let line = std::mem::take(&mut self.line);
        let mut frames = Vec::new();
        if self.framing == Framing::Whole {
            frames.extend(Some(String::from_utf8_lossy(&line).into_owned()).filter(|text| !text.trim().is_empty()));
            return frames;
        }
        frames.extend(self.end_line(&line));
        if !self.data.is_empty() {
            frames.push(self.data);
        }
        frames
    }

    fn end_line(&mut self, line: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\n', '\r']);
        if self.framing == Framing::Lines {
            return Some(text.to_owned()).filter(|text| !text.trim().is_empty());
        }
        if text.is_empty() {
            return Some(std::mem::take(&mut self.data)).filter(|data| !data.is_empty());
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        // Older llama.cpp servers send a failure as a field `error` instead of `data`.
        if field == "data" || field == "error" {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
        }
        None
    }
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
