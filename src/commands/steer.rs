//! `retry`, `drop` and `fork` (spec 2.18): repeats or removes tasks, and begins a run at a point of another one. A run that a process drives does this at once.

use callsheet_app::{Receipt, RunCommand, RunControl};
use callsheet_core::record::Outcome;
use callsheet_runtime::driver::ResumeKind;
use callsheet_runtime::ports::RunSummary;

use crate::cli::{DropArgs, Exit, Failure, ForkArgs, RetryArgs};
use crate::setup::{Setup, find_run, recorded};

use super::answer::{order, say};
use super::raise::{raise, refuse_flags};
use super::resume::resume_run;

pub(super) fn retry(setup: &Setup, arguments: &RetryArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let is_incomplete = |run: &RunSummary| !matches!(run.outcome, Some(Outcome::Complete | Outcome::Planned));
    let found = find_run(&store, arguments.run.as_deref(), is_incomplete, "incomplete")?;
    if found.owner.is_some() {
        refuse_flags(setup, &found.run)?;
    }
    let receipt = order(
        setup,
        &found.run,
        RunCommand::Retry {
            tasks: arguments.tasks.clone(),
            keep_changes: arguments.keep_changes,
            because: arguments.because.clone().unwrap_or_default(),
        },
    )?;
    if receipt.is_sent() {
        let raised = raise(setup, &found.run)?;
        let what: Vec<String> = raised.into_iter().map(|raised| raised.what).chain([receipt.what.clone()]).collect();
        return say(setup, &Receipt { what: what.join(", "), ..receipt });
    }
    let run = recorded(&store, &found)?.run;
    resume_run(setup, &arguments.work, store, &found.run, run, ResumeKind::Resume)
}

pub(super) fn fork(setup: &Setup, arguments: &ForkArgs) -> Result<Exit, Failure> {
    let found = find_run(&setup.existing_store()?, arguments.run.as_deref(), |_| true, "")?;
    say(setup, &setup.runs().fork(&found.run, arguments.at.as_deref())?)
}

pub(super) fn drop_tasks(setup: &Setup, arguments: &DropArgs) -> Result<Exit, Failure> {
    let found = find_run(&setup.existing_store()?, Some(&arguments.run), |_| true, "")?;
    say(setup, &order(setup, &found.run, RunCommand::Remove { tasks: arguments.tasks.clone() })?)
}
