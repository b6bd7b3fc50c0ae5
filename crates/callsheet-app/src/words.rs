//! What happened, in one line: the same words in plain lines, on the screen and on the page.

use callsheet_core::record::CallKey;
use callsheet_core::view::{call_words, duration};
use callsheet_runtime::shown::Shown;

/// A line about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// The words. Issues of a reply follow on lines of their own.
    pub text: String,
    /// The state of a task says it as well, so only a log shows it.
    pub is_detail: bool,
}

/// Text on one line, at most `width` characters, cut with an ellipsis. What a reader cannot see in it has marks.
pub fn one_line(text: &str, width: usize) -> String {
    let line = Shown::text(text).as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

/// A call without an answer.
pub fn silent_line(key: &CallKey, seconds: u64) -> String {
    format!("{}: no answer for {seconds} s", call_words(key, ""))
}

/// A send that is tried again. `send`: which one failed; 0: none, the provider is busy.
pub fn retry_line(key: &CallKey, send: u32, wait_ms: u64, message: &str) -> String {
    let (call, wait) = (call_words(key, ""), duration(wait_ms));
    match send {
        0 => format!("{call}: waits {wait} because its provider is busy"),
        _ => format!("{call}: attempt {send} to send failed ({}), next attempt in {wait}", one_line(message, 160)),
    }
}
