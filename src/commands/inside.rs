//! Runs inside calls of others (spec "Templates" 16): a person answers the run that was begun, whichever of them asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::record::Outcome;
use callsheet_core::run::Run;
use callsheet_core::spec::{RunId, Slug};
use callsheet_runtime::driver::{Session, caller_of, open_gates, open_question, runs_inside};
use callsheet_runtime::ports::{Store, address};

use crate::cli::Failure;

use super::drive::drive_failure;

/// The runs that ask a person for `outcome`: `run` itself, and those inside calls of it in the order of the tasks that
/// made them, each with its fold.
///
/// # Errors
/// An inner run cannot be read.
pub(super) fn asking_runs(
    store: &Arc<dyn Store>,
    id: &RunId,
    run: Run,
    outcome: Outcome,
) -> Result<Vec<(RunId, Run)>, Failure> {
    let asks = |run: &Run| match outcome {
        Outcome::ApprovalRequired => open_gates(run).next().is_some(),
        _ => open_question(run).is_some(),
    };
    let called = run.steps().iter().flatten().enumerate().map(|(index, task)| (Some(task.clone()), index));
    let order: BTreeMap<Option<Slug>, usize> = called.collect();
    let mut asking = vec![(id.clone(), run)];
    // Of a living run the call is in flight, and only the inner run knows that it asks.
    for inner in runs_inside(store, id).map_err(|fault| drive_failure(&fault, id))? {
        let (folded, _) = Session::view(store, &inner).map_err(|fault| drive_failure(&fault, &inner))?;
        asking.push((inner, folded));
    }
    asking.retain(|(_, run)| asks(run));
    asking.sort_by_key(|(id, _)| order.get(&caller_of(id)).copied());
    Ok(asking)
}

/// The open questions of a run and of those inside it, each with the name of the task that asks.
pub(super) fn questions(store: &Arc<dyn Store>, id: &RunId, run: &Run) -> Result<Vec<(String, String)>, Failure> {
    let asking = asking_runs(store, id, run.clone(), Outcome::InputRequired)?;
    let asked = asking.iter().filter_map(|(id, run)| Some((caller_of(id), open_question(run)?)));
    Ok(asked.map(|(inside, (task, question))| (address(inside.as_ref(), &task), question)).collect())
}
