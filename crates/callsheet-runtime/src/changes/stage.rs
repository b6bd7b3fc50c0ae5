//! Turns composed texts into a change set.

use std::collections::BTreeMap;

use callsheet_core::issue::{Issue, IssueCode, Severity};
use callsheet_core::nouns::{BlobId, Phase};
use callsheet_core::record::{ChangeSet, FileChange};

use crate::issues::Finding;
use crate::paths::{PathFault, Workspace};
use crate::ports::{Store, StoreFault};

use super::steps::{Disk, State};

/// One composed file: its text before and after. Core composes the texts, without I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Path as written. Staging canonicalises it.
    pub path: String,
    /// Text before the change. `None` if the file did not exist.
    pub before: Option<String>,
    /// Text after the change. `None` if the file is deleted.
    pub after: Option<String>,
}

/// Why a set could not be staged.
#[derive(Debug, thiserror::Error)]
pub enum StageFault {
    /// The edits do not fit the current project; the issues go back to the model.
    #[error("the changes were rejected")]
    Refused(Vec<Issue>),
    /// The store could not keep the contents.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Checks every path and text of `edits` against the project, stores all contents and `diff` as blobs, and returns the
/// set. Edits that change nothing are left out. Nothing in the project is written.
///
/// # Errors
/// `Refused` with all issues together; the store's fault.
pub fn stage(edits: &[Edit], diff: &str, workspace: &Workspace, store: &dyn Store) -> Result<ChangeSet, StageFault> {
    let disk = Disk::new(workspace);
    let mut issues = Vec::new();
    let mut files: BTreeMap<String, (FileChange, &Edit)> = BTreeMap::new();
    for edit in edits {
        match staged(edit, workspace, &disk) {
            Ok(change) if change.before == change.after => {}
            Ok(change) => {
                if let Some((again, _)) = files.insert(change.path.clone(), (change, edit)) {
                    issues.push(refused(IssueCode::ChangeOverlap, "change-overlap", &again.path, ""));
                }
            }
            Err(issue) => issues.push(*issue),
        }
    }
    issues.extend(
        files
            .keys()
            .filter(|path| holds_another(path, &files))
            .map(|path| refused(IssueCode::ChangeOverlap, "change-parent", path, "")),
    );
    if !issues.is_empty() {
        return Err(StageFault::Refused(issues));
    }
    for (_, edit) in files.values() {
        for text in [&edit.before, &edit.after].into_iter().flatten() {
            store.put_blob(text.as_bytes())?;
        }
    }
    let diff = if diff.is_empty() { None } else { Some(store.put_blob(diff.as_bytes())?) };
    Ok(ChangeSet { files: files.into_values().map(|(change, _)| change).collect(), diff })
}

/// Whether another file of the set would be written below `path`, as if `path` were a directory.
fn holds_another(path: &str, files: &BTreeMap<String, (FileChange, &Edit)>) -> bool {
    let stays = files.get(path).is_some_and(|(change, _)| change.after.is_some());
    let prefix = format!("{path}/");
    stays && files.range(prefix.clone()..).next().is_some_and(|(other, _)| other.starts_with(&prefix))
}

fn staged(edit: &Edit, workspace: &Workspace, disk: &Disk<'_>) -> Result<FileChange, Box<Issue>> {
    let located = workspace.locate_writable(&edit.path).map_err(|fault| Box::new(path_issue(&fault, &edit.path)))?;
    let path = located.path().to_owned();
    let state = disk.state(&located.relative).map_err(|error| {
        Box::new(refused(IssueCode::FileUnreadable, "unreadable", &path, &crate::paths::reason(&error)))
    })?;
    let id = |text: &Option<String>| text.as_ref().map(|text| BlobId::of(text.as_bytes()));
    let (before, after) = (id(&edit.before), id(&edit.after));
    let (code, words) = match (&state, &before) {
        (State::Other, _) => (IssueCode::FileUnreadable, "not-a-file"),
        (State::File { .. }, None) => (IssueCode::FileExists, "file-exists"),
        (State::Absent, Some(_)) => (IssueCode::FileMissing, "stale-deleted"),
        (State::File { hash, .. }, Some(before)) if hash != before => (IssueCode::StaleLines, "stale"),
        (State::File { mode, .. }, Some(_)) => return Ok(FileChange { path, before, after, mode: Some(*mode) }),
        (State::Absent, None) => return Ok(FileChange { path, before, after, mode: None }),
    };
    Err(Box::new(refused(code, words, &path, "")))
}

/// The issue of a refused path.
pub(super) fn path_issue(fault: &PathFault, written: &str) -> Issue {
    match fault {
        PathFault::Outside(_) => refused(IssueCode::OutsideProject, "outside-project", written, ""),
        PathFault::Protected(_) => refused(IssueCode::ProtectedPath, "protected-path", written, ""),
        PathFault::Missing(_) => refused(IssueCode::FileMissing, "file-missing", written, ""),
        PathFault::Unreadable { reason, .. } | PathFault::Unwritable { reason, .. } => {
            refused(IssueCode::FileUnreadable, "not-written", written, reason)
        }
    }
}

/// An error about `path`, with the words of a key.
pub(super) fn refused(code: IssueCode, words: &str, path: &str, reason: &str) -> Issue {
    Finding {
        code,
        severity: Severity::Error,
        phase: Phase::Execute,
        task: None,
        target: path,
        words,
        values: &[("reason", reason)],
        allowed: Vec::new(),
    }
    .issue()
}
