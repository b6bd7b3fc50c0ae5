//! One stream of a process. Its beginning and its end are kept; the middle is read and counted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::common::words::say;

/// What a stream delivered so far, shared with the task that reads it.
#[derive(Clone)]
pub(super) struct Stream(Arc<Mutex<HeadAndTail>>);

struct HeadAndTail {
    /// The current line. A carriage return starts it again, as a terminal would show it, so only the last frame of a
    /// progress bar remains.
    line: Vec<u8>,
    returned: bool,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_room: usize,
    tail_room: usize,
    dropped: u64,
}

impl Stream {
    /// Keeps at most `cap` bytes. Half of them are from the end, where programs say what went wrong.
    pub(super) fn new(cap: usize) -> Self {
        let tail_room = cap / 2;
        Self(Arc::new(Mutex::new(HeadAndTail {
            line: Vec::new(),
            returned: false,
            head: Vec::new(),
            tail: VecDeque::new(),
            head_room: cap - tail_room,
            tail_room,
            dropped: 0,
        })))
    }

    /// Reads until the other end is closed.
    pub(super) async fn drain(self, mut source: impl AsyncRead + Unpin) {
        let mut buffer = vec![0_u8; 16_384];
        while let Ok(count) = source.read(&mut buffer).await {
            if count == 0 {
                return;
            }
            self.kept().take(buffer.get(..count).unwrap_or_default());
        }
    }

    /// The stream as text. Terminal escapes and other control characters become visible signs: they stay data, and
    /// nothing that prints this text acts on them.
    pub(super) fn text(&self) -> String {
        let mut kept = self.kept();
        kept.end_line();
        let tail: Vec<u8> = kept.tail.iter().copied().collect();
        if kept.dropped == 0 {
            let whole = [kept.head.as_slice(), tail.as_slice()].concat();
            return visible(&String::from_utf8_lossy(&whole));
        }
        let head = visible(&String::from_utf8_lossy(&kept.head));
        let tail = visible(&String::from_utf8_lossy(&tail));
        format!("{head}\n{}\n{tail}", say("command-bytes", &[("count", &kept.dropped)]))
    }

    /// Whether some of it was not kept.
    pub(super) fn is_cut(&self) -> bool {
        self.kept().dropped > 0
    }

    fn kept(&self) -> MutexGuard<'_, HeadAndTail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeadAndTail {
    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            if std::mem::take(&mut self.returned) && piece != b"\n" {
                self.line.clear();
            }
            self.returned = piece.ends_with(b"\r");
            self.line.extend_from_slice(piece.strip_suffix(b"\r").unwrap_or(piece));
            if piece.ends_with(b"\n") || self.line.len() > self.head_room.saturating_add(self.tail_room) {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.keep(&line);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.head_room.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.tail_room);
        self.tail.drain(..excess);
        self.dropped = self.dropped.saturating_add(excess as u64);
    }
}

fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            // Unicode has a symbol for each of the old control characters.
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(character))),
            '\x7f' => shown.push('\u{2421}'),
            '\u{80}'..='\u{9f}' => shown.push(char::REPLACEMENT_CHARACTER),
            _ => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cap: usize, parts: &[&[u8]]) -> String {
        let stream = Stream::new(cap);
        for part in parts {
            stream.kept().take(part);
        }
        stream.text()
    }

    #[test]
    fn what_fits_is_kept_whole_however_it_arrives() {
        assert_eq!(of(6, &[b"ab", b"c", b"def"]), "abcdef");
        assert_eq!(of(0, &[]), "");
    }

    #[test]
    fn of_more_the_beginning_and_the_end_are_kept() {
        assert_eq!(of(6, &[b"abcdefgh", b"ij"]), "abc\n[4 bytes left out]\nhij");
        assert_eq!(of(1, &[b"abc"]), "a\n[2 bytes left out]\n");
    }

    #[test]
    fn of_progress_frames_the_last_stays() {
        let frames: String = (0..2_000).map(|frame| format!("\rdone {frame} of 2000")).collect();
        assert_eq!(of(4_000, &[b"begin\n", frames.as_bytes(), b"\nend\r\n"]), "begin\ndone 1999 of 2000\nend\n");
        assert_eq!(of(99, &[b"a\r", b"\nb\r", b"c"]), "a\nc");
    }

    #[test]
    fn terminal_escapes_stay_data() {
        assert_eq!(of(99, &[b"\x1b[31mred\x07\r\n\x7f\tok"]), "\u{241b}[31mred\u{2407}\n\u{2421}\tok");
        assert_eq!(visible("\u{9b}31m"), "\u{fffd}31m");
    }
}
