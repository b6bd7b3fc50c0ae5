//! Withdraws a follow-up that has no list yet (spec 2.17).

use std::path::Path;
use std::sync::Arc;

use callsheet_core::events;
use callsheet_core::nouns::RunId;
use callsheet_core::record::Outcome;

use crate::paths::Workspace;
use crate::ports::{Clock, Store, SystemClock};
use crate::runfiles::RunFiles;

use super::session::Session;
use crate::effects::conclude::write_results;
use crate::fault::{DriveFault, InputFault};

/// Withdraws the follow-up of a run, and returns how the run had ended before it. `None` if there is no follow-up
/// without a list, or the run has not ended.
///
/// # Errors
/// If another process writes the run, or the store refuses.
pub fn withdraw(store: &Arc<dyn Store>, project: &Path, id: &RunId) -> Result<Option<Outcome>, DriveFault> {
    let workspace = Workspace::new(project, &[]).map_err(|fault| InputFault::Folder(fault.to_string()))?;
    let files = RunFiles::new(&workspace, id).map_err(DriveFault::defect)?;
    take_back(&mut Session::open(Arc::clone(store), id)?, &**store, &files)
}

/// Withdraws the follow-up under the lock of a session.
pub(super) fn take_back(
    session: &mut Session,
    store: &dyn Store,
    files: &RunFiles,
) -> Result<Option<Outcome>, DriveFault> {
    let Some(outcome) = session.run().without_follow_up() else { return Ok(None) };
    let event = events::FollowUpWithdrawn { outcome }.into();
    session.record_quietly(SystemClock.now_ms(), event)?;
    write_results(store, files, session.run(), outcome)?;
    Ok(Some(outcome))
}
