//! Undoing a run (spec 3.10), with what the runs inside its calls changed (spec "Templates" 16).

use std::path::Path;
use std::sync::Arc;

use callsheet_core::issue::Issue;
use callsheet_core::record::{ChangeSet, Event, FileChange, LogEntry, VERSION};
use callsheet_core::spec::{ExecRunId, RunId, Slug};
use tokio_util::sync::CancellationToken;

use crate::changes::{self as disk, ApplyFault, Journal};
use crate::paths::Workspace;
use crate::ports::{Clock, Store, SystemClock};
use crate::runfiles::RunFiles;

use super::session::Session;
use super::template::runs_inside;
use crate::effects::apply::defect;
use crate::effects::conclude::write_results;
use crate::fault::{DriveFault, InputFault};

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Undone {
    /// Paths that hold their former content again.
    pub restored: Vec<String>,
    /// Paths of files that the run had made and that are gone again.
    pub deleted: Vec<String>,
    /// Paths of files that still hold changes of a set that was left alone because of another file of it, each with its
    /// task.
    pub kept: Vec<(String, Slug)>,
    /// Why change sets were left alone.
    pub refused: Vec<Issue>,
}

impl Undone {
    /// Notes what a file is now; older sets of the same file come later and have the last word.
    fn took_back(&mut self, file: &FileChange) {
        self.restored.retain(|path| *path != file.path);
        self.deleted.retain(|path| *path != file.path);
        let paths = if file.before.is_some() { &mut self.restored } else { &mut self.deleted };
        paths.push(file.path.clone());
    }

    /// Notes a set that was left alone. What newer sets did to its files may be taken back, and yet they are not what
    /// they were.
    fn left(&mut self, holding: Vec<String>, task: &Slug) {
        for path in holding {
            self.restored.retain(|known| *known != path);
            self.deleted.retain(|known| *known != path);
            self.kept.push((path, task.clone()));
        }
    }
}

/// A change set that is on disk.
struct Applied {
    /// When, milliseconds since the Unix epoch, and which fact of its run.
    at: (u64, u64),
    /// Index of its run.
    of: usize,
    task: Slug,
    run: ExecRunId,
    set: u32,
    changes: ChangeSet,
}

/// Takes the changes of a run and of the runs inside its calls back, newest first, each set as a whole (spec 3.10). A
/// set whose files were changed since is left alone, and so are older sets of the same files.
///
/// # Errors
/// If another process writes one of the runs, or the disk fails.
pub fn undo(store: &Arc<dyn Store>, project: &Path, id: &RunId) -> Result<Undone, DriveFault> {
    let workspace = Workspace::new(project, &[]).map_err(|fault| InputFault::Folder(fault.to_string()))?;
    let inner = runs_inside(store, id)?;
    let mut runs = Vec::new();
    let mut sets = Vec::new();
    for id in std::iter::once(id).chain(&inner) {
        let session = Session::open(Arc::clone(store), id)?;
        sets.extend(applied(store, &session, id, runs.len())?);
        runs.push((session, RunFiles::new(&workspace, id).map_err(DriveFault::defect)?));
    }
    sets.sort_by_key(|set| std::cmp::Reverse(set.at));
    let mut undone = Undone::default();
    for Applied { of, task, run, set, changes, .. } in sets {
        let Some((session, files)) = runs.get_mut(of) else { continue };
        let journal = Journal::new(files, &task, &run, set);
        match disk::revert(&changes, &workspace, &**store, &journal, &CancellationToken::new()) {
            Ok(()) => {
                changes.files.iter().for_each(|file| undone.took_back(file));
                let n = session.entries() + 1;
                let event = Event::ChangesReverted { task, run, set };
                session.record_quietly(LogEntry { v: VERSION, n, at: SystemClock.now_ms(), event })?;
            }
            Err(ApplyFault::Refused(issues)) => {
                let new: Vec<_> = issues.into_iter().filter(|issue| !undone.refused.contains(issue)).collect();
                undone.refused.extend(new);
                undone.left(disk::holding(&changes, &workspace), &task);
            }
            Err(fault) => return Err(defect(fault)),
        }
    }
    for (mut session, files) in runs {
        if let Some(outcome) = session.run().outcome() {
            write_results(&**store, &files, session.run(), outcome)?;
        }
        session.close();
    }
    Ok(undone)
}

/// Whether a run inside a call of `id` changed files that nobody took back.
///
/// # Errors
/// If the store cannot be read.
pub fn changed_inside(store: &Arc<dyn Store>, id: &RunId) -> Result<bool, DriveFault> {
    for inner in runs_inside(store, id)? {
        let (run, _) = Session::view(store, &inner)?;
        if run.tasks().flat_map(|task| &task.applied).any(|applied| !applied.reverted) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a run has on disk now.
fn applied(store: &Arc<dyn Store>, session: &Session, id: &RunId, of: usize) -> Result<Vec<Applied>, DriveFault> {
    let mut sets = Vec::new();
    for fact in store.read(id, 1)? {
        let Event::ChangesApplied { task, run, set, changes } = fact.event else { continue };
        let applied = session.run().task(&task).map(|task| task.applied.as_slice()).unwrap_or_default();
        if applied.iter().any(|applied| applied.run == run && applied.set == set && !applied.reverted) {
            sets.push(Applied { at: (fact.at, fact.n), of, task, run, set, changes });
        }
    }
    Ok(sets)
}
