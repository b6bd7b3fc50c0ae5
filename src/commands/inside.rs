//! Runs inside calls of others (spec "Templates" 16): a person answers the run that was begun, whichever of them asks.

use std::sync::Arc;

use callsheet_core::record::Outcome;
use callsheet_core::run::Run;
use callsheet_core::spec::RunId;
use callsheet_runtime::driver::{Session, open_gate, open_question, runs_inside};
use callsheet_runtime::ports::Store;

use crate::cli::Failure;

use super::drive::drive_failure;

/// The run that asks a person for `outcome`, which is `run` itself or one inside a call of it, with its fold.
///
/// # Errors
/// An inner run cannot be read.
pub(super) fn asking_run(
    store: &Arc<dyn Store>,
    id: &RunId,
    run: Run,
    outcome: Outcome,
) -> Result<(RunId, Run), Failure> {
    let asks = |run: &Run| match outcome {
        Outcome::ApprovalRequired => open_gate(run).is_some(),
        _ => open_question(run).is_some(),
    };
    if !asks(&run) {
        // Of a living run the call is in flight, and only the inner run knows that it asks.
        for inner in runs_inside(store, id).map_err(|fault| drive_failure(&fault, id))? {
            let (inner_run, _) = Session::view(store, &inner).map_err(|fault| drive_failure(&fault, &inner))?;
            if asks(&inner_run) {
                return Ok((inner, inner_run));
            }
        }
    }
    Ok((id.clone(), run))
}
