//! What the screen is told: log entries, streamed text, notices. Whoever tells it never waits for it.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender, channel};

use callsheet_core::record::{CallKey, LogEntry};
use callsheet_core::run::Run;
use callsheet_core::view::call_words;
use callsheet_runtime::ports::{LiveText, Observer, Signal};

/// One thing that the screen is told.
pub enum News {
    /// A run whose earlier entries are folded already.
    Run(Box<Run>),
    /// Something was recorded.
    Entry(Box<LogEntry>),
    /// Text of a call that is under way.
    Delta(CallKey, String),
    /// All that calls under way have streamed in another process.
    Streams(Vec<LiveText>),
    /// Something a person should know.
    Notice(String),
    /// Whether a process drives the run.
    Driven(bool),
    /// Nothing more comes: the screen is given back.
    Close,
}

/// Takes news from any thread.
pub struct Wire(Mutex<Sender<News>>);

impl Wire {
    /// A wire and its end.
    pub fn new() -> (Self, Receiver<News>) {
        let (sender, receiver) = channel();
        (Self(Mutex::new(sender)), receiver)
    }

    /// Tells something. False: the screen was closed, and nobody listens.
    pub fn tell(&self, news: News) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).send(news).is_ok()
    }
}

impl Observer for Wire {
    fn see(&self, signal: &Signal<'_>) {
        let _nobody_listens = self.tell(match signal {
            Signal::LogEntry { fact, .. } => News::Entry(Box::new((*fact).clone())),
            Signal::Delta { key, text } => News::Delta((*key).clone(), (*text).to_owned()),
            Signal::Silent { key, seconds } => {
                News::Notice(format!("{}: no answer for {seconds} s", call_words(key, "")))
            }
            Signal::Retry { key, send: 0, wait_ms, .. } => News::Notice(format!(
                "{}: waits {} s because its provider is busy",
                call_words(key, ""),
                wait_ms.div_ceil(1_000)
            )),
            Signal::Retry { key, send, wait_ms, message } => News::Notice(format!(
                "{}: attempt {send} to send failed ({message}), next attempt in {} s",
                call_words(key, ""),
                wait_ms.div_ceil(1_000)
            )),
            Signal::Notice(text) => News::Notice((*text).to_owned()),
        });
    }
}
