//! `undo`: reverts the changes of a run or of some of its tasks, byte for byte, newest first.

use callsheet_app::{RunCommand, undo_lines};

use crate::cli::{Exit, Failure, UndoArgs};
use crate::setup::{Setup, find_run};

use super::answer::order;

pub(super) fn undo(setup: &Setup, arguments: &UndoArgs) -> Result<Exit, Failure> {
    let found = find_run(&setup.existing_store()?, arguments.run.as_deref(), |_| true, "")?;
    let undone =
        order(setup, &found.run, RunCommand::Undo { tasks: arguments.tasks.clone() })?.undone.unwrap_or_default();
    if setup.json {
        super::print_json(&serde_json::json!({
            "run": found.run, "restored": undone.restored, "deleted": undone.deleted, "refused": undone.refused,
            "kept": undone.kept.iter().map(|(path, task)| serde_json::json!({"path": path, "task": task})).collect::<Vec<_>>(),
        }))?;
    } else {
        undo_lines(&undone, found.run.as_str()).iter().for_each(|line| tell!("{line}"));
    }
    if undone.refused.is_empty() {
        return Ok(Exit::Complete);
    }
    Err(Failure::new(
        Exit::Incomplete,
        "some changes were not reverted, because their files changed after the run",
        "fix these files by hand; the run's diffs under changes/ contain the originals",
    ))
}
