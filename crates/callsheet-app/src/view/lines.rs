//! The progress of a run in plain lines.

use std::collections::BTreeMap;

use callsheet_core::events::{Event, LogEntry};
use callsheet_core::nouns::Slug;
use callsheet_core::run::{Run, State};
use callsheet_core::view::{own_failure, state_mark};

use super::{RunView, event_line};

/// The states of tasks that were already reported.
#[derive(Default)]
pub struct RunLines {
    states: BTreeMap<Slug, State>,
    /// The run's counter at the last look.
    looks: u64,
}

impl RunLines {
    /// Starts with a run whose earlier entries are not reported again.
    pub fn begin_with(&mut self, run: &RunView) {
        let _told = self.changed_states(run.run());
    }

    /// The lines for an entry. `run` is the run after it.
    pub fn of(&mut self, entry: &LogEntry, run: &RunView) -> Vec<String> {
        self.of_driven(entry, run.run())
    }

    /// The lines for an entry in the process that drives the run.
    pub fn of_driven(&mut self, entry: &LogEntry, run: &Run) -> Vec<String> {
        let mut lines: Vec<String> = line(&entry.event, run).into_iter().collect();
        // With `plan_only`, the sheet shows the planned tasks, and none of them starts.
        if !(run.settings().plan_only && run.has_list()) {
            lines.extend(self.changed_states(run));
            lines.extend(own_failure_line(&entry.event, run));
        }
        lines
    }

    fn changed_states(&mut self, run: &Run) -> Vec<String> {
        let mut lines = Vec::new();
        let changed = run.changed_since(self.looks).into_iter();
        self.looks = run.looks();
        let mut tasks: Vec<_> = changed.map(|(_, task, _)| (task, run.standing(task))).collect();
        // A task that ends together with tasks below it is reported after them.
        tasks.sort_by_key(|(task, standing)| standing.is_ended() && task.below.is_none());
        for (task, standing) in tasks {
            match self.states.get_mut(&task.task.slug) {
                Some(state) if *state == standing => continue,
                Some(state) => *state = standing,
                None => drop(self.states.insert(task.task.slug.clone(), standing)),
            }
            if standing != State::Planned && !run.is_replaced(task) {
                let (mark, word) = state_mark(standing);
                lines.push(format!("{mark} {} {word}", task.task.slug));
            }
        }
        lines
    }
}

/// The line for an event, unless the states of tasks already show it.
fn line(event: &Event, run: &Run) -> Option<String> {
    event_line(event, run).filter(|line| !line.is_detail).map(|line| line.text)
}

/// The line for a failed task with parts. It is not in the list, so its state is not reported.
fn own_failure_line(event: &Event, run: &Run) -> Option<String> {
    let (mark, word) = state_mark(State::Failed);
    own_failure(event, run).map(|task| format!("{mark} {task} {word}"))
}
