//! What of a task is worth a look, and the tasks that have it.

use std::collections::BTreeSet;

use super::execution::{Execution, Merge, MergeBy};
use super::state::State;
use super::task::TaskRun;

/// What puts a task into the sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    pub pending: bool,
    pub units: bool,
    /// Some of them hold no slot.
    pub queued: bool,
    /// Some of these want something else than a model call.
    pub works: bool,
    pub startable: bool,
    pub writer: bool,
    /// Of a task of a template that is another task's to approve as well.
    pub unapproved: bool,
    pub holding: bool,
    pub asking: bool,
    pub reviewed: bool,
}

/// Keys of tasks by what they have.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    pub pending: BTreeSet<usize>,
    pub units: BTreeSet<usize>,
    pub queued: BTreeSet<usize>,
    pub works: BTreeSet<usize>,
    pub startable: BTreeSet<usize>,
    pub writers: BTreeSet<usize>,
    pub unapproved: BTreeSet<usize>,
    pub holding: BTreeSet<usize>,
    pub asking: BTreeSet<usize>,
    pub reviewed: BTreeSet<usize>,
}

impl Traits {
    pub fn of(task: &TaskRun) -> Self {
        let executing = task.is_executing();
        let refining = task.state() == State::Refining;
        let runs = || task.runs.iter().filter(|run| executing && !run.is_ended());
        let merge = task.merge.iter().find(|_| executing);
        let queues = runs().any(|run| !run.attempts.admitted)
            || refining && !task.refine.admitted
            || merge.is_some_and(|merge| !merge.attempts.admitted);
        let works = runs().any(|run| !run.wants_only_a_call())
            || refining && task.refine.reading.is_some()
            || merge.is_some_and(|merge| !merge.wants_only_a_call());
        let writer = task.writer.is_some() && !task.state().is_ended();
        Self {
            pending: !task.state().is_ended(),
            units: executing || refining || task.is_being_checked(),
            queued: queues || task.is_being_checked(),
            works: works || task.is_being_checked(),
            startable: task.state() == State::Ready && !task.has_begun(),
            writer,
            unapproved: writer && !(task.approved && task.is_own()),
            holding: task.holds_slot(),
            asking: runs().flat_map(|run| &run.calls).any(|call| call.state.is_asking()),
            reviewed: executing && task.runs.iter().any(Execution::has_open_review),
        }
    }
}

impl Execution {
    /// Nothing of it is to be done but to ask its model.
    fn wants_only_a_call(&self) -> bool {
        self.attempts.reading.is_none()
            && self.result().is_none()
            && self.calls.iter().all(|call| call.output().is_some())
    }
}

impl Merge {
    /// Nothing of it is to be done but to ask its model.
    fn wants_only_a_call(&self) -> bool {
        self.by == MergeBy::Model && self.attempts.reading.is_none()
    }
}

impl TaskRun {
    /// One of its units holds a slot.
    pub(super) fn holds_slot(&self) -> bool {
        let merging = self.merge.as_ref().is_some_and(|merge| merge.attempts.admitted);
        self.refine.admitted || merging || self.runs.iter().any(|run| run.attempts.admitted)
    }
}

impl Sets {
    /// A task has other traits than before.
    pub fn change(&mut self, key: usize, old: Traits, new: Traits) {
        let Self { pending, units, queued, works, startable, writers, unapproved, holding, asking, reviewed } = self;
        put(pending, key, old.pending, new.pending);
        put(units, key, old.units, new.units);
        put(queued, key, old.queued, new.queued);
        put(works, key, old.works, new.works);
        put(startable, key, old.startable, new.startable);
        put(writers, key, old.writer, new.writer);
        put(unapproved, key, old.unapproved, new.unapproved);
        put(holding, key, old.holding, new.holding);
        put(asking, key, old.asking, new.asking);
        put(reviewed, key, old.reviewed, new.reviewed);
    }
}

fn put(set: &mut BTreeSet<usize>, key: usize, was: bool, is: bool) {
    match (was, is) {
        (false, true) => {
            set.insert(key);
        }
        (true, false) => {
            set.remove(&key);
        }
        _ => {}
    }
}
