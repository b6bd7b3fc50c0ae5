//! `--json`: prints each log entry to stdout as one JSON object per line.

use callsheet_runtime::ports::{Observer, Signal};
use callsheet_runtime::shown::Shown;

use super::Words;

/// Prints entries, and notices, retries and silent calls as objects of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonLines;

impl Observer for JsonLines {
    fn see(&self, signal: &Signal<'_>) {
        let line = match signal {
            Signal::LogEntry { fact, .. } => serde_json::to_string(fact),
            Signal::Notice(text) => serde_json::to_string(&serde_json::json!({ "notice": text })),
            Signal::Retry { key, send, wait_ms, message } => serde_json::to_string(
                &serde_json::json!({ "retry": key, "send": send, "wait_ms": wait_ms, "message": message }),
            ),
            Signal::Silent { key, seconds } => {
                serde_json::to_string(&serde_json::json!({ "silent": key, "seconds": seconds }))
            }
            Signal::Delta { .. } => return,
        };
        if let Ok(line) = line {
            // A closed pipe ends the view, never the run.
            let _closed = Words::from(Shown::json(&format!("{line}\n"))).print();
        }
    }
}
