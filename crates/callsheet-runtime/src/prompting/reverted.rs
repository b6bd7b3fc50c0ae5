//! What a person rejected of the changes of a task or reverted later, as prompts, documents and summaries say it (spec
//! 3.10, 11.4).

use callsheet_core::prompt::Note;
use callsheet_core::run::TaskRun;

/// What a person refused of the changes of a task, and took back of them, as its document ends with it (spec 11.4,
/// 3.10); empty if nothing was.
pub(crate) fn rejected_and_reverted(task: &TaskRun) -> String {
    let refused: String = task.refused().map(|part| format!("\n\n{}\n", part.told)).collect();
    let reverted = reverted(task);
    if reverted.is_empty() { refused } else { format!("{refused}\n\n{reverted}\n") }
}

/// What a person took back of the changes of a task after they were made; empty if nothing was.
fn reverted(task: &TaskRun) -> String {
    let files: Vec<&str> = task.taken_back_files().into_iter().collect();
    if files.is_empty() {
        return String::new();
    }
    Note::ChangesUndone.fill(&[("files", &files.join(", "))]).trim_end().to_owned()
}

/// The summary of a done task as later prompts show it: with what was taken back since (spec 3.10).
pub(crate) fn current_summary(task: &TaskRun) -> Option<String> {
    let summary = &task.result()?.summary;
    let reverted = reverted(task);
    Some(if reverted.is_empty() { summary.clone() } else { format!("{}\n\n{reverted}", summary.trim_end()) })
}
