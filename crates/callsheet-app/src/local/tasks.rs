//! `retry` and `drop`: retries or removes tasks (spec 2.18). If a process drives the run, this happens at once.
//! Otherwise the order is checked here, and takes effect when the run is resumed.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::fuzzy;
use callsheet_core::nouns::{RunId, Slug};
use callsheet_core::run::{Run, Stage, State};
use callsheet_runtime::ports::{InboxMessage, RunSummary, Store};

use super::{Ordered, recorded};
use crate::advice::Advice;
use crate::command::Receipt;
use crate::refusal::{Refusal, inspect};
use crate::words::one_line;

#[derive(Clone, Copy, PartialEq, Eq)]
enum SteerAction {
    Retry,
    Drop,
}

impl SteerAction {
    fn event(self, task: &Slug) -> Event {
        let task = task.clone();
        match self {
            Self::Retry => events::TaskRetried { task, skills: BTreeMap::new(), because: String::new() }.into(),
            Self::Drop => events::TaskDropped { task }.into(),
        }
    }
}

struct SteeredRun {
    store: Arc<dyn Store>,
    found: RunSummary,
    tasks: Vec<Slug>,
    /// The tasks to retry whose changes are in files.
    changed: Vec<Slug>,
}

/// Posts a retry to the run. Tasks that a resume plans again anyway need no message.
pub(super) fn retry(
    runs: &Ordered<'_>,
    id: &RunId,
    tasks: &[String],
    keep_changes: bool,
    because: &str,
) -> Result<Receipt, Refusal> {
    let SteeredRun { store, found, tasks, changed } = find(runs, id, tasks, SteerAction::Retry)?;
    if !changed.is_empty() && !keep_changes {
        return Err(changes_stand(&found.run, &tasks, &changed));
    }
    if !tasks.is_empty() {
        runs.post(&store, &found, &[InboxMessage::Retry { tasks, because: because.to_owned() }])?;
    }
    Ok(Receipt::new(&found.run, "the retry", found.owner.as_ref()))
}

/// Posts the removal of tasks to the run.
pub(super) fn remove(runs: &Ordered<'_>, id: &RunId, tasks: &[String]) -> Result<Receipt, Refusal> {
    let SteeredRun { store, found, tasks, .. } = find(runs, id, tasks, SteerAction::Drop)?;
    let what = match tasks.as_slice() {
        [task] => format!("the removal of {task}"),
        tasks => format!("the removal of {} tasks", tasks.len()),
    };
    runs.post(&store, &found, &[InboxMessage::Drop { tasks }])?;
    Ok(Receipt::new(&found.run, what, found.owner.as_ref()))
}

/// Finds the run and the tasks. Refuses unless the action is possible for all of them.
fn find(runs: &Ordered<'_>, id: &RunId, slugs: &[String], wish: SteerAction) -> Result<SteeredRun, Refusal> {
    let (store, found) = runs.found(id)?;
    let id = &found.run;
    let run = recorded(&store, &found)?.run.into_run();
    let mut preview = run.clone();
    let mut tasks = Vec::new();
    if found.owner.is_none() && !matches!(run.stage(), Stage::Empty) {
        // The run will be resumed first, which plans stopped tasks again.
        let settings = run.settings().clone();
        preview = with(&preview, events::RunResumed { settings }.into())
            .ok_or_else(|| Refusal::internal(format!("run {id} cannot be resumed"), ""))?;
    }
    let all = slugs.is_empty();
    let mut wanted = if all { run.failed() } else { slugs.iter().cloned().map(Slug::new).collect() };
    if wanted.is_empty() {
        return Err(nothing_failed(id));
    }
    let step = |slug: &Slug| run.step_of(slug);
    match wish {
        // Removes the last task of a chain first, because removing a task blocks its readers, and a blocked task
        // stays blocked.
        SteerAction::Drop => wanted.sort_by_key(|slug| std::cmp::Reverse(step(slug))),
        // Retries the first task of a chain first, because this also plans its readers again, which may be named, too.
        SteerAction::Retry => wanted.sort_by_key(step),
    }
    for slug in wanted {
        let Some(name) = run.name_of(&slug).cloned() else { return Err(unknown_of(&run, id, slug.as_str())) };
        let (before, now) = (run.state_of(&name), preview.state_of(&name));
        let is_part = run.operators().get(&name).is_some();
        // An earlier retry or the resume already plans it again.
        let has_ended = if is_part { State::is_ended } else { State::is_problem };
        let comes_back = before.is_some_and(has_ended) && now.is_some_and(|now| !now.is_ended());
        if comes_back && (is_part || wish == SteerAction::Retry && (all || !tasks.is_empty())) {
            continue;
        }
        preview = with(&preview, wish.event(&name)).ok_or_else(|| match now {
            Some(now) if !is_part => refusal(&name, now, wish, id),
            now => refusal_of_part(&preview, &name, now, wish, id),
        })?;
        tasks.push(name);
    }
    let changed = done_with_changes(&run, &preview);
    Ok(SteeredRun { store, found, tasks, changed })
}

/// The tasks to retry that are done and whose changes are in files. Failed tasks are not among them, because they
/// continue with the files as they are.
fn done_with_changes(run: &Run, after: &Run) -> Vec<Slug> {
    let done = |slug: &Slug| run.task(slug).is_some_and(|task| task.state() == State::Done);
    run.changes_again(after).into_iter().filter(done).collect()
}

/// The refusal to retry tasks whose changes are in files. The person must first decide whether to revert them.
fn changes_stand(id: &RunId, tasks: &[Slug], changed: &[Slug]) -> Refusal {
    let changed: Vec<&str> = changed.iter().map(Slug::as_str).collect();
    let undo = ["undo", id.as_str()].into_iter().chain(changed.iter().copied());
    let retry = ["retry", id.as_str()].into_iter().chain(tasks.iter().map(Slug::as_str)).chain(["--keep-changes"]);
    let (have, their) = if changed.len() == 1 { ("has", "its") } else { ("have", "their") };
    Refusal::usage(
        format!("{} {have} changed files, and the retry would do this again", one_line(&changed.join(", "), 300)),
        Advice::command(format!("revert {their} changes first"), undo).or("or leave them in the files", retry),
    )
}

fn refusal_of_part(preview: &Run, slug: &Slug, state: Option<State>, wish: SteerAction, id: &RunId) -> Refusal {
    if wish == SteerAction::Drop {
        let around = preview.names_around(slug);
        let item = around.iter().find(|name| with(preview, wish.event(name)).is_some());
        let advice = match item {
            Some(item) => Advice::command("remove what it is a part of", ["drop", id.as_str(), item.as_str()]),
            None => inspect(id),
        };
        let what = format!("{slug} can't be removed: only failed items of a list can be");
        return Refusal::usage(what, advice);
    }
    if state.is_some_and(State::is_ended) {
        Refusal::usage(
            format!("can't retry {slug} alone: what requested it has used its result already, or is using it"),
            inspect(id).or("retry what requested it, or all that failed", ["retry", id.as_str()]),
        )
    } else {
        Refusal::usage(format!("{slug} has not ended, so there is nothing to retry"), inspect(id))
    }
}

fn nothing_failed(id: &RunId) -> Refusal {
    Refusal::usage(format!("no task of run {id} failed"), inspect(id))
}

fn unknown_of(run: &Run, id: &RunId, slug: &str) -> Refusal {
    let names: Vec<&str> = match run.operators().tree() {
        Some(_) => run.operators().iter().map(|op| op.id.as_str()).collect(),
        None => run.tasks().map(|task| task.task.slug.as_str()).collect(),
    };
    unknown_task(id, slug, &names)
}

/// A refusal of a name that no task has, with the names that may be meant, or else those that there are.
pub fn unknown_task(id: &RunId, slug: &str, names: &[&str]) -> Refusal {
    let near = fuzzy::did_you_mean(slug, names.iter().copied());
    let advice = match (near.is_empty(), names.is_empty()) {
        (false, _) => near,
        (true, true) => "it has no tasks yet".to_owned(),
        (true, false) => format!("it has: {}", one_line(&names.join(", "), 600)),
    };
    Refusal::usage(format!("run {id} has no task {}", one_line(slug, 64)), advice)
}

fn with(run: &Run, event: Event) -> Option<Run> {
    let mut run = run.clone();
    let fact = LogEntry::new(run.last_fact() + 1, run.now_ms(), event);
    run.apply(&fact).is_ok().then_some(run)
}

/// Why the action is refused, and what to do instead.
fn refusal(slug: &Slug, state: State, wish: SteerAction, id: &RunId) -> Refusal {
    let word = state.as_str();
    let (what, advice) = match (wish, state) {
        (SteerAction::Retry, State::Done) => (
            format!("{slug} can't be done again now, because a task that reads its result is running"),
            Advice::command("wait for that task, or stop the run first", ["cancel", id.as_str()]),
        ),
        (SteerAction::Drop, State::Done) => (
            format!("{slug} is done; you cannot drop it"),
            Advice::command("revert its changes", ["undo", id.as_str()]),
        ),
        (_, State::Dropped) => (
            format!("{slug} is not in the plan any more"),
            Advice::command("bring it back", ["retry", id.as_str(), slug.as_str()]),
        ),
        (SteerAction::Retry, _) => (
            format!("{slug} has not ended ({word}), so there is nothing to retry"),
            Advice::command("resume the run", ["resume", id.as_str()]),
        ),
        (SteerAction::Drop, State::Running) => (
            format!("{slug} is running, and you cannot drop a running task"),
            Advice::command("stop the run first", ["cancel", id.as_str()]),
        ),
        (SteerAction::Drop, _) => (
            format!("{slug} has ended ({word}), so there is nothing to drop"),
            Advice::command("retry it", ["retry", id.as_str(), slug.as_str()]),
        ),
    };
    Refusal::usage(what, advice)
}
