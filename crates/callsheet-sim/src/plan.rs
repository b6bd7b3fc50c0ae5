//! What is promised of the plan of a run: it keeps its tasks and their places (spec 2.11).

use std::collections::BTreeMap;

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::record::ResultParts;
use callsheet_core::run::{Run, State};
use callsheet_core::spec::{Slug, Task};

use crate::checkers::Kept;

/// The plan as it was.
#[derive(Default)]
pub(crate) struct Plan {
    states: BTreeMap<Slug, State>,
    /// The step of each task.
    steps: BTreeMap<Slug, Option<usize>>,
    /// What finished tasks were and gave.
    done: BTreeMap<Slug, (Task, Option<ResultParts>)>,
}

impl Plan {
    /// A task leaves the plan only if a person removes it or a reply names it with a reason, and its step never moves but by
    /// an edit (spec 2.11).
    pub fn keeps_its_tasks(&mut self, run: &Run, event: &Event) -> Kept {
        let edits = matches!(event, Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(_), .. }));
        let removes = |slug: &Slug| match event {
            Event::ListAdopted(events::ListAdopted { list, .. }) => {
                list.beside.removed.iter().any(|removal| removal.task == *slug)
            }
            Event::TaskDropped(events::TaskDropped { task }) => task == slug,
            _ => false,
        };
        for task in run.tasks() {
            let slug = &task.task.slug;
            let before = self.states.insert(slug.clone(), task.state());
            let is_gone = task.state() == State::Dropped && before != Some(State::Dropped);
            if is_gone && !edits && !removes(slug) {
                return Err(format!("a task left the plan, and nobody removed it: {slug}"));
            }
            let step = run.step_of(slug);
            let before = self.steps.insert(slug.clone(), step);
            if !edits && before.is_some_and(|before| before != step) {
                return Err(format!("{slug} went from step {before:?} to {step:?}"));
            }
        }
        Ok(())
    }

    /// No edit, drop or follow-up touches what is done, and a retry only what it does again (spec 2.18).
    pub fn done_tasks_are_never_altered(&mut self, run: &Run) -> Kept {
        self.done.retain(|slug, _| run.task(slug).is_some_and(|task| task.state() == State::Done));
        for task in run.done() {
            match self.done.get(&task.task.slug) {
                Some((text, result)) if *text == task.task && result.as_ref() == task.result() => {}
                Some(_) => return Err(format!("done tasks are never altered: {}", task.task.slug)),
                None => {
                    self.done.insert(task.task.slug.clone(), (task.task.clone(), task.result().cloned()));
                }
            }
        }
        Ok(())
    }
}
