//! `undo`: take the changes of a run back, byte for byte, newest first.

use callsheet_core::spec::RunId;
use callsheet_runtime::driver::{Undone, undo as take_back};

use super::LocalRuns;
use crate::command::Receipt;
use crate::refusal::Refusal;

pub(super) fn undo(runs: &LocalRuns, id: &RunId) -> Result<Receipt, Refusal> {
    let (store, found) = runs.found(id)?;
    let id = &found.run;
    let undone = take_back(&store, runs.host.project(), &runs.host.store_folder(), id, &|_| ())
        .map_err(|fault| Refusal::of_drive(&fault, id, &format!("callsheet resume {id}")))?;
    let words = undo_lines(&undone, id.as_str()).join("; ");
    Ok(Receipt { undone: Some(undone), ..Receipt::done(id, words) })
}

/// What was taken back and what was not, in lines for a person.
pub fn undo_lines(undone: &Undone, run: &str) -> Vec<String> {
    let restored = undone.restored.iter().map(|path| format!("restored {path}"));
    let deleted = undone.deleted.iter().map(|path| format!("deleted {path}"));
    let kept = undone.kept.iter().map(|(path, task)| {
        format!("kept {path}: the changes of {task} can only be reverted in all its files together")
    });
    let refused = undone.refused.iter().map(ToString::to_string);
    let nothing = (*undone == Undone::default()).then(|| format!("run {run} has no changes to revert"));
    restored.chain(deleted).chain(kept).chain(refused).chain(nothing).collect()
}
