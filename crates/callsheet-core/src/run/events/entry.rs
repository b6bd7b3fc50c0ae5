//! A log entry: one event with its number and time.

use serde::{Deserialize, Serialize};

use crate::record::OrderId;

use super::Event;

/// The record version that this build writes.
pub const VERSION: u32 = 1;

/// One recorded event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
