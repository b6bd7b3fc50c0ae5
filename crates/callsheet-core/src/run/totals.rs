//! The cost of a run: call records, totals, the minimum number of calls (spec 2.14), and the ideal time.

use std::collections::BTreeMap;

use crate::issue::{Issue, Repair};
use crate::nouns::BlobId;
use crate::record::{CallKey, CallNo, ReusedCall, StopReason, Usage};

/// One model call that gave a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// Identity.
    pub key: CallKey,
    /// The title of its execution. Empty if the execution has no title.
    pub part: String,
    /// The number of the reply in the run, in recording order.
    pub number: CallNo,
    /// The attempt of its phase.
    pub attempt: u32,
    /// The `PROVIDER/MODEL` that answered.
    pub model: String,
    /// The tokens and the cost.
    pub usage: Usage,
    /// Milliseconds it took.
    pub ms: u64,
    /// How often the request was sent.
    pub sends: u32,
    /// The earlier call whose reply it reuses, because it asks the same.
    pub reused: Option<ReusedCall>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// The prompt as sent.
    pub prompt: BlobId,
    /// The reply as recorded.
    pub reply: BlobId,
    /// The repairs that its reader made.
    pub repairs: Vec<Repair>,
    /// The issues that its reader found.
    pub issues: Vec<Issue>,
    /// Whether the reply was accepted. `None` if it was not read yet.
    pub accepted: Option<bool>,
    /// Why the requested changes could not be applied (spec 3.10). Empty if they could.
    pub rejected: Vec<Issue>,
}

/// Totals of a run.
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
    /// Calls with a reply whose cost is unknown.
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
