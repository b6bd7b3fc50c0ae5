//! After an outage: what failed because no provider could be reached is open again when the run is taken up (spec 15).

use std::collections::BTreeSet;

use crate::record::Outcome;
use crate::spec::Slug;

use super::OpState;
use crate::run::{Run, Stage, State};

impl Run {
    /// Opens the tasks of trees that an outage ended. Returns their leaves.
    pub(in crate::run) fn reopen_after_outage(&mut self) -> BTreeSet<Slug> {
        if self.operators.tree().is_none() {
            return self.reopen_calls_after_outage();
        }
        if self.stage == Stage::Concluded(Outcome::Unreachable) { self.reopen_mount(0) } else { BTreeSet::new() }
    }

    /// The same for one tree, with all above them that failed by them.
    pub(in crate::run) fn reopen_mount(&mut self, mount: usize) -> BTreeSet<Slug> {
        // What failed up to the top; a model was told of a failed subtask, and that stays said.
        let mut failing = BTreeSet::new();
        for op in self.operators.iter().filter(|op| op.mount == mount) {
            let number = op.number;
            let reaches_the_top = op.parent.is_none_or(|above| failing.contains(&above));
            if reaches_the_top && op.failed() && !op.place.is_subtask() {
                failing.insert(number);
            }
        }
        let mut leaves = BTreeSet::new();
        let mut reopened = BTreeSet::new();
        // Children are behind their parents.
        for number in failing.into_iter().rev() {
            let Some(op) = self.operators.at(number) else { continue };
            let leaf = op.leaf().filter(|leaf| self.is_unreached(leaf));
            if leaf.is_none() && !op.children.iter().any(|child| reopened.contains(child)) {
                continue;
            }
            reopened.insert(number);
            leaves.extend(leaf);
            self.change_op(number, |op| {
                op.closed = None;
                op.state = if op.opened.is_some() { OpState::Open } else { OpState::Gathering };
            });
        }
        leaves
    }

    fn is_unreached(&self, leaf: &Slug) -> bool {
        let failed = self.tasks.get(leaf).filter(|task| task.state == State::Failed);
        failed.and_then(|task| task.failure.as_ref()).is_some_and(|failure| failure.communication)
    }
}
