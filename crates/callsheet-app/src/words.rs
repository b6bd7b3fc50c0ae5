//! What happened, as one line. Plain mode, the screen and the page use the same words.

use callsheet_core::record::CallKey;
use callsheet_core::view::{call_words, duration};
use callsheet_runtime::shown::Shown;

/// A line about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// The words. Issues of a reply follow on separate lines.
    pub text: String,
    /// Whether the state of a task already shows it, so that only a log shows the line.
    pub is_detail: bool,
}

/// Text on one line with at most `width` characters, shortened with an ellipsis. Invisible characters are marked.
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

/// The line about a call that has not answered for some time.
pub fn silent_line(key: &CallKey, seconds: u64) -> String {
    format!("{}: no answer for {seconds} s", call_words(key, ""))
}

/// The line about a request that is sent again. `send` is the number of the failed send. 0 means that the provider is
/// busy and nothing was sent.
pub fn retry_line(key: &CallKey, send: u32, wait_ms: u64, message: &str) -> String {
    let (call, wait) = (call_words(key, ""), duration(wait_ms));
    match send {
        0 => format!("{call}: waits {wait} because its provider is busy"),
        _ => format!("{call}: attempt {send} to send failed ({}), next attempt in {wait}", one_line(message, 160)),
    }
}
