//! The time of tasks of a tree, and what their calls reserve. What they spend is in `run::ledger`, their limits in
//! `run::limits`.

use crate::nouns::Slug;

use super::{NodeInstance, Operators};

impl NodeInstance {
    /// Tokens that its next call reserves: what was estimated when it was opened, and the conversation since, whose last
    /// prompt had `prompt` tokens (0: none yet).
    pub(in crate::run) fn reserve(&self, prompt: u64) -> u64 {
        match self.opened.as_ref().map(|opened| &opened.plan) {
            Some(crate::record::Plan::Handler(plan)) => plan.reserve.saturating_add(prompt),
            _ => 0,
        }
    }
}

impl super::tree::Trees<'_> {
    /// The time of a task of the tree passes while a leaf of it holds a slot.
    pub fn set_clocks(&mut self, now: u64) {
        let run = &mut *self.0;
        if !run.operators.has_any() {
            return;
        }
        for task in run.tasks.changed() {
            let slug = &task.task.slug;
            if let Some(number) = run.operators.leaves.get(slug).copied() {
                run.operators.list.hold(slug, number, task.holds_slot(), now);
            }
        }
        run.operators.list.go_on_timing(now);
    }
}

impl Operators {
    /// Milliseconds of the longest chain in the run's own tree; `of_leaf`: of a task that is one.
    pub(in crate::run) fn ideal_ms(&self, of_leaf: &dyn Fn(&Slug) -> u64) -> Option<u64> {
        self.tree().and(self.top()).map(|top| self.ideal_of(top, of_leaf))
    }

    fn ideal_of(&self, op: &NodeInstance, of_leaf: &dyn Fn(&Slug) -> u64) -> u64 {
        let in_order = self.goes_in_order(op.number);
        let (mut after, mut beside) = (op.leaf().map_or(0, |leaf| of_leaf(&leaf)), 0);
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

    /// The time in which no process ran does not count.
    pub(in crate::run) fn stop_clocks(&mut self, now: u64) {
        self.list.stop_clocks(now);
    }
}
