//! `--json`: each recorded fact as one JSON object a line on stdout.

use std::io::Write;
use std::sync::Mutex;

use callsheet_runtime::ports::{Observer, Signal};

/// Prints facts; notices, retries and silent calls as objects of their own.
pub struct JsonLines {
    out: Mutex<std::io::Stdout>,
}

impl Default for JsonLines {
    fn default() -> Self {
        Self { out: Mutex::new(std::io::stdout()) }
    }
}

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
        if let (Ok(line), Ok(mut out)) = (line, self.out.lock()) {
            // A closed pipe ends the view, never the run.
            let line = callsheet_core::visible::visible_json(&line);
            let _closed = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }
}
