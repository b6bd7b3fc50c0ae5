//! What a run cost: call records, totals, the least number of calls (spec 2.14), and the ideal time.

use std::collections::BTreeMap;

use crate::issue::{Issue, Repair};
use crate::nouns::BlobId;
use crate::record::{CallKey, CallNo, ReusedCall, StopReason, Usage};

/// One model call that gave a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// Identity.
    pub key: CallKey,
    /// What its execution run is called; empty if it has no name of its own.
    pub part: String,
    /// Number in the run, in the order replies were recorded.
    pub number: CallNo,
    /// Attempt of its phase.
    pub attempt: u32,
    /// `PROVIDER/MODEL` that answered.
    pub model: String,
    /// Cost.
    pub usage: Usage,
    /// Milliseconds it took.
    pub ms: u64,
    /// Sends it took.
    pub sends: u32,
    /// The earlier call whose reply it has, because it asks the same.
    pub reused: Option<ReusedCall>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// The prompt as sent.
    pub prompt: BlobId,
    /// The reply as recorded.
    pub reply: BlobId,
    /// Repairs of its reading.
    pub repairs: Vec<Repair>,
    /// Issues of its reading.
    pub issues: Vec<Issue>,
    /// Whether it was accepted; `None`: not read yet.
    pub accepted: Option<bool>,
    /// Why the changes it asked for could not be made, if they could not (spec 3.10).
    pub rejected: Vec<Issue>,
}

/// Sums over a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Model calls started.
    pub calls: u32,
    /// Of these, calls that gave no reply.
    pub failed_calls: u32,
    /// Tokens read by models.
    pub input: u64,
    /// Tokens written by models.
    pub output: u64,
    /// Tokens read that the provider had cached.
    pub cached: u64,
    /// US dollars, as far as known.
    pub cost_usd: f64,
    /// Calls with a reply whose cost nobody knows.
    pub unpriced_calls: u32,
    /// Tool calls finished.
    pub tools: u32,
    /// Repairs by code (spec 4.3).
    pub repairs: BTreeMap<String, u32>,
}

impl Totals {
    /// Input and output tokens.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
