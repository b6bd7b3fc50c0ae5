//! Viewers: they see facts after they are recorded, and deltas and notices that are never recorded.

use callsheet_core::events::LogEntry;
use callsheet_core::record::CallKey;
use callsheet_core::run::Run;
use serde::{Deserialize, Serialize};

/// Something a viewer may show.
#[derive(Clone, Debug)]
pub enum Signal<'a> {
    /// A fact, recorded and applied.
    LogEntry {
        /// The fact.
        fact: &'a LogEntry,
        /// The run after it, and after all facts recorded with it, so that a viewer need not fold them again.
        run: &'a Run,
    },
    /// Streamed text of a call.
    Delta {
        /// Which call.
        key: &'a CallKey,
        /// New text.
        text: &'a str,
    },
    /// A send has had no answer for a while, or none since the last words of it. Said once a send.
    Silent {
        /// Which call.
        key: &'a CallKey,
        /// How long it has been silent.
        seconds: u64,
    },
    /// A send failed and is tried again, or waits for the end of a pause of its provider.
    Retry {
        /// Which call.
        key: &'a CallKey,
        /// The send that failed, from 1; 0: the provider asked other calls to wait.
        send: u32,
        /// Milliseconds until the next.
        wait_ms: u64,
        /// What happened.
        message: &'a str,
    },
    /// Something a person should know, in one line.
    Notice(&'a str),
}

/// What a call under way has streamed, as another process sees it. It is no fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveText {
    /// Which call.
    pub key: CallKey,
    /// The end of it.
    pub text: String,
    /// Characters so far.
    pub count: u64,
}

/// Sees signals. Called from several threads; must not block for long.
pub trait Observer: Send + Sync {
    /// One signal.
    fn see(&self, signal: &Signal<'_>);
}
