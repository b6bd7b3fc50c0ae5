//! The traits of tasks that the settling code and the scheduler look for, and the tasks that have them.

use std::collections::{BTreeMap, BTreeSet};

use super::execution::{Execution, Merge, MergeBy};
use super::places::Place;
use super::state::State;
use super::task::{ExecutionStage, TaskRun};

/// The traits that put a task into the sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    pub pending: bool,
    pub units: bool,
    /// Whether some of its units have no slot.
    pub queued: bool,
    /// Whether some of its units without a slot need something other than a model call.
    pub works: bool,
    pub startable: bool,
    pub writer: bool,
    /// Whether it waits for approval. For a task of a called template, the task that calls it may need the approval
    /// instead.
    pub unapproved: bool,
    pub holding: bool,
    pub asking: bool,
    pub reviewed: bool,
}

/// The positions of tasks by trait.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    pub pending: BTreeSet<Place>,
    pub units: BTreeSet<Place>,
    pub queued: BTreeSet<Place>,
    pub works: BTreeSet<Place>,
    pub startable: BTreeSet<Place>,
    pub writers: BTreeSet<Place>,
    pub unapproved: BTreeSet<Place>,
    pub holding: BTreeSet<Place>,
    pub asking: BTreeSet<Place>,
    pub reviewed: BTreeSet<Place>,
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
            startable: task.state() == State::Ready && !task.has_begun() && !task.is_being_checked(),
            writer,
            unapproved: writer && !(task.approved && task.is_own()),
            holding: task.holds_slot(),
            asking: runs().flat_map(|run| &run.calls).any(|call| call.state.is_asking()),
            reviewed: executing && task.runs.iter().any(Execution::has_open_review),
        }
    }
}

impl Execution {
    /// Whether its only outstanding work is a model call.
    fn wants_only_a_call(&self) -> bool {
        self.attempts.reading.is_none()
            && self.result().is_none()
            && self.calls.iter().all(|call| call.output().is_some())
    }
}

impl Merge {
    /// Whether its only outstanding work is a model call.
    fn wants_only_a_call(&self) -> bool {
        self.by == MergeBy::Model && self.attempts.reading.is_none()
    }
}

impl TaskRun {
    /// Whether it is a task of the list that has done nothing yet, apart from its refinement.
    pub fn is_to_begin(&self) -> bool {
        let is_untouched = || !self.runs.is_empty() && self.runs.iter().all(Execution::is_untouched);
        let has_begun = self.execution != ExecutionStage::NotBegun && !is_untouched();
        self.is_own() && !self.state().is_ended() && !has_begun
    }

    /// Whether one of its units has a slot.
    pub(super) fn holds_slot(&self) -> bool {
        let merging = self.merge.as_ref().is_some_and(|merge| merge.attempts.admitted);
        self.refine.admitted || merging || self.runs.iter().any(|run| run.attempts.admitted)
    }
}

impl Sets {
    /// Moves a task between the sets when its traits change.
    pub fn change(&mut self, place: Place, old: Traits, new: Traits) {
        let Self { pending, units, queued, works, startable, writers, unapproved, holding, asking, reviewed } = self;
        put(pending, place, old.pending, new.pending);
        put(units, place, old.units, new.units);
        put(queued, place, old.queued, new.queued);
        put(works, place, old.works, new.works);
        put(startable, place, old.startable, new.startable);
        put(writers, place, old.writer, new.writer);
        put(unapproved, place, old.unapproved, new.unapproved);
        put(holding, place, old.holding, new.holding);
        put(asking, place, old.asking, new.asking);
        put(reviewed, place, old.reviewed, new.reviewed);
    }
}

fn put(set: &mut BTreeSet<Place>, place: Place, was: bool, is: bool) {
    match (was, is) {
        (false, true) => {
            set.insert(place);
        }
        (true, false) => {
            set.remove(&place);
        }
        _ => {}
    }
}

/// Counts one more or one less pending task of a step.
pub(super) fn count(pending: &mut BTreeMap<usize, usize>, step: usize, more: bool) {
    let of_step = pending.entry(step).or_default();
    *of_step = if more { of_step.saturating_add(1) } else { of_step.saturating_sub(1) };
    if *of_step == 0 {
        pending.remove(&step);
    }
}
