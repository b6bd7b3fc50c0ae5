//! Whoever looks at a run that no process drives, or answers it, has its edited sheet taken in first (spec 2.18).

use std::sync::Arc;

use callsheet_core::record::LogEntry;
use callsheet_core::run::Run;
use callsheet_runtime::driver::{self, Session};
use callsheet_runtime::ports::{RunSummary, Store};

use crate::cli::{Failure, OpenArgs};
use crate::setup::Setup;

use super::drive::{Front, drive_failure, without_model};
use super::resume::sheet_is_edited;

/// A run as it is recorded.
pub(super) struct Folded {
    /// Its state.
    pub run: Run,
    /// Its record.
    pub facts: Vec<LogEntry>,
}

/// A run without what its sheet may have been edited to since.
///
/// # Errors
/// Its record cannot be read.
pub(super) fn recorded(store: &Arc<dyn Store>, found: &RunSummary) -> Result<Folded, Failure> {
    let (run, facts) = Session::view(store, &found.run).map_err(|fault| drive_failure(&fault, &found.run))?;
    Ok(Folded { run, facts })
}

/// Takes an edit into a run that no process drives. True if more is recorded of the run than before.
///
/// # Errors
/// The edited sheet has errors, or it cannot be looked at.
pub(super) fn take_in(setup: &Setup, store: &Arc<dyn Store>, found: &RunSummary, run: &Run) -> Result<bool, Failure> {
    if found.owner.is_some() || !run.may_edit() || !sheet_is_edited(setup, &found.run, run)? {
        return Ok(false);
    }
    let services = without_model(
        setup,
        &Front::of_notices(),
        Arc::clone(store),
        &found.run,
        run.settings(),
        &OpenArgs::default(),
    )?;
    driver::apply_edit_if_idle(&services, &found.run).map_err(|fault| drive_failure(&fault, &found.run))
}
