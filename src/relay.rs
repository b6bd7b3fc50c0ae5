//! The line between a process that drives a run and the one that shows it: the driver prints JSON lines, and reads what its
//! viewer was given. A viewer that ends leaves the run at work.

use std::io::BufRead;
use std::sync::{Mutex, OnceLock, PoisonError};

use callsheet_core::nouns::RunId;
use callsheet_core::record::CallKey;
use callsheet_runtime::ports::{Observer, Signal};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::term::to_viewer;

/// The first argument of a process that drives a run for a viewer.
pub const DRIVE: &str = "__drive";

/// What a driver tells its viewer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relayed {
    /// Text for stdout.
    Out(String),
    /// Text for stderr.
    Err(String),
    /// It drives this run, of which so many facts were recorded before.
    Run {
        /// Name.
        run: RunId,
        /// Facts.
        facts: u64,
    },
    /// Something a person should know.
    Notice(String),
    /// A send is tried again.
    Retry {
        /// The call.
        key: CallKey,
        /// Which send failed; 0: none, the provider is busy.
        send: u32,
        /// Milliseconds until the next.
        wait_ms: u64,
        /// Why.
        message: String,
    },
    /// A call without an answer.
    Silent {
        /// The call.
        key: CallKey,
        /// For so long.
        seconds: u64,
    },
}

impl Relayed {
    /// What an observer is told of it; `None`: it is text, or the beginning of a run.
    pub fn signal(&self) -> Option<Signal<'_>> {
        match self {
            Self::Out(_) | Self::Err(_) | Self::Run { .. } => None,
            Self::Notice(text) => Some(Signal::Notice(text)),
            Self::Retry { key, send, wait_ms, message } => {
                Some(Signal::Retry { key, send: *send, wait_ms: *wait_ms, message })
            }
            Self::Silent { key, seconds } => Some(Signal::Silent { key, seconds: *seconds }),
        }
    }
}

/// The end of a line in the driver.
struct Line {
    /// Cancelled when the viewer ends, or looks away.
    left: CancellationToken,
    /// What the person typed or piped as the request.
    request: Mutex<Option<String>>,
}

static LINE: OnceLock<Line> = OnceLock::new();

/// Makes this process a driver with a viewer at the other end of its stdin and stdout. It leaves the terminal to the viewer.
pub fn begin() {
    let left = CancellationToken::new();
    let mut first = String::new();
    let _ended = std::io::stdin().lock().read_line(&mut first);
    let request = Mutex::new(serde_json::from_str(&first).unwrap_or_default());
    // In a session of its own, no key of the terminal and no hangup reaches it. It leads none yet, so this cannot fail.
    let _own = rustix::process::setsid();
    if LINE.set(Line { left: left.clone(), request }).is_ok() {
        std::thread::spawn(move || {
            let mut rest = String::new();
            while matches!(std::io::stdin().lock().read_line(&mut rest), Ok(1..)) {
                rest.clear();
            }
            left.cancel();
        });
    }
}

/// Whether this process drives a run for a viewer.
pub fn is_on() -> bool {
    LINE.get().is_some()
}

/// Cancelled when the viewer of this process ends or looks away; `None`: it has no viewer.
pub fn viewer_left() -> Option<CancellationToken> {
    LINE.get().map(|line| line.left.clone())
}

/// The request that was given to the viewer. It is there once.
pub fn request() -> Option<String> {
    LINE.get().and_then(|line| line.request.lock().unwrap_or_else(PoisonError::into_inner).take())
}

/// Tells the viewer. One that has ended hears nothing.
pub fn tell(relayed: &Relayed) {
    if let Ok(line) = serde_json::to_string(relayed) {
        to_viewer(&line);
    }
}

/// Tells the viewer what is not recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToViewer;

impl Observer for ToViewer {
    fn see(&self, signal: &Signal<'_>) {
        tell(&match signal {
            Signal::Notice(text) => Relayed::Notice((*text).to_owned()),
            Signal::Retry { key, send, wait_ms, message } => {
                Relayed::Retry { key: (*key).clone(), send: *send, wait_ms: *wait_ms, message: (*message).to_owned() }
            }
            Signal::Silent { key, seconds } => Relayed::Silent { key: (*key).clone(), seconds: *seconds },
            Signal::LogEntry { .. } | Signal::Delta { .. } => return,
        });
    }
}
