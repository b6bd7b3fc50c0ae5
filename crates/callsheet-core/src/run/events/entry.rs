//! An entry of the log: one event, numbered and dated.

use serde::{Deserialize, Serialize};

use crate::record::OrderId;

use super::Event;

/// The record version written by this build.
pub const VERSION: u32 = 1;

/// One recorded event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Record version.
    pub v: u32,
    /// Position in the log of its run, from 1.
    pub n: u64,
    /// Milliseconds since the Unix epoch, by the shell's clock; never decreasing inside a run.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
    /// The orders of persons that it carries out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<OrderId>,
}

impl LogEntry {
    /// An entry of this version that nobody ordered.
    pub fn new(n: u64, at: u64, event: Event) -> Self {
        Self { v: VERSION, n, at, event, orders: Vec::new() }
    }
}
