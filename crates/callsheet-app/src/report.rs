//! Data of the record beside the log.

use std::collections::BTreeSet;

use callsheet_core::template::TaskResult;
use callsheet_runtime::prompting::PromptRecord;

use crate::control::RunControl;
use crate::view::RunView;

/// The rules of the project that did not fit into prompts, without duplicates.
pub fn omitted_rules(runs: &dyn RunControl, run: &RunView) -> Vec<String> {
    let prompts = run.calls().iter().filter_map(|call| runs.blob(&call.prompt).ok());
    let prompts = prompts.filter_map(|bytes| serde_json::from_slice::<PromptRecord>(&bytes).ok());
    let words: BTreeSet<String> = prompts.flat_map(|prompt| prompt.rules_omitted).collect();
    words.into_iter().collect()
}

/// The result of a template run.
pub fn result_of_tree(runs: &dyn RunControl, run: &RunView) -> Option<TaskResult> {
    run.result_of_tree(&|blob| runs.blob(blob).ok())
}

/// The warnings of the tasks of templates, without duplicates, each with the task.
pub fn warnings_of_tree(runs: &dyn RunControl, run: &RunView) -> Vec<String> {
    run.warnings_of_tree(&|blob| runs.blob(blob).ok())
}
