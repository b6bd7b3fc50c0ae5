//! What a run cost, and what was saved.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::run::{Reuse, Run, State, Times};

use super::times::time_words;
use crate::units::{counted, dollars, duration};

/// Numbers of a run. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Tasks by state.
    pub tasks: BTreeMap<&'static str, u32>,
    /// Model calls made.
    pub calls: u32,
    /// The smallest possible number of calls for what was done (spec 2.14).
    pub minimum_calls: u32,
    /// Calls that gave no reply.
    pub failed_calls: u32,
    /// Replies that were rejected and requested again.
    pub refused: u32,
    /// Saved calls: accepted replies that would have been rejected without repairs.
    pub saved_calls: u32,
    /// Calls that were not sent, because an earlier one asked the same.
    pub reused_calls: u32,
    /// Repairs made.
    pub repairs: u32,
    /// Tool calls made.
    pub tools: u32,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Input tokens that the provider had cached.
    pub cached_tokens: u64,
    /// US dollars. `None` if the cost of some calls is unknown.
    pub cost_usd: Option<f64>,
    /// US dollars, as far as known.
    pub known_cost_usd: f64,
    /// Number of calls with an unknown cost.
    pub unpriced_calls: u32,
    /// How the time was spent.
    pub time: Times,
    /// What the last resume did not have to repeat.
    pub reused: Option<Reuse>,
    /// Length of the longest chain of dependent calls: the time with unlimited slots.
    pub ideal_ms: u64,
}

impl Summary {
    /// The current numbers of a run.
    pub fn of(run: &Run) -> Self {
        let totals = run.totals();
        let mut tasks = BTreeMap::new();
        for state in run.tasks().map(|task| run.standing(task)).filter(|state| *state != State::Dropped) {
            *tasks.entry(state.as_str()).or_insert(0) += 1;
        }
        let count = |found: usize| u32::try_from(found).unwrap_or(u32::MAX);
        Self {
            tasks,
            calls: totals.calls,
            minimum_calls: run.minimum_calls(),
            failed_calls: totals.failed_calls,
            refused: count(asked_again(run)),
            saved_calls: count(
                run.calls().iter().filter(|call| call.accepted == Some(true) && !call.repairs.is_empty()).count(),
            ),
            reused_calls: count(run.calls().iter().filter(|call| call.reused.is_some()).count()),
            repairs: totals.repairs.values().sum(),
            tools: totals.tools,
            input_tokens: totals.input,
            output_tokens: totals.output,
            cached_tokens: totals.cached,
            cost_usd: Some(totals.cost_usd).filter(|_| totals.unpriced_calls == 0),
            known_cost_usd: totals.cost_usd,
            unpriced_calls: totals.unpriced_calls,
            time: run.times(),
            reused: run.reused(),
            ideal_ms: run.ideal_ms(),
        }
    }

    /// Like `of`, but for a run that no process drives.
    pub fn at_rest(run: &Run) -> Self {
        let mut tasks = BTreeMap::new();
        for state in run.tasks().map(|task| run.standing(task)).filter(|state| *state != State::Dropped) {
            *tasks.entry(state.at_rest().as_str()).or_insert(0) += 1;
        }
        Self { tasks, ..Self::of(run) }
    }

    /// Its cost in words. `None` if it cost nothing.
    pub fn cost_words(&self) -> Option<String> {
        let unknown = || counted(usize::try_from(self.unpriced_calls).unwrap_or(usize::MAX), "call");
        match (self.known_cost_usd > 0.0, self.unpriced_calls) {
            (false, 0) => None,
            (true, 0) => Some(dollars(self.known_cost_usd)),
            (true, _) => Some(format!("{}, and {} at an unknown price", dollars(self.known_cost_usd), unknown())),
            (false, _) => Some(format!("unknown: no price is set for {}", unknown())),
        }
    }
}

/// Rejected replies after which the same was requested once more.
fn asked_again(run: &Run) -> usize {
    let mut later = BTreeSet::new();
    let again = run.calls().iter().rev().filter(|call| {
        let known = !later.insert((call.key.phase, &call.key.task, &call.key.run));
        known && call.accepted == Some(false)
    });
    again.count()
}

fn wasted_words(calls: u32) -> String {
    if calls == 0 { "none wasted".to_owned() } else { format!("{calls} wasted") }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks: Vec<String> = self.tasks.iter().map(|(state, count)| format!("{count} {state}")).collect();
        writeln!(f, "- tasks: {}", if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") })?;
        write!(f, "- model calls: {}, {}", self.calls, wasted_words(self.calls.saturating_sub(self.minimum_calls)))?;
        if self.refused > 0 {
            write!(f, ", {} retried", self.refused)?;
        }
        if self.reused_calls > 0 {
            write!(f, ", {} more answered by earlier replies", self.reused_calls)?;
        }
        if self.failed_calls > 0 {
            write!(f, ", {} without a reply", self.failed_calls)?;
        }
        writeln!(f, "; tool calls: {}", self.tools)?;
        if self.repairs > 0 {
            let saved = usize::try_from(self.saved_calls).unwrap_or(usize::MAX);
            writeln!(f, "- repairs: {}, saving {}", self.repairs, counted(saved, "call"))?;
        }
        write!(f, "- tokens: {} input, {} output", self.input_tokens, self.output_tokens)?;
        if self.cached_tokens > 0 {
            write!(f, ", {} cached", self.cached_tokens)?;
        }
        writeln!(f)?;
        if let Some(words) = self.cost_words() {
            writeln!(f, "- cost: {words}")?;
        }
        writeln!(f, "- time: {}; critical path {}", time_words(&self.time), duration(self.ideal_ms))
    }
}
