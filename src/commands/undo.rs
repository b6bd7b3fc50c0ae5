//! `undo`: take the changes of a run back, byte for byte, newest first.

use callsheet_runtime::driver::{Undone, undo as take_back};

use crate::cli::{Exit, Failure, RunNameArgs};
use crate::setup::{Setup, find_run};

use super::drive::drive_failure;

pub(super) fn undo(setup: &Setup, arguments: &RunNameArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |_| true, "")?;
    let waiting = |text: &str| tell!("{text}");
    let undone = take_back(&store, &setup.project, &setup.store_folder(), &found.run, &waiting)
        .map_err(|fault| drive_failure(&fault, &found.run))?;
    if setup.json {
        super::print_json(&serde_json::json!({
            "run": found.run, "restored": undone.restored, "deleted": undone.deleted, "refused": undone.refused,
            "kept": undone.kept.iter().map(|(path, task)| serde_json::json!({"path": path, "task": task})).collect::<Vec<_>>(),
        }))?;
    } else {
        tell(&undone, found.run.as_str());
    }
    if undone.refused.is_empty() {
        return Ok(Exit::Complete);
    }
    Err(Failure::new(
        Exit::Incomplete,
        "some changes were not reverted, because their files changed after the run",
        "fix these files by hand; the run's diffs under changes/ hold the originals",
    ))
}

fn tell(undone: &Undone, run: &str) {
    for line in lines(undone, run) {
        tell!("{line}");
    }
}

/// What was taken back and what was not, in lines for a person.
pub(super) fn lines(undone: &Undone, run: &str) -> Vec<String> {
    let restored = undone.restored.iter().map(|path| format!("restored {path}"));
    let deleted = undone.deleted.iter().map(|path| format!("deleted {path}"));
    let kept = undone.kept.iter().map(|(path, task)| {
        format!("kept {path}: the changes of {task} can only be reverted in all its files together")
    });
    let refused = undone.refused.iter().map(ToString::to_string);
    let nothing = (*undone == Undone::default()).then(|| format!("run {run} has no changes to revert"));
    restored.chain(deleted).chain(kept).chain(refused).chain(nothing).collect()
}
