//! Plain lines on stderr, for logs and for terminals that cannot redraw. One line for each event, and one writer for
//! each line.

use std::sync::{Mutex, PoisonError};

use callsheet_app::{RunLines, RunView, retry_line, silent_line};
use callsheet_core::events::LogEntry;
use callsheet_runtime::ports::{Observer, Signal};

use super::{Words, one_line};

/// Lines for people without a live view.
#[derive(Default)]
pub struct PlainLines {
    told: Mutex<RunLines>,
}

impl PlainLines {
    /// Starts with a run whose earlier entries are not printed again.
    pub fn begin_with(&self, run: &RunView) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).begin_with(run);
    }

    /// Prints an entry. `run` is the run after it.
    pub fn entry(&self, entry: &LogEntry, run: &RunView) {
        tell_lines(&self.told.lock().unwrap_or_else(PoisonError::into_inner).of(entry, run));
    }
}

impl Observer for PlainLines {
    fn see(&self, signal: &Signal<'_>) {
        tell_lines(&match signal {
            Signal::LogEntry { fact, run } => {
                self.told.lock().unwrap_or_else(PoisonError::into_inner).of_driven(fact, run)
            }
            Signal::Notice(text) => vec![one_line(text, 400)],
            Signal::Retry { key, send, wait_ms, message } => vec![retry_line(key, *send, *wait_ms, message)],
            Signal::Silent { key, seconds } => vec![silent_line(key, *seconds)],
            Signal::Delta { .. } => return,
        });
    }
}

fn tell_lines(lines: &[String]) {
    if !lines.is_empty() {
        Words::of(&(lines.join("\n") + "\n")).tell();
    }
}

/// Prints only notices, for commands that drive nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notices;

impl Observer for Notices {
    fn see(&self, signal: &Signal<'_>) {
        if let Signal::Notice(text) = signal {
            Words::of(&(one_line(text, 400) + "\n")).tell();
        }
    }
}
