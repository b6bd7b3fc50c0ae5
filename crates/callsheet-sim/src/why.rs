//! The promise about reasons: whatever is not done can say why, and what it says leads to something that can happen.

use std::collections::BTreeSet;

use callsheet_core::nouns::Slug;
use callsheet_core::run::{Effect, Explainer, Run, Why};

use crate::checkers::Kept;

/// Each task that is not done says why. What is outstanding for a task is its reason. Where nothing is outstanding at all,
/// every reason leads to a person, a limit, a problem or the end of the run.
///
/// # Errors
/// A task does not, or says something else.
pub fn every_task_says_why(run: &Run) -> Kept {
    let (explainer, outstanding) = (run.explainer(), run.outstanding());
    let not_done = run.not_done();
    if let Some(task) = not_done.iter().find(|task| explainer.why(task) == Why::Unknown) {
        return Err(format!("every task says why: {task} does not in {:?}", run.stage()));
    }
    for effect in &outstanding {
        let Some(task) = effect.task().filter(|task| is_of_open_task(run, effect, task)) else { continue };
        let why = explainer.why(task);
        if !matches!(why, Why::Running { .. } | Why::Owed { .. }) {
            return Err(format!("every task says why: {task} is worked at, and says {why:?}"));
        }
    }
    if !outstanding.is_empty() {
        return Ok(());
    }
    let mut known = BTreeSet::new();
    not_done.into_iter().try_for_each(|task| leads_somewhere(&explainer, task, &mut known))
}

/// What is put on disk, or taken back, may be of a task that has ended.
fn is_of_open_task(run: &Run, effect: &Effect, task: &Slug) -> bool {
    let of_changes = matches!(effect, Effect::ApplyChanges { .. } | Effect::RollBack { .. });
    !of_changes || run.task(task).is_some_and(|task| !task.state().is_ended())
}

fn leads_somewhere(explainer: &Explainer<'_>, task: &Slug, known: &mut BTreeSet<Slug>) -> Kept {
    if !known.insert(task.clone()) {
        return Ok(());
    }
    let why = explainer.why(task);
    let ends = matches!(
        why,
        Why::Ended { .. }
            | Why::Gate { .. }
            | Why::Question { .. }
            | Why::Limit { .. }
            | Why::Held { .. }
            | Why::SheetErrors
            | Why::Concluded { .. }
    );
    let awaited = why.awaited();
    if !ends && awaited.is_empty() {
        return Err(format!("every task says why: nothing is outstanding, and {task} says {why:?}"));
    }
    awaited.into_iter().try_for_each(|task| leads_somewhere(explainer, task, known))
}
