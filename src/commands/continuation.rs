//! `continue`: follow up on a run that has ended (spec 2.17).

use callsheet_core::record::Outcome;
use callsheet_core::run::Stage;
use callsheet_runtime::driver::{Session, TakeUp};

use crate::cli::{ContinueArgs, Exit, Failure};
use crate::setup::{Setup, find_run};
use crate::term::one_line;

use super::drive::drive_failure;
use super::resume::take_up;
use super::run::request_text;

pub(super) fn continuation(setup: &Setup, arguments: &ContinueArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let found = find_run(&store, Some(&arguments.run), |_| true, "")?;
    let text = request_text(&arguments.request)?;
    if text.trim().is_empty() {
        return Err(Failure::usage("the follow-up is empty", "say what is to be done next"));
    }
    let (run, _) = Session::view(&store, &found.run).map_err(|fault| drive_failure(&fault, &found.run))?;
    let id = &found.run;
    if !matches!(run.stage(), Stage::Concluded(_) | Stage::Continue) {
        let advice = match (&found.owner, run.outcome()) {
            (Some(_), _) => format!("wait for it, or stop it: callsheet cancel {id}"),
            (None, Some(Outcome::ApprovalRequired)) => {
                format!("answer it (callsheet approve {id}, or deny), then: callsheet resume {id}")
            }
            (None, _) => format!("go on with it first: callsheet resume {id}"),
        };
        return Err(Failure::usage(format!("run {id} has not ended, so it cannot be followed up"), advice));
    }
    if let Some(former) = run.pending_follow_up().filter(|former| *former != text) {
        tell!("note: a follow-up before this one was never planned, and gives way to it: {}", one_line(former, 300));
    }
    take_up(setup, &arguments.work, store, id, run, TakeUp::Continue(text))
}
