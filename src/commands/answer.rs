//! `approve`, `deny` and `cancel`, from any terminal.

use std::collections::BTreeMap;

use callsheet_app::{Arrival, Order, Receipt, RunCommand, RunControl, WordCount, settled};
use callsheet_core::nouns::RunId;
use callsheet_core::record::{AnsweredBy, Outcome};
use callsheet_runtime::driver::ResumeKind;
use callsheet_runtime::ports::RunSummary;

use crate::cli::{ApproveArgs, DenyArgs, EditArg, Exit, Failure, RunNameArgs, WorkArgs};
use crate::setup::{Setup, find_run, recorded};
use crate::term::hunk_of;

use super::resume::resume_run;

/// The run to answer: the named one, or the newest run that may wait for an answer.
fn waiting(setup: &Setup, run: Option<&str>) -> Result<RunId, Failure> {
    let waits = |run: &RunSummary| run.owner.is_some() || run.outcome == Some(Outcome::ApprovalRequired);
    Ok(find_run(&setup.existing_store()?, run, waits, "waiting")?.run)
}

/// Gives a command from the command line. Waits until an answer is recorded.
pub(super) fn order(setup: &Setup, run: &RunId, command: RunCommand) -> Result<Receipt, Failure> {
    let (runs, order) = (setup.runs(), Order::new(AnsweredBy::Command, command)?);
    Ok(settled(&runs, &order, runs.order(run, &order)?)?)
}

fn say_notes(setup: &Setup, receipt: &Receipt) -> Result<(), Failure> {
    receipt.notes.steps().iter().try_for_each(|note| super::say(setup, &note.for_shell(&setup.command)))
}

/// Prints the outcome of a command.
pub(super) fn say(setup: &Setup, receipt: &Receipt) -> Result<Exit, Failure> {
    say_notes(setup, receipt)?;
    let words = match &receipt.arrival {
        Arrival::Saved => {
            let (what, run) = (&receipt.what, &receipt.run);
            format!("saved {what} for {run}. Next: {} resume {run}", setup.command)
        }
        _ => receipt.words(),
    };
    super::say(setup, &words).map(|()| Exit::Complete)
}

/// Prints the outcome of an answer, or resumes the run.
fn and_resume(setup: &Setup, receipt: &Receipt, resume: bool) -> Result<Exit, Failure> {
    if !resume || receipt.is_sent() {
        return say(setup, receipt);
    }
    say_notes(setup, receipt)?;
    let store = setup.existing_store()?;
    let found = find_run(&store, Some(receipt.run.as_str()), |_| true, "")?;
    let run = recorded(&store, &found)?.run;
    resume_run(setup, &WorkArgs::default(), store, &found.run, run, ResumeKind::Resume)
}

pub(super) fn approve(setup: &Setup, arguments: &ApproveArgs) -> Result<Exit, Failure> {
    let run = waiting(setup, arguments.run.as_deref())?;
    #[cfg(feature = "share")]
    if let (Some(key), Some(output)) = (&arguments.sign, &arguments.output) {
        return super::sign::sign(setup, &run, &arguments.slugs, key, output);
    }
    let (gates, tasks) = (Vec::new(), arguments.slugs.clone());
    let command = if arguments.hunks.is_some() || !arguments.edit.is_empty() {
        let hunks = arguments.hunks.as_ref().map(|hunks| hunks.0.clone());
        let because = arguments.because.clone().unwrap_or_default();
        RunCommand::Keep { gates, tasks, hunks, edits: edited(&arguments.edit)?, because }
    } else {
        let always = arguments.always.map(|words| words.map_or(WordCount::All, WordCount::First));
        RunCommand::Approve { gates, tasks, later: arguments.all, always }
    };
    and_resume(setup, &order(setup, &run, command)?, arguments.resume)
}

/// The texts of edited hunks by number.
fn edited(edits: &[EditArg]) -> Result<BTreeMap<u32, String>, Failure> {
    let mut texts = BTreeMap::new();
    for EditArg { number, file } in edits {
        let name = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("can't read {name}: {error}"), "name a text file"))?;
        let text = hunk_of(&text).ok_or_else(|| {
            Failure::usage(
                format!("{name} does not contain a hunk"),
                format!("to reject hunk {number}, list the other hunks with --hunks"),
            )
        })?;
        if texts.insert(*number, text).is_some() {
            return Err(Failure::usage(format!("--edit names hunk {number} twice"), "give one file for each hunk"));
        }
    }
    Ok(texts)
}

pub(super) fn deny(setup: &Setup, arguments: &DenyArgs) -> Result<Exit, Failure> {
    let run = waiting(setup, arguments.run.as_deref())?;
    let because = arguments.because.clone().unwrap_or_default();
    let command = RunCommand::Deny { gates: Vec::new(), tasks: arguments.slugs.clone(), because };
    and_resume(setup, &order(setup, &run, command)?, arguments.resume)
}

pub(super) fn cancel(setup: &Setup, arguments: &RunNameArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |run| run.owner.is_some(), "running")?;
    say(setup, &order(setup, &found.run, RunCommand::Stop)?)
}
