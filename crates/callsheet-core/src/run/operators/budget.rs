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
}

impl Spent {
    /// Tokens of both kinds.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
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

    fn reserve_of(&self, leaf: &Slug) -> u64 {
        match self.of_leaf(leaf).and_then(|op| op.opened.as_ref()).map(|opened| &opened.plan) {
            Some(crate::record::Plan::Handler(plan)) => plan.reserve,
            _ => 0,
        }
    }

    /// A call of a leaf was started.
    pub(in crate::run) fn call_started(&mut self, leaf: &Slug) {
        let reserve = self.reserve_of(leaf);
        self.each_above(leaf, |spent| {
            spent.calls = spent.calls.saturating_add(1);
            spent.reserved = spent.reserved.saturating_add(reserve);
            spent.in_flight = spent.in_flight.saturating_add(1);
        });
    }

    /// A call that was never sent is none (spec 9).
    pub(in crate::run) fn call_taken_back(&mut self, leaf: &Slug) {
        self.each_above(leaf, |spent| spent.calls = spent.calls.saturating_sub(1));
    }

    /// It ended; `usage` if it gave a reply.
    pub(in crate::run) fn call_ended(&mut self, leaf: &Slug, usage: Option<&Usage>) {
        let reserve = self.reserve_of(leaf);
        self.each_above(leaf, |spent| {
            spent.reserved = spent.reserved.saturating_sub(reserve);
            spent.in_flight = spent.in_flight.saturating_sub(1);
            if let Some(usage) = usage {
                spent.input = spent.input.saturating_add(usage.input);
                spent.output = spent.output.saturating_add(usage.output);
                spent.cached = spent.cached.saturating_add(usage.cached);
                spent.cost_usd += usage.cost_usd.unwrap_or(0.0);
            }
        });
    }

    /// Nothing is in flight any more: the process ended.
    pub(in crate::run) fn forget_flights(&mut self) {
        for op in &mut self.list {
            (op.spent.reserved, op.spent.in_flight) = (0, 0);
        }
    }
}
