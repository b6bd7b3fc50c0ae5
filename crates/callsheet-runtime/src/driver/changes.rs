//! Applying change sets, and taking interrupted ones back (spec 3.10).

use callsheet_core::issue::Issue;
use callsheet_core::record::{ChangeSet, Event};
use callsheet_core::spec::{ExecRunId, Slug};

use crate::changes::{self as disk, ApplyFault, Journal};
use crate::ports::StoreFault;

use super::work::{Landed, Outcome, Work};
use super::{DriveFault, World, parts};

/// Applies a set whose start is on disk. Where a file moved since it was made, nothing is applied: the set is laid over
/// the file as it is now, and what a person did not see so goes back to the gate.
pub(super) fn apply(work: Work, task: Slug, run: ExecRunId, set: u32, changes: ChangeSet) -> Outcome {
    Box::pin(async move {
        let Work { world, cancel } = work;
        blocking(move || {
            let journal = Journal::new(&world.files, &task, &run, set);
            match disk::apply(&changes, &world.workspace, &*world.store, &journal, &cancel) {
                Ok(()) => Ok(vec![Event::ChangesApplied { task, run, set, changes }]),
                Err(ApplyFault::Moved(issues)) => match parts::rebased(&world, &changes)? {
                    Ok((changes, as_shown)) => {
                        if !as_shown {
                            let paths: Vec<&str> =
                                issues.iter().filter_map(|issue| issue.place.item.as_deref()).collect();
                            let paths = paths.join(", ");
                            world.notice(&format!(
                                "note: {task}: {paths} changed in the meantime; here is the change adapted to it"
                            ));
                        }
                        Ok(vec![Event::ChangesRebased { task, run, set, changes, as_shown }])
                    }
                    Err(none) => {
                        Ok(vec![rejected(&world, task, run, set, if none.is_empty() { issues } else { none })])
                    }
                },
                Err(ApplyFault::Refused(issues)) => Ok(vec![rejected(&world, task, run, set, issues)]),
                Err(ApplyFault::Cancelled) => Ok(Vec::new()),
                Err(fault) => Err(defect(fault)),
            }
        })
        .await
    })
}

/// A person may have approved them, and is asked again for others.
fn rejected(world: &World, task: Slug, run: ExecRunId, set: u32, issues: Vec<Issue>) -> Event {
    world.notice(&format!("note: {task}: can't apply its changes; none was applied:"));
    issues.iter().for_each(|issue| world.notice(&format!("{}: {issue}", issue.code)));
    Event::ChangesRejected { task, run, set, issues }
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
