//! Applying change sets, and taking interrupted ones back (spec 3.10).

use callsheet_core::record::{ChangeSet, Event, FileChange};
use callsheet_core::reply::Issue;
use callsheet_core::run::Run;
use callsheet_core::spec::{ExecRunId, Slug};

use crate::changes::{self as disk, ApplyFault, Journal};
use crate::ports::StoreFault;

use super::DriveFault;
use super::again::Again;
use super::work::{Landed, Outcome, Work, ready};

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
                    Some(Ok(Ok(validated))) if !is_as_shown(&changes, &validated) => Err(changed),
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
                Err(ApplyFault::Refused(issues)) => {
                    // A person may have approved them, and is asked again for others.
                    world.notice(&format!("note: {task}: its changes could not be made; nothing of them was:"));
                    issues.iter().for_each(|issue| world.notice(&format!("{}: {issue}", issue.code)));
                    Ok(vec![Event::ChangesRejected { task, run, set, issues }])
                }
                Err(ApplyFault::Cancelled) => Ok(Vec::new()),
                Err(fault) => Err(defect(fault)),
            }
        })
        .await
    })
}

/// Whether a set that was validated again does to each file what a person was shown: the same files are made, edited and
/// deleted, and none is deleted with text that nobody saw.
fn is_as_shown(shown: &ChangeSet, now: &ChangeSet) -> bool {
    let same = |shown: &FileChange, now: &FileChange| {
        let way = (shown.before.is_some(), shown.after.is_some()) == (now.before.is_some(), now.after.is_some());
        shown.path == now.path && way && (shown.after.is_some() || shown.before == now.before)
    };
    shown.files.len() == now.files.len() && shown.files.iter().zip(&now.files).all(|(shown, now)| same(shown, now))
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

pub(super) fn defect(fault: ApplyFault) -> DriveFault {
    match fault {
        ApplyFault::Store(fault) => DriveFault::Store(fault),
        fault => DriveFault::Store(StoreFault::Broken(fault.to_string())),
    }
}
