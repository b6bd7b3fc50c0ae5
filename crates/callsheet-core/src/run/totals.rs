//! What a run cost: call records, totals, the least number of calls (spec 2.14), and the ideal time.

use std::collections::BTreeMap;

use crate::issue::{Issue, Repair};
use crate::record::{CallKey, CallNo, StopReason, Usage};
use crate::spec::{BlobId, Slug, ToolEffect};

use super::{ExecRun, Run};

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

impl Run {
    /// Calls, tokens, cost, repairs by code.
    pub fn totals(&self) -> Totals {
        let spent = self.ledger.of_run();
        Totals {
            calls: spent.calls,
            failed_calls: spent.failed_calls,
            input: spent.input,
            output: spent.output,
            cached: spent.cached,
            cost_usd: spent.cost_usd,
            tools: self.finished_tools,
            repairs: self.repairs.clone(),
        }
    }

    /// Earliest end of the refinement with unlimited slots: after the list and after the outputs it reads.
    pub(super) fn note_ideal_refined(&mut self, slug: &Slug) {
        let Some(task) = self.tasks.get(slug) else { return };
        let producers = task.producers().filter_map(|producer| self.task(producer));
        let begin = producers.map(|producer| producer.ideal_end_ms).fold(self.ideal_list_ms, u64::max);
        let end = begin.saturating_add(task.refine.busy_ms);
        if let Some(task) = self.tasks.get_mut(slug) {
            task.ideal_refined_ms = end;
        }
    }

    /// Earliest end of the task with unlimited slots: after its refinement and all earlier steps.
    pub(super) fn note_ideal_end(&mut self, slug: &Slug) {
        let Some(task) = self.tasks.get(slug) else { return };
        let barrier = self.tasks.of_earlier_steps(slug).map(|task| task.ideal_end_ms).max();
        let begin = task.ideal_refined_ms.max(barrier.unwrap_or(0)).max(self.ideal_list_ms);
        let runs = if task.executing { task.runs.iter().map(|run| self.busy_of(run)).max().unwrap_or(0) } else { 0 };
        let merge = task.merge.as_ref().map_or(0, |merge| merge.attempts.busy_ms);
        let end = begin.saturating_add(runs).saturating_add(merge);
        if let Some(task) = self.tasks.get_mut(slug) {
            task.ideal_end_ms = end;
        }
    }

    /// Earliest end of all tasks listed now.
    pub(super) fn ideal_pass_ms(&self) -> u64 {
        self.tasks.listed().map(|task| task.ideal_end_ms).fold(self.ideal_list_ms, u64::max)
    }

    /// Model calls one after another, and per turn the longest reading call and all others.
    fn busy_of(&self, run: &ExecRun) -> u64 {
        let batches: Vec<Vec<&str>> = if run.is_loop {
            run.turns.iter().map(|turn| turn.calls.iter().map(String::as_str).collect()).collect()
        } else {
            vec![run.calls.iter().map(|call| call.call.id.as_str()).collect()]
        };
        let mut busy = run.attempts.busy_ms;
        for batch in batches {
            let mut longest_read = 0;
            for call in batch.iter().filter_map(|id| run.call(id)) {
                if self.policy(&call.call.name).effect == ToolEffect::Read {
                    longest_read = call.ms.max(longest_read);
                } else {
                    busy = busy.saturating_add(call.ms);
                }
            }
            busy = busy.saturating_add(longest_read);
        }
        busy
    }
}
