//! Viewers. They see facts after they are recorded, and text and notices that are never recorded.

use callsheet_core::events::LogEntry;
use callsheet_core::record::CallKey;
use callsheet_core::run::Run;
use serde::{Deserialize, Serialize};

/// Something that a viewer may show.
#[derive(Clone, Debug)]
pub enum Signal<'a> {
    /// A fact, recorded and applied.
    LogEntry {
        /// The fact.
        fact: &'a LogEntry,
        /// The run after this fact and all facts recorded with it, so that a viewer need not fold them again.
        run: &'a Run,
    },
    /// Streamed text of a call.
    Delta {
        /// Which call.
        key: &'a CallKey,
        /// New text.
        text: &'a str,
    },
    /// A call has not answered for a while, or has stopped in the middle. Reported once per send.
    Silent {
        /// Which call.
        key: &'a CallKey,
        /// How many seconds it has been silent.
        seconds: u64,
    },
    /// A send failed and will be repeated, or waits for the end of its provider's pause.
    Retry {
        /// Which call.
        key: &'a CallKey,
        /// The number of the failed send, from 1. 0 means that the provider asked other calls to wait.
        send: u32,
        /// Milliseconds until the next send.
        wait_ms: u64,
        /// What happened.
        message: &'a str,
    },
    /// Something that a person should know, in one line.
    Notice(&'a str),
}

/// What a running call has streamed so far, as another process sees it. It is not a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveText {
    /// Which call.
    pub key: CallKey,
    /// The end of it.
    pub text: String,
    /// Characters so far.
    pub count: u64,
}

/// How many bytes of a call's text are passed on: the last ones.
const KEPT: usize = 4 * 1_024;

impl LiveText {
    /// Nothing yet.
    pub fn new(key: &CallKey) -> Self {
        Self { key: key.clone(), text: String::new(), count: 0 }
    }

    /// Adds new text. Of a long text only the end is kept.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.count += text.chars().count() as u64;
        if self.text.len() > 4 * KEPT {
            keep_last(&mut self.text);
        }
    }

    /// What is passed on.
    pub fn last(&self) -> Self {
        let mut last = self.clone();
        keep_last(&mut last.text);
        last
    }
}

fn keep_last(text: &mut String) {
    let first = text.len().saturating_sub(KEPT);
    let from = (first..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.drain(..from);
}

/// Receives signals. Called from several threads; must not block for long.
pub trait Observer: Send + Sync {
    /// One signal.
    fn see(&self, signal: &Signal<'_>);
}
