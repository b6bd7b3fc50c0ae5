//! The connection between a process that drives a run and the process that shows it. The driver prints JSON lines and
//! reads the input of the viewer. The run continues if the viewer ends.

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

/// A message from a driver to its viewer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relayed {
    /// Text for stdout.
    Out(String),
    /// Text for stderr.
    Err(String),
    /// The driver drives this run, which already has this number of entries.
    Run {
        /// The name of the run.
        run: RunId,
        /// The number of entries.
        facts: u64,
    },
    /// A notice for the person.
    Notice(String),
    /// A request will be sent again.
    Retry {
        /// The call.
        key: CallKey,
        /// The number of the failed send. 0 means that nothing was sent because the provider is busy.
        send: u32,
        /// Milliseconds until the next send.
        wait_ms: u64,
        /// The reason.
        message: String,
    },
    /// A call has not answered for some time.
    Silent {
        /// The call.
        key: CallKey,
        /// The time in seconds.
        seconds: u64,
    },
}

impl Relayed {
    /// The message as a signal for an observer. `None` if it is text or the start of a run.
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

/// The driver's end of the connection.
struct Line {
    /// Cancelled when the viewer ends or stops looking.
    left: CancellationToken,
    /// The request that the person typed or piped.
    request: Mutex<Option<String>>,
}

static LINE: OnceLock<Line> = OnceLock::new();

/// Makes this process a driver whose viewer is at the other end of stdin and stdout. The viewer keeps the terminal.
pub fn begin() {
    let left = CancellationToken::new();
    let mut first = String::new();
    let _ended = std::io::stdin().lock().read_line(&mut first);
    let request = Mutex::new(serde_json::from_str(&first).unwrap_or_default());
    // In its own session, the process gets no keys and no hangup from the terminal. It does not lead a session yet,
    // so this call cannot fail.
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

/// A token that is cancelled when the viewer ends or stops looking. `None` if this process has no viewer.
pub fn viewer_left() -> Option<CancellationToken> {
    LINE.get().map(|line| line.left.clone())
}

/// The request that was given to the viewer. Only the first call returns it.
pub fn request() -> Option<String> {
    LINE.get().and_then(|line| line.request.lock().unwrap_or_else(PoisonError::into_inner).take())
}

/// Sends a message to the viewer. The message is lost if the viewer has ended.
pub fn tell(relayed: &Relayed) {
    if let Ok(line) = serde_json::to_string(relayed) {
        to_viewer(&line);
    }
}

/// Sends what is not recorded to the viewer.
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
