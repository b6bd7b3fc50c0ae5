//! What tasks of a tree spend: charged to every ancestor, held against the limits of each of them (spec 9). The limits
//! themselves are in `run::limits`.

use crate::record::Usage;
use crate::spec::Slug;

use super::Operators;

/// What a task and all below it spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Model calls started.
    pub calls: u32,
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read that the provider had cached.
    pub cached: u64,
    /// US dollars, as far as known.
    pub cost_usd: f64,
    /// Tokens that calls in flight have reserved.
    pub reserved: u64,
    /// Calls in flight.
    pub in_flight: u32,
    /// US dollars of the dearest call that gave a reply.
    pub dearest_usd: f64,
}

impl Spent {
    /// Tokens of both kinds.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl super::TaskOp {
    /// Tokens that its next call reserves: what was estimated when it was opened, and the conversation since, whose last
    /// prompt had `prompt` tokens (0: none yet).
    pub(in crate::run) fn reserve(&self, prompt: u64) -> u64 {
        match self.opened.as_ref().map(|opened| &opened.plan) {
            Some(crate::record::Plan::Handler(plan)) => plan.reserve.saturating_add(prompt),
            _ => 0,
        }
    }
}

impl crate::run::Run {
    /// The time of a task of the tree passes while a leaf of it holds a slot.
    pub(in crate::run) fn set_tree_clocks(&mut self, now: u64) {
        let holding: Vec<usize> = self
            .tasks
            .all_holding()
            .filter(|task| task.holds_slot())
            .filter_map(|task| self.operators.leaves.get(&task.task.slug))
            .copied()
            .collect();
        let mut running = std::collections::BTreeSet::new();
        for leaf in holding {
            let mut at = Some(leaf);
            while let Some(number) = at.filter(|number| running.insert(*number)) {
                at = self.operators.list.get(number).and_then(|op| op.parent);
            }
        }
        for (number, op) in self.operators.list.iter_mut().enumerate() {
            op.clock.set(running.contains(&number), now);
        }
    }
}

impl Operators {
    /// The time in which no process ran does not count.
    pub(in crate::run) fn stop_clocks(&mut self, now: u64) {
        for op in &mut self.list {
            op.clock.set(false, now);
        }
    }

    fn each_above(&mut self, leaf: &Slug, mut change: impl FnMut(&mut Spent)) {
        let mut at = self.leaves.get(leaf).copied();
        while let Some(op) = at.and_then(|number| self.list.get_mut(number)) {
            change(&mut op.spent);
            at = op.parent;
        }
    }

    /// A call of a leaf was started, whose last prompt had so many tokens by estimate.
    pub(in crate::run) fn call_started(&mut self, leaf: &Slug, prompt: u64) {
        let Some(op) = self.leaves.get(leaf).and_then(|number| self.list.get_mut(*number)) else { return };
        op.held = op.reserve(prompt);
        let held = op.held;
        self.each_above(leaf, |spent| {
            spent.calls = spent.calls.saturating_add(1);
            spent.reserved = spent.reserved.saturating_add(held);
            spent.in_flight = spent.in_flight.saturating_add(1);
        });
    }

    /// A call that was never sent is none (spec 9).
    pub(in crate::run) fn call_taken_back(&mut self, leaf: &Slug) {
        self.each_above(leaf, |spent| spent.calls = spent.calls.saturating_sub(1));
    }

    /// It ended; `usage` if it gave a reply.
    pub(in crate::run) fn call_ended(&mut self, leaf: &Slug, usage: Option<&Usage>) {
        let Some(op) = self.leaves.get(leaf).and_then(|number| self.list.get_mut(*number)) else { return };
        let held = std::mem::take(&mut op.held);
        self.each_above(leaf, |spent| {
            spent.reserved = spent.reserved.saturating_sub(held);
            spent.in_flight = spent.in_flight.saturating_sub(1);
            if let Some(usage) = usage {
                spent.input = spent.input.saturating_add(usage.input);
                spent.output = spent.output.saturating_add(usage.output);
                spent.cached = spent.cached.saturating_add(usage.cached);
                let cost = usage.cost_usd.unwrap_or(0.0);
                spent.cost_usd += cost;
                spent.dearest_usd = spent.dearest_usd.max(cost);
            }
        });
    }

    /// Nothing is in flight any more: the process ended.
    pub(in crate::run) fn forget_flights(&mut self) {
        for op in &mut self.list {
            (op.spent.reserved, op.spent.in_flight, op.held) = (0, 0, 0);
        }
    }
}
