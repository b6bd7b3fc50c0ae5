//! Plain lines on stderr, for logs and for terminals that cannot redraw. One line an event, never two writers in one.

use std::collections::BTreeMap;
use std::sync::Mutex;

use callsheet_app::{event_line, retry_line, silent_line};
use callsheet_core::events::Event;
use callsheet_core::run::{Run, State};
use callsheet_core::spec::Slug;
use callsheet_runtime::ports::{Observer, Signal};

use super::lines::own_failure_line;
use super::{Words, one_line, state_mark};

/// Lines for people without a live view.
pub struct PlainLines {
    seen: Mutex<ShownStates>,
}

#[derive(Default)]
struct ShownStates {
    states: BTreeMap<Slug, State>,
    /// What the run had counted when it was looked at last.
    looks: u64,
}

impl Default for PlainLines {
    fn default() -> Self {
        Self { seen: Mutex::new(ShownStates::default()) }
    }
}

impl PlainLines {
    /// Starts from a run whose earlier facts nobody watches again.
    pub fn begin_with(&self, run: &Run) {
        if let Ok(mut seen) = self.seen.lock() {
            let _said = seen.changed_states(run);
        }
    }
}

impl Observer for PlainLines {
    fn see(&self, signal: &Signal<'_>) {
        let lines = match signal {
            // The tasks of a plan stand in its sheet; none of them begins.
            Signal::LogEntry { fact, run } if run.settings().plan_only && run.has_list() => {
                line(&fact.event, run).into_iter().collect()
            }
            Signal::LogEntry { fact, run } => {
                let mut lines: Vec<String> = line(&fact.event, run).into_iter().collect();
                lines.extend(self.seen.lock().map(|mut seen| seen.changed_states(run)).unwrap_or_default());
                lines.extend(own_failure_line(&fact.event, run));
                lines
            }
            Signal::Notice(text) => vec![one_line(text, 400)],
            Signal::Retry { key, send, wait_ms, message } => vec![retry_line(key, *send, *wait_ms, message)],
            Signal::Silent { key, seconds } => vec![silent_line(key, *seconds)],
            Signal::Delta { .. } => return,
        };
        if !lines.is_empty() {
            Words::of(&(lines.join("\n") + "\n")).tell();
        }
    }
}

/// The line of an event, unless the states of tasks say it.
fn line(event: &Event, run: &Run) -> Option<String> {
    event_line(event, run).filter(|line| !line.is_detail).map(|line| line.text)
}

/// Notices alone, of commands that drive nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notices;

impl Observer for Notices {
    fn see(&self, signal: &Signal<'_>) {
        if let Signal::Notice(text) = signal {
            Words::of(&(one_line(text, 400) + "\n")).tell();
        }
    }
}

impl ShownStates {
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
