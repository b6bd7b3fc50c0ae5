//! The time of tasks of a tree, and what their calls reserve. What they spend is in `run::ledger`, their limits in
//! `run::limits`.

use super::Operators;

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
}
