//! Applies, rolls back and reverts a change set under the project's lock.

use std::io;

use callsheet_core::issue::{Issue, IssueCode};
use callsheet_core::nouns::BlobId;
use callsheet_core::record::ChangeSet;
use callsheet_format::edit::rebase;
use tokio_util::sync::CancellationToken;

use crate::paths::Workspace;
use crate::ports::{Store, StoreFault};
use crate::runfiles::RunFileFault;

use super::journal::{Entry, Journal};
use super::lock::ProjectLock;
use super::stage::{path_issue, refused};
use super::steps::{Disk, Move, State, Step, backwards, forwards, steps};

/// Why a set was not applied, rolled back or reverted.
#[derive(Debug, thiserror::Error)]
pub enum ApplyFault {
    /// Nothing of the set is on disk; the issues say why.
    #[error("can't apply the changes")]
    Refused(Vec<Issue>),
    /// Files differ from the state for which the set was made; the issues name them. Nothing of the set is on disk.
    #[error("files changed since the changes were made")]
    Moved(Vec<Issue>),
    /// The apply failed midway, and not all originals could be put back. The journal stays, so `roll_back` can be tried
    /// again.
    #[error("applying the changes failed midway, and some could not be undone: {0}")]
    Torn(String),
    /// A content is not in the store.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// The journal could not be written or read; nothing was touched.
    #[error("can't use the journal: {0}")]
    Journal(#[from] RunFileFault),
    /// The project's lock could not be used; nothing was touched.
    #[error("can't use the project's lock: {0}")]
    Lock(#[source] io::Error),
    /// Cancelled while waiting for the lock; nothing was touched.
    #[error("cancelled")]
    Cancelled,
}

/// What is needed to change files.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The project.
    pub workspace: &'a Workspace,
    /// The contents.
    pub store: &'a dyn Store,
    /// Is told whom this waits for.
    pub tell: &'a dyn Fn(&str),
    /// Ends the waiting.
    pub cancel: &'a CancellationToken,
}

/// Applies all of `set` or nothing (spec 3.10). Blocks its thread, so a driver calls it from a blocking task. A set
/// that is already on disk is refused like any other mismatch.
///
/// # Errors
/// See `ApplyFault`.
pub fn apply(set: &ChangeSet, journal: &Journal, means: Means<'_>) -> Result<(), ApplyFault> {
    apply_watched(set, journal, means, &mut |_| Ok(()))
}

/// Like `apply`, but calls a function before each step, which can make it fail.
pub(super) fn apply_watched(
    set: &ChangeSet,
    journal: &Journal,
    means: Means<'_>,
    watch: &mut dyn FnMut(&Step) -> io::Result<()>,
) -> Result<(), ApplyFault> {
    let Means { workspace, store, .. } = means;
    let _lock = locked(journal, means)?;
    let disk = Disk::new(workspace);
    let moved = mismatches(set, workspace, &disk);
    if !moved.is_empty() {
        return Err(ApplyFault::Moved(moved));
    }
    for content in set.files.iter().flat_map(|file| [&file.before, &file.after]).flatten() {
        store.blob(content)?;
    }
    let moves = forwards(set);
    let created = disk.missing_directories(&moves);
    // Whatever ends this process from here on, the record knows what it was about to do.
    store.persist()?;
    let paths = set.files.iter().map(|file| file.path.clone()).collect();
    journal.begin(&Entry { created: created.clone(), paths })?;
    let performed = perform_all(&disk, &moves, &created, store, watch);
    if let Err(ApplyFault::Refused(_)) = &performed {
        journal.discard()?;
    }
    performed
}

/// Puts back the originals of `set` after an interrupted apply. If the apply had not begun, there is nothing to do.
/// Files that have neither the old nor the new content were changed by somebody else in the meantime: they are left
/// alone, and a warning names each.
///
/// # Errors
/// `Torn` if an original could not be written, or a path leads elsewhere now. It can be tried again.
pub fn roll_back(set: &ChangeSet, journal: &Journal, means: Means<'_>) -> Result<Vec<Issue>, ApplyFault> {
    let Means { workspace, store, .. } = means;
    let _lock = locked(journal, means)?;
    let Some(entry) = journal.begun()? else { return Ok(Vec::new()) };
    let disk = Disk::new(workspace);
    let moves = forwards(set);
    for file in &moves {
        checked_state(&file.path.to_string_lossy(), file, workspace, &disk)
            .map_err(|issue| ApplyFault::Torn(issue.to_string()))?;
    }
    let conflicts =
        disk.put_back(&moves, &entry.made_for(set), store).map_err(|error| ApplyFault::Torn(error.to_string()))?;
    journal.discard()?;
    Ok(conflicts
        .iter()
        .map(|path| {
            let mut issue = refused(IssueCode::StaleLines, "put-back-conflict", path, "");
            issue.severity = callsheet_core::issue::Severity::Warning;
            issue
        })
        .collect())
}

/// Reverts an applied set as a whole. Files with their original content already count as reverted. In a file that was
/// changed since, only the set's own changes are reverted, by the rule by which an apply adds changes to such a file.
///
/// # Errors
/// `Refused` with every file whose changed lines were changed since. Nothing is reverted then.
pub fn revert(set: &ChangeSet, journal: &Journal, means: Means<'_>) -> Result<(), ApplyFault> {
    revert_watched(set, journal, means, &mut |_| Ok(()))
}

/// Like `revert`, but calls a function before each step, which can make it fail.
pub(super) fn revert_watched(
    set: &ChangeSet,
    journal: &Journal,
    means: Means<'_>,
    watch: &mut dyn FnMut(&Step) -> io::Result<()>,
) -> Result<(), ApplyFault> {
    let Means { workspace, store, .. } = means;
    let _lock = locked(journal, means)?;
    let disk = Disk::new(workspace);
    let mut issues = Vec::new();
    let mut moves = Vec::new();
    for file in backwards(set) {
        let path = file.path.to_string_lossy().into_owned();
        match checked_state(&path, &file, workspace, &disk) {
            Err(issue) => issues.push(*issue),
            Ok(state) if state.is(file.to.as_ref()) => {}
            Ok(state) if state.is(file.from.as_ref()) => moves.push(file),
            Ok(state) => match merged(&file, &state, workspace, store)? {
                Some(file) => moves.push(file),
                None => issues.push(refused(IssueCode::StaleLines, "changed-since", &path, "")),
            },
        }
    }
    if !issues.is_empty() {
        return Err(ApplyFault::Refused(issues));
    }
    for content in moves.iter().flat_map(|file| [&file.from, &file.to]).flatten() {
        store.blob(content)?;
    }
    let ours = journal.begun()?.map(|entry| entry.made_for(set)).unwrap_or_default();
    let created = disk.missing_directories(&moves);
    perform_all(&disk, &moves, &created, store, watch)?;
    disk.remove_directories(&ours).map_err(|error| ApplyFault::Torn(error.to_string()))?;
    Ok(())
}

/// The largest file that is merged.
const MERGED_LIMIT: usize = 16 * 1024 * 1024;

/// The move that removes a set's lines from a file that was changed since. `None` if both changed the same lines, or if
/// there is nothing to merge.
fn merged(file: &Move, state: &State, workspace: &Workspace, store: &dyn Store) -> Result<Option<Move>, ApplyFault> {
    let (State::File { hash, .. }, Some(made), Some(former)) = (state, &file.from, &file.to) else { return Ok(None) };
    let located = workspace.locate_writable(&file.path.to_string_lossy()).ok();
    let now = located.and_then(|located| workspace.read(&located, MERGED_LIMIT).ok());
    let now = now.filter(|now| !now.truncated && BlobId::of(&now.bytes) == *hash);
    let texts = (now.map(|now| now.bytes), store.blob(made)?, store.blob(former)?);
    let (Some(now), made, former) = texts else { return Ok(None) };
    let (Ok(now), Ok(made), Ok(former)) = (String::from_utf8(now), String::from_utf8(made), String::from_utf8(former))
    else {
        return Ok(None);
    };
    let Some(text) = rebase(&made, &former, &now) else { return Ok(None) };
    // The current content is needed if a later step fails and everything is put back.
    store.put_blob(now.as_bytes())?;
    let to = store.put_blob(text.as_bytes())?;
    Ok(Some(Move { from: Some(hash.clone()), to: Some(to), ..file.clone() }))
}

/// Paths of files that contain changes of a set.
pub fn holding(set: &ChangeSet, workspace: &Workspace) -> Vec<String> {
    let disk = Disk::new(workspace);
    let holds = |file: &Move| {
        let path = file.path.to_string_lossy();
        file.from != file.to
            && checked_state(&path, file, workspace, &disk).is_ok_and(|state| state.is(file.from.as_ref()))
    };
    backwards(set).into_iter().filter(holds).map(|file| file.path.to_string_lossy().into_owned()).collect()
}

/// Which files of an applied set already have their original content, so that a revert leaves them as they are.
pub fn originals(set: &ChangeSet, workspace: &Workspace) -> Vec<String> {
    let disk = Disk::new(workspace);
    let is_original = |file: &Move| {
        let path = file.path.to_string_lossy();
        checked_state(&path, file, workspace, &disk).is_ok_and(|state| state.is(file.to.as_ref()))
    };
    backwards(set).into_iter().filter(is_original).map(|file| file.path.to_string_lossy().into_owned()).collect()
}

fn locked(journal: &Journal, means: Means<'_>) -> Result<ProjectLock, ApplyFault> {
    let lock = ProjectLock::take(journal.files(), means.tell, means.cancel);
    lock.map_err(ApplyFault::Lock)?.ok_or(ApplyFault::Cancelled)
}

/// Performs all steps, or puts everything back.
fn perform_all(
    disk: &Disk<'_>,
    moves: &[Move],
    created: &[String],
    store: &dyn Store,
    watch: &mut dyn FnMut(&Step) -> io::Result<()>,
) -> Result<(), ApplyFault> {
    for step in steps(moves) {
        if let Err(error) = watch(&step).and_then(|()| disk.perform(&step, store)) {
            let reason = crate::paths::reason(&error);
            let conflicts =
                disk.put_back(moves, created, store).map_err(|again| ApplyFault::Torn(format!("{reason}; {again}")))?;
            let mut issues = vec![refused(IssueCode::FileUnreadable, "not-written", &step_path(&step), &reason)];
            let left = |path: &String| refused(IssueCode::StaleLines, "put-back-conflict", path, "");
            issues.extend(conflicts.iter().map(left));
            return Err(ApplyFault::Refused(issues));
        }
    }
    Ok(())
}

fn step_path(step: &Step) -> String {
    let path = match step {
        Step::MakeDirectories(path) => path,
        Step::WriteBeside(file) | Step::PutInPlace(file) | Step::Remove(file) => &file.path,
    };
    path.to_string_lossy().into_owned()
}

/// One issue for each file that differs from when the set was validated.
fn mismatches(set: &ChangeSet, workspace: &Workspace, disk: &Disk<'_>) -> Vec<Issue> {
    let mut issues = Vec::new();
    for file in forwards(set) {
        let path = file.path.to_string_lossy().into_owned();
        match checked_state(&path, &file, workspace, disk) {
            Err(issue) => issues.push(*issue),
            Ok(state) if state.is(file.from.as_ref()) => {}
            Ok(State::Absent) => issues.push(refused(IssueCode::FileMissing, "stale-deleted", &path, "")),
            Ok(_) if file.from.is_none() => issues.push(refused(IssueCode::FileExists, "file-exists", &path, "")),
            Ok(_) => issues.push(refused(IssueCode::StaleLines, "stale", &path, "")),
        }
    }
    issues
}

/// The state of a file. Its path is checked again (spec 5.6), because it must still mean the same place.
fn checked_state(path: &str, file: &Move, workspace: &Workspace, disk: &Disk<'_>) -> Result<State, Box<Issue>> {
    let located = workspace.locate_writable(path).map_err(|fault| Box::new(path_issue(&fault, path)))?;
    if located.relative != file.path {
        return Err(Box::new(refused(IssueCode::StaleLines, "stale", path, "")));
    }
    disk.state(&file.path).map_err(|error| {
        Box::new(refused(IssueCode::FileUnreadable, "unreadable", path, &crate::paths::reason(&error)))
    })
}
