//! Reopens the tasks that failed in an outage, when the run is resumed (spec 15).

use std::collections::BTreeSet;

use crate::nouns::Slug;
use crate::run::TaskRun;

use super::NodeInstance;
use super::tree::Trees;

impl Trees<'_> {
    /// Opens the tasks of a tree that an outage ended, and the tasks above that failed because of them. Returns their
    /// leaves.
    pub fn reopen(&mut self, mount: usize) -> BTreeSet<Slug> {
        // The failed tasks up to the top. If a model was told of a failed subtask, the subtask stays failed.
        let mut failing = BTreeSet::new();
        for op in self.0.operators.iter().filter(|op| op.mount == mount) {
            let number = op.number;
            let reaches_the_top = op.parent.is_none_or(|above| failing.contains(&above));
            if reaches_the_top && op.failed() && !op.place.is_subtask() {
                failing.insert(number);
            }
        }
        let mut leaves = BTreeSet::new();
        let mut reopened = BTreeSet::new();
        // Children come after their parents.
        for number in failing.into_iter().rev() {
            let Some(op) = self.0.operators.at(number) else { continue };
            let leaf = self.0.leaf(op).filter(|leaf| leaf.is_unreached()).map(TaskRun::slug);
            if leaf.is_none() && !op.children.iter().any(|child| reopened.contains(child)) {
                continue;
            }
            reopened.insert(number);
            leaves.extend(leaf);
            self.change_op(number, NodeInstance::open_again);
        }
        leaves
    }
}
