//! What a person said stays valid: the books about edits, orders and answers. Also checks that time never goes back.

use std::collections::BTreeSet;

use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{AdoptedList, EffectKey, Gate};
use callsheet_core::run::{Execution, NodeInstance, Run, State, TaskRun};

use crate::checkers::Kept;

/// Books about what people said.
#[derive(Default)]
pub struct People {
    /// The tasks that a faulty edit touches and that had not begun.
    held: BTreeSet<Slug>,
    /// The gates that a person was asked about.
    asked: BTreeSet<Gate>,
    stopped: bool,
    /// The tasks that an edit that is about to be adopted leaves alone.
    begun: BTreeSet<Slug>,
    at: u64,
}

impl People {
    /// Sees an event before it is applied.
    ///
    /// # Errors
    /// A promise is about to be broken.
    pub fn before(&mut self, run: &Run, fact: &LogEntry) -> Kept {
        if fact.at < self.at {
            return Err(format!("time never runs backwards: from {} to {}", self.at, fact.at));
        }
        match &fact.event {
            Event::Started(events::Started { effect, .. })
                if !run.is_in_flight(effect) && run.is_outstanding(effect) =>
            {
                self.nothing_starts_against_an_order(effect)
            }
            Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(_), list, .. }) => {
                let listed = list.steps.iter().flatten().map(|planned| &planned.task.slug);
                let known = listed.chain(run.steps().iter().flatten());
                self.begun = known.filter(|slug| run.has_begun(slug) || is_ended(run, slug)).cloned().collect();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sees an event after it was accepted.
    ///
    /// # Errors
    /// A promise was broken.
    pub fn after(&mut self, run: &Run, fact: &LogEntry) -> Kept {
        self.at = fact.at;
        match &fact.event {
            Event::RunResumed(_) | Event::RunContinued(_) => {
                self.stopped = false;
                self.held.clear();
                Ok(())
            }
            Event::CancelRequested(_) => {
                self.stopped = true;
                Ok(())
            }
            Event::EditHeld(events::EditHeld { tasks }) => {
                let waits = |slug: &&Slug| {
                    let task = run.task(slug).filter(|task| !is_touched(task));
                    task.is_some_and(|task| matches!(task.state(), State::Planned | State::Waiting | State::Ready))
                };
                self.held = tasks.iter().flatten().filter(waits).cloned().collect();
                Ok(())
            }
            Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(_), list, .. }) => {
                self.held.clear();
                self.an_edit_stands(run, list)
            }
            Event::TaskDropped(events::TaskDropped { task }) if part(run, task).is_some() => {
                let removed = part(run, task).is_some_and(|op| op.state() == State::Dropped);
                if removed { Ok(()) } else { Err(format!("what a person said stands: the item {task} was removed")) }
            }
            Event::TaskDropped(events::TaskDropped { task }) => match run.task(task).map(|task| task.state()) {
                Some(State::Dropped) => Ok(()),
                state => Err(format!("what a person said stands: {task} was taken off, and is {state:?}")),
            },
            Event::Started(events::Started { effect: EffectKey::Gate(gate), .. }) => {
                self.asked.insert(gate.clone());
                Ok(())
            }
            Event::GateAnswered(events::GateAnswered { gate, .. }) if !self.asked.contains(gate) => {
                Err(format!("nobody answers what was not asked: {gate:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Tasks that a faulty edit touches do not start. Nothing starts after a person stopped the run (spec 2.16,
    /// 2.18).
    fn nothing_starts_against_an_order(&self, effect: &EffectKey) -> Kept {
        let task = match effect {
            EffectKey::Ask(key) => key.task.as_ref(),
            EffectKey::Tool { task, .. } => Some(task),
            _ => return Ok(()),
        };
        if self.stopped {
            return Err(format!("what a person said stands: it was stopped, and {effect:?} starts"));
        }
        match task.filter(|task| self.held.contains(*task)) {
            Some(task) => Err(format!("what a person said stands: {task} is held, and {effect:?} starts")),
            None => Ok(()),
        }
    }

    /// Every task is as an edit says, and tasks that it leaves out are removed. Tasks that are at work or done are
    /// left alone.
    fn an_edit_stands(&self, run: &Run, list: &AdoptedList) -> Kept {
        let left_alone = |slug: &Slug| self.begun.contains(slug);
        let other = list.steps.iter().flatten().find(|planned| {
            let now = run.task(&planned.task.slug).map(|task| &task.task);
            !planned.unchanged
                && !left_alone(&planned.task.slug)
                && now.map(|now| &now.need) != Some(&planned.task.need)
        });
        if let Some(planned) = other {
            return Err(format!("what a person said stands: {} is not as it was edited", planned.task.slug));
        }
        let listed: BTreeSet<&Slug> = list.steps.iter().flatten().map(|planned| &planned.task.slug).collect();
        let stays = run.steps().iter().flatten().find(|slug| {
            let off = is_ended(run, slug);
            !listed.contains(slug) && !left_alone(slug) && !off
        });
        match stays {
            Some(slug) => Err(format!("what a person said stands: an edit leaves {slug} out, and it is there")),
            None => Ok(()),
        }
    }
}

/// Whether something was done for the execution.
fn is_touched(task: &TaskRun) -> bool {
    let touched = |exec: &Execution| {
        let asked = exec.attempts.attempt > 1 || exec.attempts.counted;
        asked || !exec.calls.is_empty() || !exec.turns.is_empty() || exec.result().is_some()
    };
    task.runs.iter().any(touched)
}

fn is_ended(run: &Run, slug: &Slug) -> bool {
    run.task(slug).is_some_and(|task| task.state().is_ended())
}

/// The part of a template with this name, or whose leaf has it.
pub(crate) fn part<'a>(run: &'a Run, task: &Slug) -> Option<&'a NodeInstance> {
    run.operators().get(task)
}
