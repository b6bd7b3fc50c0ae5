//! What a person skipped of a task's changes or undid later, as prompts, documents and summaries say it (spec 3.10,
//! 11.4).

use callsheet_core::prompt::Note;
use callsheet_core::run::TaskRun;

/// What a person skipped of a task's changes, and what they undid. The task's document ends with it (spec 11.4, 3.10).
/// Empty if there is nothing.
pub(crate) fn rejected_and_reverted(task: &TaskRun) -> String {
    let refused: String = task.refused().map(|part| format!("\n\n{}\n", part.told)).collect();
    let reverted = reverted(task);
    if reverted.is_empty() { refused } else { format!("{refused}\n\n{reverted}\n") }
}

/// What a person undid of a task's changes after they were made. Empty if there is nothing.
fn reverted(task: &TaskRun) -> String {
    let files: Vec<&str> = task.taken_back_files().into_iter().collect();
    if files.is_empty() {
        return String::new();
    }
    Note::ChangesUndone.fill(&[("files", &files.join(", "))]).trim_end().to_owned()
}

/// The summary of a done task in later prompts, with what was undone since (spec 3.10).
pub(crate) fn current_summary(task: &TaskRun) -> Option<String> {
    let summary = &task.result()?.summary;
    let reverted = reverted(task);
    Some(if reverted.is_empty() { summary.clone() } else { format!("{}\n\n{reverted}", summary.trim_end()) })
}
