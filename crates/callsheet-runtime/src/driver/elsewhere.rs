//! Changes that a run made on another machine (spec 14.2). The journal names those that it made here, so whatever is
//! applied and has no entry was applied elsewhere.

use std::collections::BTreeSet;

use callsheet_core::nouns::RunId;
use callsheet_core::run::{AppliedSet, Run, TaskRun};

use crate::changes::{Journal, holding};
use crate::fault::{DriveFault, InputFault};
use crate::paths::Workspace;
use crate::ports::Store;
use crate::runfiles::KeptFiles;

use super::undo::applied;

/// Files that a run changed elsewhere and that do not have the recorded content here.
///
/// # Errors
/// The record or the journal cannot be read.
pub fn differs_here(
    store: &dyn Store,
    workspace: &Workspace,
    kept: &KeptFiles,
    (id, run): (&RunId, &Run),
) -> Result<Vec<String>, DriveFault> {
    if applied_elsewhere(kept, run)?.is_empty() {
        return Ok(Vec::new());
    }
    let mut differing = BTreeSet::new();
    for set in applied(&store.read(id, 1)?, run) {
        let is_here = Journal::new(kept, &set.task, &set.run, set.set).is_begun().map_err(DriveFault::defect)?;
        let as_recorded = holding(&set.changes, workspace);
        // The last set of a file counts.
        for file in set.changes.files.iter().filter(|file| file.before != file.after) {
            if is_here || as_recorded.contains(&file.path) {
                differing.remove(&file.path);
            } else {
                differing.insert(file.path.clone());
            }
        }
    }
    Ok(differing.into_iter().collect())
}

/// Refuses to go on with a run whose changes from elsewhere are not in the files here. Afterwards, the files count as
/// those of the run, so later changes of them by a person do not matter.
pub(super) fn take_files_over(
    store: &dyn Store,
    workspace: &Workspace,
    kept: &KeptFiles,
    (id, run): (&RunId, &Run),
) -> Result<(), DriveFault> {
    let files = differs_here(store, workspace, kept, (id, run))?;
    if !files.is_empty() {
        return Err(InputFault::FilesDiffer(files).into());
    }
    accept_files(kept, run)
}

/// Makes the files here count as those of the run, whatever they contain.
///
/// # Errors
/// The journal cannot be written.
pub fn accept_files(kept: &KeptFiles, run: &Run) -> Result<(), DriveFault> {
    for journal in applied_elsewhere(kept, run)? {
        journal.accept().map_err(DriveFault::defect)?;
    }
    Ok(())
}

/// Makes the files that count as those of a run count as those of another run with the same events, such as a fork.
///
/// # Errors
/// The journal cannot be read or written.
pub fn share_files(of: &KeptFiles, with: &KeptFiles, run: &Run) -> Result<(), DriveFault> {
    for (task, set) in standing(run) {
        let journal = |kept| Journal::new(kept, &task.task.slug, &set.run, set.set);
        if journal(of).is_begun().map_err(DriveFault::defect)? {
            journal(with).accept().map_err(DriveFault::defect)?;
        }
    }
    Ok(())
}

/// The journals of the sets that are applied according to the record, but were not applied here.
fn applied_elsewhere(kept: &KeptFiles, run: &Run) -> Result<Vec<Journal>, DriveFault> {
    let mut elsewhere = Vec::new();
    for (task, set) in standing(run) {
        let journal = Journal::new(kept, &task.task.slug, &set.run, set.set);
        if !journal.is_begun().map_err(DriveFault::defect)? {
            elsewhere.push(journal);
        }
    }
    Ok(elsewhere)
}

/// The applied sets that were not reverted.
fn standing(run: &Run) -> impl Iterator<Item = (&TaskRun, &AppliedSet)> {
    run.all_tasks().flat_map(|task| task.applied.iter().filter(|set| !set.reverted).map(move |set| (task, set)))
}
