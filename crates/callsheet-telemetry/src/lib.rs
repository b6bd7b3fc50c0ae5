//! Traces and metrics of runs for OpenTelemetry, over OTLP with HTTP. They are derived from the recorded events, so core
//! knows nothing about them, and a failed export never concerns a run.
//!
//! Prompts, replies, arguments and outputs are never sent. Spans contain names of runs, tasks, skills, models and tools,
//! and fixed words for what went wrong.

mod export;
mod names;
mod trace;

use std::sync::{Arc, Mutex, PoisonError};

use callsheet_runtime::ports::{Observer, Signal};

use export::Exporter;
use trace::Trace;

/// The variables of which one must be set. Without an address nothing is sent.
const ADDRESSES: [&str; 3] =
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"];

/// Variables that may contain secrets.
pub const SECRETS: [&str; 3] =
    ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"];

/// An observer that passes everything on and sends what happens in a run to an OTLP receiver.
pub struct Telemetry {
    observer: Arc<dyn Observer>,
    trace: Mutex<Trace>,
    exporter: Exporter,
}

impl Telemetry {
    /// The observer, with telemetry if the environment asks for it. `salt` distinguishes runs of the same name, for
    /// example the path of their project.
    pub fn around(
        observer: Arc<dyn Observer>,
        salt: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Arc<dyn Observer> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let is_off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        if is_off || !ADDRESSES.iter().any(|name| set(name).is_some()) {
            return observer;
        }
        match Exporter::new(&observer, &set) {
            Ok(exporter) => Arc::new(Self { observer, trace: Mutex::new(Trace::new(salt)), exporter }),
            Err(why) => {
                observer.see(&Signal::Notice(&format!("note: no telemetry is sent: {why}")));
                observer
            }
        }
    }
}

impl Observer for Telemetry {
    fn see(&self, signal: &Signal<'_>) {
        if let Signal::LogEntry { fact, run } = signal {
            let told = self.trace.lock().unwrap_or_else(PoisonError::into_inner).take(fact, run);
            self.exporter.send(told);
        }
        self.observer.see(signal);
    }
}
