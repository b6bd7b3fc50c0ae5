//! A log entry: one event with its number and time.

use serde::{Deserialize, Serialize};

use crate::record::OrderId;

use super::Event;

/// The record version that this build writes.
pub const VERSION: u32 = 1;

/// One recorded event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LogEntry {
    /// The record version.
    pub v: u32,
    /// The position in the log of its run, from 1.
    pub n: u64,
    /// Milliseconds since the Unix epoch, by the driver's clock. Never decreases within a run.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
    /// The orders of persons that the event carries out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<OrderId>,
}

impl LogEntry {
    /// An entry of this version that carries out no order.
    pub fn new(n: u64, at: u64, event: Event) -> Self {
        Self { v: VERSION, n, at, event, orders: Vec::new() }
    }
}

/// The published JSON Schema of a line of the log is what the code says.
#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::generate::SchemaSettings;
    use serde_json::{Value, json};

    use super::super::Event;
    use super::LogEntry;

    /// What programs read: the form that is written, with fields that may be left out.
    fn schema() -> Value {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let mut schema = json!(generator.into_root_schema_for::<LogEntry>());
        schema["title"] =
            json!("An event of a Callsheet run: a line of `show --events`, `--json` and the HTTP interface");
        schema
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test reads a file of the repository")]
    fn the_published_schema_is_what_the_code_says() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/event.schema.json");
        let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == text, "docs/schema/event.schema.json is old; UPDATE_EXPECT=1 writes it");
    }

    #[test]
    fn the_schema_names_every_event() {
        let text = schema().to_string();
        for name in Event::NAMES {
            assert!(text.contains(&format!("\"const\":\"{name}\"")), "{name} is missing");
        }
    }
}
