//! Whether the outputs that a task reads exist.

use crate::nouns::Slug;

use super::state::State;
use super::task::{TaskPhase, TaskRun};
use super::tasks::TaskTable;

/// The state of the outputs that a task reads.
pub(super) enum Supply {
    /// All of them exist.
    Here,
    /// Some are still to come.
    ToCome,
    /// The output of this task will never come.
    Lost(Slug),
}

impl TaskTable {
    /// Whether the outputs that a task reads exist, are still to come, or will never come.
    pub fn supply(&self, task: &TaskRun) -> Supply {
        let mut producers = task.producers().filter_map(|slug| self.find(slug));
        match producers.find(|producer| producer.state().is_without_output()) {
            Some(lost) => Supply::Lost(lost.slug()),
            None if self.awaited_by(task).next().is_some() => Supply::ToCome,
            None => Supply::Here,
        }
    }

    /// The tasks whose outputs a task reads and that have not delivered them yet. Only tasks that are listed before
    /// it can deliver. The check at the start finds other missing outputs.
    pub fn awaited_by<'a>(&'a self, task: &'a TaskRun) -> impl Iterator<Item = &'a TaskRun> {
        let producers = task.producers().filter_map(move |slug| self.find(slug));
        producers.filter(move |producer| {
            !producer.state().is_ended() && self.is_earlier(&producer.task.slug, &task.task.slug)
        })
    }

    /// Whether a task is listed before another: in an earlier step, or earlier in the same step.
    fn is_earlier(&self, producer: &Slug, reader: &Slug) -> bool {
        match (self.place_of(producer), self.place_of(reader)) {
            (Some(producer), Some(reader)) => producer < reader,
            _ => false,
        }
    }

    /// Whether none of the tasks that the task reads from has ended without output.
    pub fn may_have_inputs(&self, task: &TaskRun) -> bool {
        let mut producers = task.producers().filter_map(|producer| self.find(producer));
        producers.all(|producer| !producer.state().is_without_output())
    }

    /// Lets tasks wait again that were blocked by a task that may run again (spec 12.4). `listed` limits this to the
    /// current list.
    pub fn unblock(&mut self, listed: bool) {
        loop {
            let freed: Vec<Slug> = self
                .values()
                .filter(|task| !listed || self.step_of(&task.task.slug).is_some())
                .filter(|task| task.state() == State::Blocked && task.producers().next().is_some())
                .filter(|task| self.may_have_inputs(task))
                .map(TaskRun::slug)
                .collect();
            if freed.is_empty() {
                return;
            }
            for slug in freed {
                if let Some(task) = self.get_mut(&slug) {
                    task.phase = TaskPhase::Planned;
                }
            }
        }
    }
}
