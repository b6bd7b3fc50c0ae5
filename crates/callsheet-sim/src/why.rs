//! The promise about reasons: every unfinished task can explain itself, and its reason leads to something that can
//! happen.

use std::collections::BTreeSet;

use callsheet_core::nouns::Slug;
use callsheet_core::run::{Effect, Explainer, Run, Why};

use crate::checkers::Kept;

/// Each unfinished task gives a reason. If an effect is outstanding for a task, it is the reason. If nothing at all
/// is outstanding, every reason leads to a person, a limit, a problem or the end of the run.
///
/// # Errors
/// A task gives no reason or a wrong one.
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

/// Whether the effect belongs to the open task. An apply or a rollback may belong to an ended task.
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
