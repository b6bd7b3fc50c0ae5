//! Applying change sets, taking interrupted ones back, and undoing a run (spec 3.10).

use std::path::Path;
use std::sync::Arc;

use callsheet_core::record::{ChangeSet, Event, Fact, FileChange, VERSION};
use callsheet_core::reply::Issue;
use callsheet_core::run::Run;
use callsheet_core::spec::{ExecRunId, RunId, Slug};
use tokio_util::sync::CancellationToken;

use crate::changes::{self as disk, ApplyFault, Journal};
use crate::paths::Workspace;
use crate::ports::{Clock, Store, StoreFault, SystemClock};
use crate::runfiles::RunFiles;

use super::again::Again;
use super::work::{Landed, Outcome, Work, ready};
use super::{DriveFault, Session};

/// Applies a set whose start is on disk.
pub(super) fn apply(work: Work, of: &Run, task: Slug, run: ExecRunId, set: u32, changes: ChangeSet) -> Outcome {
    let mut again = match Again::of(&work.world, of, &task, &run, &changes) {
        Ok(again) => again,
        Err(fault) => return ready(Err(fault)),
    };
    Box::pin(async move {
        let Work { world, cancel } = work;
        blocking(move || {
            let journal = Journal::new(&world.files, &task, &run, set);
            let mut broken = None;
            let mut revalidate =
                |_: &ChangeSet, changed: Vec<Issue>| match again.take().map(|again| again.changes(&world)) {
                    Some(Ok(validated)) => validated,
                    Some(Err(fault)) => {
                        broken = Some(fault);
                        Err(changed)
                    }
                    None => Err(changed),
                };
            let applied = disk::apply(&changes, &world.workspace, &*world.store, &journal, &mut revalidate, &cancel);
            if let Some(fault) = broken {
                return Err(fault);
            }
            match applied {
                Ok(applied) => {
                    if applied != changes {
                        let said = "files changed after the changes were shown; they were validated again and fit";
                        world.notice(&format!("note: {task}: {said}"));
                    }
                    Ok(vec![Event::ChangesApplied { task, run, set, changes: applied }])
                }
                Err(ApplyFault::Refused(issues)) => Ok(vec![Event::ChangesRejected { task, run, set, issues }]),
                Err(ApplyFault::Cancelled) => Ok(Vec::new()),
                Err(fault) => Err(defect(fault)),
            }
        })
        .await
    })
}

/// Puts the originals of an interrupted apply back.
pub(super) fn roll_back(work: Work, task: Slug, run: ExecRunId, set: u32, _changes: ChangeSet) -> Outcome {
    Box::pin(async move {
        let Work { world, cancel } = work;
        blocking(move || {
            let journal = Journal::new(&world.files, &task, &run, set);
            match disk::roll_back(&world.workspace, &*world.store, &journal, &cancel) {
                Ok(issues) => {
                    issues.iter().for_each(|issue| world.notice(&issue.to_string()));
                    Ok(vec![Event::ChangesRolledBack { task, run, set }])
                }
                Err(ApplyFault::Cancelled) => Ok(Vec::new()),
                Err(fault) => Err(defect(fault)),
            }
        })
        .await
    })
}

async fn blocking(
    work: impl FnOnce() -> Result<Vec<Event>, DriveFault> + Send + 'static,
) -> Result<Landed, DriveFault> {
    tokio::task::spawn_blocking(work).await.map_err(DriveFault::defect)?.map(Landed::Facts)
}

fn defect(fault: ApplyFault) -> DriveFault {
    match fault {
        ApplyFault::Store(fault) => DriveFault::Store(fault),
        fault => DriveFault::Store(StoreFault::Broken(fault.to_string())),
    }
}

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Undone {
    /// Paths that hold their former content again.
    pub restored: Vec<String>,
    /// Paths of files that the run had made and that are gone again.
    pub deleted: Vec<String>,
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
}

/// Takes the changes of a run back, newest first, each set as a whole (spec 3.10). A set whose files were changed since
/// is left alone, and so are older sets of the same files.
///
/// # Errors
/// If another process writes the run, or the disk fails.
pub fn undo(store: &Arc<dyn Store>, project: &Path, id: &RunId) -> Result<Undone, DriveFault> {
    let session = Session::open(Arc::clone(store), id)?;
    let workspace = Workspace::new(project, &[]).map_err(|fault| DriveFault::Invalid(fault.to_string()))?;
    let files = RunFiles::new(&workspace, id).map_err(DriveFault::defect)?;
    let mut sets: Vec<(Slug, ExecRunId, u32, ChangeSet)> = Vec::new();
    for fact in store.read(id, 1)? {
        if let Event::ChangesApplied { task, run, set, changes } = fact.event {
            sets.push((task, run, set, changes));
        }
    }
    sets.retain(|(task, run, set, _)| {
        let applied = session.run().task(task).map(|task| task.applied.as_slice()).unwrap_or_default();
        applied.iter().any(|applied| applied.run == *run && applied.set == *set && !applied.reverted)
    });
    let mut undone = Undone::default();
    let mut session = session;
    for (task, run, set, changes) in sets.into_iter().rev() {
        let journal = Journal::new(&files, &task, &run, set);
        match disk::revert(&changes, &workspace, &**store, &journal, &CancellationToken::new()) {
            Ok(()) => {
                changes.files.iter().for_each(|file| undone.took_back(file));
                let n = session.facts() + 1;
                let event = Event::ChangesReverted { task, run, set };
                session.record_quietly(Fact { v: VERSION, n, at: SystemClock.now_ms(), event })?;
            }
            Err(ApplyFault::Refused(issues)) => undone.refused.extend(issues),
            Err(fault) => return Err(defect(fault)),
        }
    }
    session.close();
    Ok(undone)
}
