//! What a run cost: call records, totals, the least number of calls (spec 2.14), and the ideal time.

use std::collections::BTreeMap;

use crate::record::{CallKey, CallNo, Spending, StopReason, Usage};
use crate::reply::{Issue, Repair};
use crate::spec::BlobId;

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
    /// US dollars of the dearest call that gave a reply.
    pub dearest_usd: f64,
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

    /// The whole of a run, as what a call of another run cost.
    pub fn spending(&self) -> Spending {
        let (calls, failed_calls) = (self.calls, self.failed_calls);
        let cost_usd = (self.cost_usd > 0.0).then_some(self.cost_usd);
        let usage = Usage { input: self.input, output: self.output, cached: self.cached, cost_usd };
        Spending { calls, failed_calls, usage, waited_ms: 0 }
    }

    /// Adds what `calls` model calls used together.
    pub(super) fn add(&mut self, usage: &Usage, calls: u32) {
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.cached = self.cached.saturating_add(usage.cached);
        let cost = usage.cost_usd.unwrap_or(0.0);
        self.cost_usd += cost;
        self.dearest_usd = self.dearest_usd.max(cost / f64::from(calls.max(1)));
    }
}
