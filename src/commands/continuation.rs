//! `continue`: follows up on a run that has ended (spec 2.17).

use std::sync::Arc;

use callsheet_app::{Advice, Stage, result_of_tree};
use callsheet_core::record::Outcome;
use callsheet_runtime::driver::{ResumeKind, withdraw};
use callsheet_runtime::ports::{Asked, RunSummary, Store};

use crate::cli::{ContinueArgs, Exit, Failure};
use crate::setup::{Setup, find_run, recorded, store_failure};
use crate::term::{one_line, outcome_words};

use super::drive::drive_failure;
use super::resume::resume_run;
use super::run::{follow_up, request_text};

pub(super) fn continuation(setup: &Setup, arguments: &ContinueArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let (named, request) = run_and_request(arguments);
    let has_ended = |run: &RunSummary| arguments.withdraw || run.owner.is_none() && run.outcome.is_some();
    let found = find_run(&store, named, has_ended, "ended")?;
    if arguments.withdraw {
        return take_back(setup, &store, &found);
    }
    let text = request_text(&request)?;
    if text.trim().is_empty() {
        let advice = format!("write what to do next: {} continue {} \"…\"", setup.command, found.run);
        return Err(Failure::usage("the follow-up is empty", advice));
    }
    let run = recorded(&store, &found)?.run;
    let id = &found.run;
    if !matches!(run.about().stage, Stage::Concluded(_) | Stage::Continue) {
        let advice = match (&found.owner, run.about().outcome) {
            (Some(_), _) => Advice::command("wait for it, or cancel it", ["cancel", id.as_str()]),
            (None, Some(Outcome::ApprovalRequired)) => {
                Advice::command("answer it first", ["approve", id.as_str(), "--resume"])
                    .or("or", ["deny", id.as_str(), "--resume"])
            }
            (None, _) => Advice::command("finish it first", ["resume", id.as_str()]),
        };
        return Err(Failure::usage(format!("run {id} has not ended, so you cannot continue it"), advice));
    }
    if run.about().tree.is_some() {
        tell!("note: {id} runs a template, so the follow-up is a new run, which reads its result");
        let result = result_of_tree(&setup.runs(), &run).map(|result| result.words().into_owned());
        return follow_up(setup, arguments, &text, &result.unwrap_or_default());
    }
    if let Some(former) = run.about().pending_follow_up.filter(|former| *former != text) {
        tell!("note: this follow-up replaces an earlier one that was never planned: {}", one_line(former, 300));
    }
    resume_run(setup, &arguments.work, store, id, run, ResumeKind::Continue(text))
}

/// The named run, and the request. No name of a run contains a blank, so a request in quotes that stands alone is for
/// the newest run.
fn run_and_request(arguments: &ContinueArgs) -> (Option<&str>, String) {
    let request = arguments.request.join(" ");
    match arguments.run.as_deref() {
        Some(alone) if request.is_empty() && (alone == "-" || alone.contains(char::is_whitespace)) => {
            (None, alone.to_owned())
        }
        named => (named, request),
    }
}

/// Withdraws a follow-up that has no list yet.
fn take_back(setup: &Setup, store: &Arc<dyn Store>, found: &RunSummary) -> Result<Exit, Failure> {
    let id = &found.run;
    let outcome = match store.hosting() {
        Some(hosting) => hosting.ask(id, Asked::Withdraw, None).map_err(store_failure)?.before,
        None => withdraw(store, &setup.project, id).map_err(|fault| drive_failure(&fault, id))?,
    };
    let Some(outcome) = outcome else {
        let what = format!("run {id} has no follow-up to withdraw");
        return Err(Failure::usage(what, "you can withdraw a follow-up only while it has no task list"));
    };
    let words = format!("withdrew the follow-up; run {id} is as it was before: {}", outcome_words(outcome));
    super::say(setup, &words).map(|()| Exit::Complete)
}
