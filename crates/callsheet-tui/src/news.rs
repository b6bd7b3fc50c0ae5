//! The channel to the screen: log entries, streamed text and notices. Senders never wait for the screen.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender, channel};

use callsheet_app::{retry_line, silent_line};
use callsheet_core::events::LogEntry;
use callsheet_runtime::ports::{LiveText, Observer, Signal};

/// One message to the screen.
pub enum News {
    /// A recorded entry.
    Entry(Box<LogEntry>),
    /// All streamed text of calls in progress.
    Streams(Vec<LiveText>),
    /// A notice for the person.
    Notice(String),
    /// Whether a process drives the run.
    Driven(bool),
}

/// Accepts messages from any thread.
pub struct Wire(Mutex<Sender<News>>);

impl Wire {
    /// A wire and its receiver.
    pub fn new() -> (Self, Receiver<News>) {
        let (sender, receiver) = channel();
        (Self(Mutex::new(sender)), receiver)
    }

    /// Sends a message. Returns false if the screen was closed.
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
