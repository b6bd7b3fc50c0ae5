//! Turns changes that a model proposes into change sets, and checks them against the current files and the files that
//! the model was shown.

use std::collections::BTreeMap;

use callsheet_core::issue::Issue;
use callsheet_core::nouns::{BlobId, ExecutionId, Slug};
use callsheet_core::record::ChangeSet;
use callsheet_core::run::{Run, ToolOutput};
use callsheet_format::edit;
use callsheet_format::edit::{Change, FileEdit};
use callsheet_format::reading::{Answer, Lookup};
use serde::Deserialize;

use crate::changes::{Edit, StageFault, stage as stage_edits};
use crate::fault::DriveFault;
use crate::references;
use crate::services::Services;

/// Files that a model was shown, with their hashes then: the part of a [`PromptRecord`](crate::prompting::PromptRecord)
/// that reading a reply needs.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct ShownFiles {
    #[serde(default, rename = "shown_in_full")]
    pub(super) in_full: BTreeMap<String, BlobId>,
    #[serde(default, rename = "shown_in_part")]
    pub(super) in_part: BTreeMap<String, BlobId>,
    /// The path of the new file, if the reply is the text of a file.
    #[serde(default)]
    pub(super) document: Option<String>,
    /// Outputs of the tool calls of a conversation so far.
    #[serde(skip)]
    read: Vec<String>,
}

/// What an execution run was shown in its latest prompt, for checking the changes of a tool.
pub(crate) fn shown(services: &Services, run: &Run, task: &Slug, exec: &ExecutionId) -> ShownFiles {
    let latest = run
        .calls()
        .iter()
        .rev()
        .find(|call| call.key.task.as_ref() == Some(task) && call.key.run.as_ref() == Some(exec));
    let record = latest.and_then(|call| services.store.blob(&call.prompt).ok());
    let mut shown: ShownFiles = record.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if let Some(exec) = run.task(task).and_then(|task| task.run(exec)).filter(|exec| exec.is_loop) {
        let outputs = exec.calls.iter().filter_map(|call| match call.output() {
            Some(ToolOutput::Text { blob, error: false }) => services.text(blob).ok(),
            _ => None,
        });
        shown.read = outputs.collect();
    }
    shown
}

/// Validates and composes the changes of a write call. Issues go back to the model as its output.
pub(crate) fn stage(
    services: &Services,
    changes: &[Change],
    shown: &ShownFiles,
) -> Result<Result<ChangeSet, Vec<Issue>>, DriveFault> {
    let mut lookups: Vec<Lookup> = changes.iter().map(|change| Lookup::Content(change.path.clone())).collect();
    let named = changes.iter().filter(|change| edit::names_symbol(change));
    lookups.extend(named.map(|change| Lookup::Symbols(change.path.clone())));
    let answers = references::answer(&lookups, services.disk());
    let mut files = edit::Files::new();
    let mut outlines = edit::Outlines::new();
    let mut in_full = shown.in_full.clone();
    for (lookup, answer) in &answers {
        if let (Lookup::Symbols(path), Answer::Symbols(symbols)) = (lookup, answer) {
            outlines.insert(path.clone(), symbols.clone());
        }
        if let (Lookup::Content(path), Answer::Content(text)) = (lookup, answer) {
            // A conversation reads files with tools. It may replace what it has read, as long as the file is unchanged.
            if shown.read.iter().any(|output| !text.is_empty() && output.contains(text.trim_end())) {
                in_full.insert(path.clone(), BlobId::of(text.as_bytes()));
            }
            files.insert(path.clone(), text.clone());
        }
    }
    let shown = edit::ShownFiles { in_full: &in_full, in_part: &shown.in_part };
    let reading = edit::validate(changes, &files, &outlines, shown);
    if !reading.is_accepted() {
        return Ok(Err(reading.issues));
    }
    keep(services, &reading.value)
}

/// Stores composed edits as a change set, after checking them against the current project.
pub(crate) fn keep(services: &Services, edits: &[FileEdit]) -> Result<Result<ChangeSet, Vec<Issue>>, DriveFault> {
    let diff = edit::diff_of(edits);
    let edits: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit { path: edit.path.clone(), before: edit.before.clone(), after: edit.after.clone() })
        .collect();
    match stage_edits(&edits, &diff, &services.workspace, &*services.store) {
        Ok(set) => Ok(Ok(set)),
        Err(StageFault::Refused(issues)) => Ok(Err(issues)),
        Err(StageFault::Store(fault)) => Err(fault.into()),
    }
}
