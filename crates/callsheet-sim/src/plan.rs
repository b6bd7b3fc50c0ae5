//! The promises about the plan of a run: it keeps its tasks and their places (spec 2.11).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::nouns::{Slug, Task};
use callsheet_core::record::{AdoptedList, ResultParts};
use callsheet_core::run::{Run, State, TaskRun};

use crate::checkers::Kept;
use crate::people::part;

/// The plan before an event.
#[derive(Default)]
pub(crate) struct Plan {
    states: BTreeMap<Slug, State>,
    /// The step of each task.
    steps: BTreeMap<Slug, Option<usize>>,
    /// The finished tasks and their results.
    done: BTreeMap<Slug, (Task, Option<ResultParts>)>,
}

impl Plan {
    /// A task leaves the plan only if a person removes it or a reply names it with a reason. Only an edit moves its
    /// step (spec 2.11).
    pub fn keeps_its_tasks(&mut self, run: &Run, event: &Event) -> Kept {
        let edits = matches!(event, Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(_), .. }));
        let removes = |slug: &Slug| match event {
            Event::ListAdopted(events::ListAdopted { list, .. }) => {
                list.beside.removed.iter().any(|removal| removal.task == *slug)
            }
            Event::TaskDropped(events::TaskDropped { task }) => task == slug,
            // Handlers of tasks that begin again are given up.
            Event::TreeEdited(events::TreeEdited { tree_number, .. }) => {
                part(run, slug).is_some_and(|part| part.mount == *tree_number)
            }
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

    /// No edit, removal or follow-up changes done tasks. A retry changes only the tasks that it repeats (spec 2.18).
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

/// Whether a task is the other one, or reads its result directly or indirectly.
pub(crate) fn reads(run: &Run, slug: &Slug, other: &Slug) -> bool {
    let mut new = vec![slug.clone()];
    let mut seen = BTreeSet::new();
    while let Some(slug) = new.pop() {
        if slug == *other {
            return true;
        }
        if seen.insert(slug.clone()) {
            let read = run.task(&slug).into_iter().flat_map(TaskRun::producers);
            new.extend(read.filter_map(|producer| run.task(producer)).map(|producer| producer.task.slug.clone()));
        }
    }
    false
}

/// Only a person can repeat a done task, with its readers, or put back a removed one (spec 2.10).
pub(crate) fn ended_tasks_stay_ended(states: &mut BTreeMap<Slug, State>, run: &Run, event: &Event) -> Kept {
    let listed = |list: &AdoptedList, slug: &Slug| list.steps.iter().flatten().any(|known| known.task.slug == *slug);
    let is_back = |slug: &Slug| match event {
        Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(_), list, .. }) => listed(list, slug),
        Event::TaskRetried(events::TaskRetried { task, .. }) => task == slug,
        _ => false,
    };
    let is_redone = |slug: &Slug| match event {
        Event::TaskRetried(events::TaskRetried { task, .. }) | Event::TaskDropped(events::TaskDropped { task }) => {
            let caller = part(run, task).and_then(|op| run.operators().caller(op.mount)).map(|caller| &caller.task);
            reads(run, slug, caller.unwrap_or(task))
        }
        // A handler whose last reply was cut off is done with a result that is of no use.
        Event::TaskContinued(events::TaskContinued { task }) => {
            let caller = part(run, task).and_then(|op| run.operators().caller(op.mount)).map(|caller| &caller.task);
            reads(run, slug, caller.unwrap_or(task)) || run.task(slug).is_some_and(TaskRun::is_handler)
        }
        Event::TreeEdited(events::TreeEdited { tree_number, .. }) => {
            run.operators().caller(*tree_number).is_some_and(|caller| reads(run, slug, &caller.task))
        }
        _ => false,
    };
    for task in run.tasks() {
        let before = states.insert(task.task.slug.clone(), task.state());
        if let Some(before @ (State::Done | State::Dropped)) = before
            && before != task.state()
            && !(if before == State::Done { is_redone(&task.task.slug) } else { is_back(&task.task.slug) })
        {
            return Err(format!("{} went from {before:?} to {:?}", task.task.slug, task.state()));
        }
    }
    Ok(())
}
