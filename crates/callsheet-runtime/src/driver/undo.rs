//! Undoing a run (spec 3.10).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::issue::Issue;
use callsheet_core::nouns::{ExecutionId, RunId, Slug};
use callsheet_core::record::{ChangeSet, FileChange};
use callsheet_core::run::{Effect, Run};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::branch::{commit_late, refuse_elsewhere};
use crate::changes::{self as disk, ApplyFault, Journal, Means};
use crate::paths::Workspace;
use crate::ports::{Clock, Store, SystemClock};
use crate::runfiles::{KeptFiles, RunFiles};

use super::session::Session;
use crate::effects::apply::defect;
use crate::effects::conclude::write_results;
use crate::fault::{DriveFault, InputFault};

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Undone {
    /// Paths that have their former content again.
    pub restored: Vec<String>,
    /// Paths of files that the run created and that are now deleted.
    pub deleted: Vec<String>,
    /// Paths of files that still contain changes of a set that was not undone because of another of its files, each
    /// with its task.
    pub kept: Vec<(String, Slug)>,
    /// Why change sets were not undone.
    pub refused: Vec<Issue>,
    /// What the person is told of the commits on the run's branch (spec 3.17).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Undone {
    /// Notes the state of a file. Older sets of the same file come later, and the last one counts.
    fn took_back(&mut self, file: &FileChange) {
        self.restored.retain(|path| *path != file.path);
        self.deleted.retain(|path| *path != file.path);
        let paths = if file.before.is_some() { &mut self.restored } else { &mut self.deleted };
        paths.push(file.path.clone());
    }

    /// Notes a set that was not undone. Even if newer sets of its files are undone, the files are not in their original
    /// state.
    fn left(&mut self, holding: Vec<String>, task: &Slug) {
        for path in holding {
            self.restored.retain(|known| *known != path);
            self.deleted.retain(|known| *known != path);
            self.kept.push((path, task.clone()));
        }
    }
}

/// A change set that is on disk.
pub(super) struct Applied {
    pub(super) task: Slug,
    pub(super) run: ExecutionId,
    pub(super) set: u32,
    pub(super) changes: ChangeSet,
}

/// Undoes the changes of a run, newest first, each set as a whole (spec 3.10). A set whose files were changed since is
/// left alone, and so are older sets of the same files. What an interrupted apply left is put back first. `of` limits
/// the undo to the changes of these tasks. `state` is the folder of the store; `tell` is told whom this waits for.
///
/// # Errors
/// If another process writes the run, or the disk fails.
pub fn undo(
    store: &Arc<dyn Store>,
    project: &Path,
    state: &Path,
    id: &RunId,
    of: Option<&BTreeSet<Slug>>,
    tell: &dyn Fn(&str),
) -> Result<Undone, DriveFault> {
    let workspace = Workspace::new(project, &[]).map_err(|fault| InputFault::Folder(fault.to_string()))?;
    let mut session = Session::open(Arc::clone(store), id)?;
    if let Some(branch) = &session.run().settings().branch {
        refuse_elsewhere(&workspace, branch).map_err(InputFault::from)?;
    }
    let files = RunFiles::new(&workspace, id).map_err(DriveFault::defect)?;
    let kept = KeptFiles::new(state, id).map_err(DriveFault::defect)?;
    let cancel = CancellationToken::new();
    let means = Means { workspace: &workspace, store: &**store, tell, cancel: &cancel };
    let undone = take_back(&mut session, &store.read(id, 1)?, (&files, &kept), of, means)?;
    session.close();
    Ok(undone)
}

/// Undoes changes under the lock of a session whose log is `entries`.
pub(super) fn take_back(
    session: &mut Session,
    entries: &[LogEntry],
    (files, kept): (&RunFiles, &KeptFiles),
    of: Option<&BTreeSet<Slug>>,
    means: Means<'_>,
) -> Result<Undone, DriveFault> {
    let workspace = means.workspace;
    let mut undone = Undone::default();
    for Applied { task, run, set, changes } in interrupted(session.run()) {
        let touched = disk::holding(&changes, workspace);
        let issues = disk::roll_back(&changes, &Journal::new(kept, &task, &run, set), means).map_err(defect)?;
        undone.refused.extend(issues);
        changes.files.iter().filter(|file| touched.contains(&file.path)).for_each(|file| undone.took_back(file));
    }
    for Applied { task, run, set, changes } in applied(entries, session.run()).into_iter().rev() {
        if of.is_some_and(|of| !of.contains(&task)) {
            continue;
        }
        let untouched = disk::originals(&changes, workspace);
        match disk::revert(&changes, &Journal::new(kept, &task, &run, set), means) {
            Ok(()) => {
                changes
                    .files
                    .iter()
                    .filter(|file| !untouched.contains(&file.path))
                    .for_each(|file| undone.took_back(file));
                let event = events::ChangesReverted { task, run, set }.into();
                session.record_quietly(SystemClock.now_ms(), event)?;
            }
            Err(ApplyFault::Refused(issues)) => {
                let new: Vec<_> = issues.into_iter().filter(|issue| !undone.refused.contains(issue)).collect();
                undone.refused.extend(new);
                undone.left(disk::holding(&changes, workspace), &task);
            }
            Err(fault) => return Err(defect(fault)),
        }
    }
    let notes = RefCell::new(Vec::new());
    commit_late(workspace, means.store, session.run(), &|note| notes.borrow_mut().push(note.to_owned()));
    undone.notes = notes.into_inner();
    if let Some(outcome) = session.run().outcome() {
        write_results(means.store, files, session.run(), outcome)?;
    }
    Ok(undone)
}

/// Sets that a process that has ended may have applied in part, newest first.
fn interrupted(run: &Run) -> Vec<Applied> {
    let outstanding = run.outstanding().into_iter().rev();
    let begun =
        outstanding.filter(|effect| run.is_in_flight(&effect.key()) || matches!(effect, Effect::RollBack { .. }));
    let set = |effect| match effect {
        Effect::ApplyChanges { task, run, set, changes } | Effect::RollBack { task, run, set, changes } => {
            Some(Applied { task, run, set, changes })
        }
        _ => None,
    };
    begun.filter_map(set).collect()
}

/// The sets of a run that are on disk now, oldest first.
pub(super) fn applied(entries: &[LogEntry], now: &Run) -> Vec<Applied> {
    let of = |entry: &LogEntry| match &entry.event {
        Event::ChangesApplied(events::ChangesApplied { task, run, set, changes }) => {
            let (task, run, set, changes) = (task.clone(), run.clone(), *set, changes.clone());
            Some(Applied { task, run, set, changes })
        }
        _ => None,
    };
    let stands = |set: &Applied| {
        let applied = now.task(&set.task).map(|task| task.applied.as_slice()).unwrap_or_default();
        applied.iter().any(|one| one.run == set.run && one.set == set.set && !one.reverted)
    };
    entries.iter().filter_map(of).filter(stands).collect()
}
