//! The time of tree tasks and the reservations of their calls. `run::ledger` contains what they spend, `run::limits`
//! their limits.

use super::{NodeInstance, Operators};

impl NodeInstance {
    /// The tokens that its next call reserves: the estimate from its opening, and the conversation since. `prompt` is
    /// the size of the last prompt in tokens, or 0 if there was none.
    pub(in crate::run) fn reserve(&self, prompt: u64) -> u64 {
        match self.opened.as_ref().map(|opened| &opened.plan) {
            Some(crate::record::Plan::Handler(plan)) => plan.reserve.saturating_add(prompt),
            _ => 0,
        }
    }
}

impl super::tree::Trees<'_> {
    /// Runs the clock of each tree task while one of its leaves has a slot.
    pub fn set_clocks(&mut self, now: u64) {
        let run = &mut *self.0;
        if !run.operators.has_any() {
            return;
        }
        for task in run.tasks.changed() {
            if let Some(part) = task.part {
                run.operators.list.hold(&task.task.slug, part, task.holds_slot(), now);
            }
        }
        run.operators.list.go_on_timing(now);
    }
}

impl Operators {
    /// The duration in milliseconds of the longest chain in the run's own tree. `of_leaf` gives that of a leaf's
    /// task.
    pub(in crate::run) fn ideal_ms(&self, of_leaf: &dyn Fn(usize) -> u64) -> Option<u64> {
        self.tree().and(self.top()).map(|top| self.ideal_of(top, of_leaf))
    }

    fn ideal_of(&self, op: &NodeInstance, of_leaf: &dyn Fn(usize) -> u64) -> u64 {
        let in_order = self.goes_in_order(op.number);
        let (mut after, mut beside) = (op.leaf().map_or(0, of_leaf), 0);
        for part in self.children(op) {
            let ms = self.ideal_of(part, of_leaf);
            if in_order || part.place.is_nested() || part.place.is_subtask() {
                after = ms.saturating_add(after);
            } else {
                beside = ms.max(beside);
            }
        }
        beside.saturating_add(after)
    }

    /// Stops all clocks, because time without a process does not count.
    pub(in crate::run) fn stop_clocks(&mut self, now: u64) {
        self.list.stop_clocks(now);
    }
}
