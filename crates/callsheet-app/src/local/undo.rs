//! `undo`: reverts the changes of a run or of some of its tasks, byte for byte, newest first.

use std::collections::BTreeSet;

use callsheet_core::events::Event;
use callsheet_core::nouns::{RunId, Slug};
use callsheet_core::run::Run;
use callsheet_runtime::driver::{Undone, undo as take_back};
use callsheet_runtime::ports::Asked;

use super::tasks::unknown_task;
use super::{Ordered, recorded};
use crate::command::Receipt;
use crate::refusal::Refusal;

pub(super) fn undo(runs: &Ordered<'_>, id: &RunId, tasks: &[String]) -> Result<Receipt, Refusal> {
    let (store, found) = runs.found(id)?;
    let id = &found.run;
    if runs.since(id)?.iter().any(|entry| matches!(entry.event, Event::ChangesApplied(_))) {
        return Err(Refusal::usage(
            format!("run {id} changed files since you looked; nothing was reverted"),
            "look at its changes, and undo again",
        ));
    }
    let of = if tasks.is_empty() { None } else { Some(named(recorded(&store, &found)?.run.run(), id, tasks)?) };
    let undone = match store.hosting() {
        Some(hosting) => hosting.ask(id, Asked::Undo { tasks: of }, None)?.undone.unwrap_or_default(),
        None => take_back(&store, runs.host.project(), &runs.host.store_folder(), id, of.as_ref(), &|_| ())
            .map_err(|fault| Refusal::of_drive(&fault, id))?,
    };
    let words = undo_lines(&undone, id.as_str()).join("; ");
    Ok(Receipt { undone: Some(undone), ..Receipt::done(id, words) })
}

/// The tasks with these names, and all tasks below them.
fn named(run: &Run, id: &RunId, names: &[String]) -> Result<BTreeSet<Slug>, Refusal> {
    let mut tasks = BTreeSet::new();
    for name in names {
        let slug = Slug::new(name.clone());
        if run.state_of(&slug).is_none() {
            let all: Vec<&str> = run.names().into_iter().map(Slug::as_str).collect();
            return Err(unknown_task(id, name, &all));
        }
        tasks.extend(run.tasks_within(&slug));
    }
    Ok(tasks)
}

/// Lines that tell a person what was reverted and what was not.
pub fn undo_lines(undone: &Undone, run: &str) -> Vec<String> {
    let restored = undone.restored.iter().map(|path| format!("restored {path}"));
    let deleted = undone.deleted.iter().map(|path| format!("deleted {path}"));
    let kept = undone.kept.iter().map(|(path, task)| {
        format!("kept {path}: the changes of {task} can only be reverted in all its files together")
    });
    // What is wrong names the file already.
    let refused = undone.refused.iter().map(|issue| format!("{}; {}", issue.what, issue.todo));
    let nothing = (*undone == Undone::default()).then(|| format!("run {run} has no changes to revert"));
    restored.chain(deleted).chain(kept).chain(refused).chain(nothing).chain(undone.notes.iter().cloned()).collect()
}
