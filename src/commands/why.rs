//! `show --why`: explains why tasks are not done, and what to do.

use std::collections::BTreeSet;

use callsheet_app::{FailedParts, Limit, RunControl, RunView, State, TaskRun, Why, asked_about};
use callsheet_core::nouns::{RunId, Slug};
use callsheet_core::record::Outcome;
use callsheet_runtime::ports::RunSummary;

use crate::cli::{Exit, Failure};
use crate::setup::Setup;
use crate::term::one_line;

use super::raise::flag_of;
use super::show_task::no_task;

/// Explains a task and the tasks that it waits for, or every task that is not done.
pub(super) fn why(setup: &Setup, run: &RunView, found: &RunSummary, task: Option<&str>) -> Result<Exit, Failure> {
    let mut tasks = run.explain_all(task.map(|task| named(run, task)).transpose()?);
    if task.is_none() {
        // Parts whose failures were only collected belong to tasks that are done.
        for part in run.collected_failures() {
            let is_new = tasks.iter().all(|(task, _)| *task != part);
            tasks.extend(run.explain_all(Some(part)).into_iter().take(usize::from(is_new)));
        }
    }
    for (task, why) in &mut tasks {
        if let Why::Ended { state: State::Failed, reason, .. } = why
            && reason.is_empty()
        {
            *reason = failure_of_part(setup, run, task).unwrap_or_default();
        }
    }
    let at_work = found.owner.is_some();
    for (task, why) in &tasks {
        let text = one_line(&run.why_line(task, why, at_work), 600);
        let advice = advice(&setup.command, (&found.run, run), task, why, at_work).filter(|_| !is_lost(run, task, why));
        if setup.json {
            let mut shown = serde_json::json!(why);
            shown["task"] = serde_json::json!(task);
            shown["text"] = text.into();
            shown["do"] = advice.into();
            super::print_json(&shown)?;
        } else {
            let advice = advice.map(|advice| format!(": {advice}")).unwrap_or_default();
            super::print(&format!("{text}{advice}\n"))?;
        }
    }
    for parts in run.collected().into_iter().filter(|_| task.is_none()) {
        let text = one_line(&parts.words(), 300);
        if setup.json {
            let FailedParts { task, parts, failed } = parts;
            let advice = (!at_work).then(|| format!("{} retry {}", setup.command, found.run));
            super::print_json(&serde_json::json!({
                "why": "parts_failed", "task": task, "parts": parts, "failed": failed, "text": text, "do": advice,
            }))?;
        } else {
            super::print(&format!("{text}\n"))?;
        }
    }
    if setup.json {
        return Ok(Exit::Complete);
    }
    if tasks.is_empty() {
        let words = match run.tasks().next() {
            Some(_) => "every task is done or dropped".to_owned(),
            None if at_work => "no tasks yet: it is being planned".to_owned(),
            None => format!("no tasks: {} resume {}", setup.command, found.run),
        };
        super::print(&format!("run {}: {words}\n", found.run))?;
    } else if !at_work && run.about().outcome.is_none() {
        super::print(&format!("no process drives the run now: {} resume {}\n", setup.command, found.run))?;
    }
    Ok(Exit::Complete)
}

/// Why a task of a template failed, as its recorded result says.
pub(super) fn failure_of_part(setup: &Setup, run: &RunView, part: &Slug) -> Option<String> {
    let runs = setup.runs();
    run.failure_of_part(part, &|blob| runs.blob(blob).ok())
}

fn named(run: &RunView, name: &str) -> Result<Slug, Failure> {
    let slug = Slug::new(name);
    if run.task(&slug).is_some() || run.names_of_tree().any(|name| *name == slug) {
        return Ok(slug);
    }
    let known = run.tasks().map(|task| &task.task.slug).chain(run.names_of_tree());
    let names: BTreeSet<&str> = known.map(Slug::as_str).collect();
    Err(no_task(run, name, &names.into_iter().collect::<Vec<_>>()))
}

/// Whether the task failed and cannot be repeated, because the reader of its result has gone on without it.
fn is_lost(run: &RunView, task: &Slug, why: &Why) -> bool {
    let again = run.may_retry(task) && !run.task(task).is_some_and(TaskRun::reads_nothing);
    matches!(why, Why::Ended { state: State::Failed | State::Denied, .. }) && !again
}

/// What a person can do about it, as a command.
fn advice(call: &str, (run, view): (&RunId, &RunView), task: &Slug, why: &Why, at_work: bool) -> Option<String> {
    let flag = |limit: Limit| flag_of(view, limit, at_work);
    let rests = |advice: String| (!at_work).then_some(advice);
    match why {
        Why::Gate { gate } => {
            let listed: Vec<&str> = asked_about(gate).map(Slug::as_str).collect();
            let asked = if listed.contains(&task.as_str()) { task.to_string() } else { listed.join(" ") };
            Some(format!("{call} approve {run} {asked} --resume"))
        }
        Why::Question { .. } => Some(format!("{call} resume {run} --answer \"{task}=…\"")),
        // In a working run, only higher limits take effect through this command.
        Why::Limit { limit, .. } if !at_work || !flag(*limit).is_empty() => {
            Some(format!("{call} resume {run}{}", flag(*limit)))
        }
        Why::Ended { state: State::Failed | State::Denied, .. } => rests(format!("{call} retry {run} {task}")),
        Why::Ended { state: State::Blocked, cause: Some(cause), .. } => rests(format!("{call} retry {run} {cause}")),
        Why::Ended { .. } => None,
        Why::Held { tasks } => rests(format!("{call} retry {run} {}", names(tasks))),
        Why::SheetErrors => rests(format!("fix them, then {call} resume {run}")),
        Why::Concluded { outcome: Outcome::Complete | Outcome::Incomplete } => None,
        Why::Concluded { .. } => rests(format!("{call} resume {run}")),
        _ => None,
    }
}

fn names(tasks: &[Slug]) -> String {
    tasks.iter().map(Slug::as_str).collect::<Vec<_>>().join(" ")
}
