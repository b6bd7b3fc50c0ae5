//! A run as it goes, in plain lines.

use std::collections::BTreeMap;

use callsheet_core::events::{Event, LogEntry};
use callsheet_core::nouns::Slug;
use callsheet_core::run::{Run, State};
use callsheet_core::view::{own_failure, state_mark};

use super::{RunView, event_line};

/// What has been told of the tasks of a run.
#[derive(Default)]
pub struct RunLines {
    states: BTreeMap<Slug, State>,
    /// What the run had counted when it was looked at last.
    looks: u64,
}

impl RunLines {
    /// Begins with a run whose earlier entries nobody is told again.
    pub fn begin_with(&mut self, run: &RunView) {
        let _told = self.changed_states(run.run());
    }

    /// The lines of an entry. `run`: the run after it.
    pub fn of(&mut self, entry: &LogEntry, run: &RunView) -> Vec<String> {
        self.of_driven(entry, run.run())
    }

    /// The same in the process that drives the run.
    pub fn of_driven(&mut self, entry: &LogEntry, run: &Run) -> Vec<String> {
        let mut lines: Vec<String> = line(&entry.event, run).into_iter().collect();
        // The tasks of a plan stand in its sheet; none of them begins.
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
        // What ends together with tasks below it ends behind them.
        tasks.sort_by_key(|(task, standing)| standing.is_ended() && task.below.is_none());
        for (task, standing) in tasks {
            match self.states.get_mut(&task.task.slug) {
                Some(state) if *state == standing => continue,
                Some(state) => *state = standing,
                None => drop(self.states.insert(task.task.slug.clone(), standing)),
            }
            if standing != State::Planned {
                let (mark, word) = state_mark(standing);
                lines.push(format!("{mark} {} {word}", task.task.slug));
            }
        }
        lines
    }
}

/// The line of an event, unless the states of tasks say it.
fn line(event: &Event, run: &Run) -> Option<String> {
    event_line(event, run).filter(|line| !line.is_detail).map(|line| line.text)
}

/// A task with parts that failed by itself: it is no task of the list, whose states are told.
fn own_failure_line(event: &Event, run: &Run) -> Option<String> {
    let (mark, word) = state_mark(State::Failed);
    own_failure(event, run).map(|task| format!("{mark} {task} {word}"))
}
