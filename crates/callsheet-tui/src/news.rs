//! What the screen is told: log entries, streamed text, notices. Whoever tells it never waits for it.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender, channel};

use callsheet_app::{retry_line, silent_line};
use callsheet_core::events::LogEntry;
use callsheet_runtime::ports::{LiveText, Observer, Signal};

/// One thing that the screen is told.
pub enum News {
    /// Something was recorded.
    Entry(Box<LogEntry>),
    /// All that calls under way have streamed.
    Streams(Vec<LiveText>),
    /// Something a person should know.
    Notice(String),
    /// Whether a process drives the run.
    Driven(bool),
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
            Signal::Delta { .. } => return,
            Signal::Silent { key, seconds } => News::Notice(silent_line(key, *seconds)),
            Signal::Retry { key, send, wait_ms, message } => News::Notice(retry_line(key, *send, *wait_ms, message)),
            Signal::Notice(text) => News::Notice((*text).to_owned()),
        });
    }
}
