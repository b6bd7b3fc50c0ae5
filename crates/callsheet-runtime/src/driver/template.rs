//! A task of a sheet whose skill is a template (spec "Templates" 16): the call runs the template as a run of its own,
//! with its own log and gates, and what it gives is the result of the task.

use std::sync::Arc;
use std::time::Duration;

use callsheet_core::evaluate::result_of_run;
use callsheet_core::record::{Entry, Event, Outcome as RunOutcome, ResultParts, Spending, ToolRecord, Tree};
use callsheet_core::reply::task::document_headings;
use callsheet_core::run::{Limit, Run, State, TaskRun};
use callsheet_core::spec::{BlobId, ExecRunId, RunId, Settings, Slug, Target, ToolCall, tokens};
use callsheet_core::template::{
    Bound, Environment, Evaluated, Origin, ReturnStatus, TaskError, TaskResult, Trust, bind_call,
};
use tokio_util::sync::CancellationToken;

use crate::ports::{Observer, Signal, Store};
use crate::runfiles::RunFiles;

use super::work::{Landed, Outcome, Work, ready};
use super::{DriveFault, EntrySpec, Session, TakeUp, World, begin, drive_and_look, reopen};

/// Longest summary that is taken of a result, characters (spec 16).
const SUMMARY: usize = 600;
/// Letters of the hash that names a run of a template.
const HASHED: usize = 8;

/// Stands in the name of a run that a task of another one began, between the two names.
const INNER: &str = "--";

/// Whether a run was begun by a task of another run.
pub fn is_inner(run: &RunId) -> bool {
    run.as_str().contains(INNER)
}

/// The run that a person began, of one that a task of it began; of any other the run itself.
pub fn outer_of(run: &RunId) -> RunId {
    RunId::new(run.as_str().split(INNER).next().unwrap_or_default())
}

/// The task that began a run, where one did: `RUN--TASK-EXEC-HASH`.
pub fn caller_of(run: &RunId) -> Option<Slug> {
    let (_, called) = run.as_str().split_once(INNER)?;
    let (called, _) = called.rsplit_once('-')?;
    // Runs of a task are `exec`, `loop`, `tool-N` and `ref-N` (spec 10.1).
    let task = match called.rsplit_once('-')? {
        (task, "exec" | "loop") => task,
        (rest, _) => rest.rsplit_once('-')?.0,
    };
    Some(Slug::new(task))
}

/// The runs that tasks of a run began.
///
/// # Errors
/// If the store cannot be read.
pub fn runs_inside(store: &Arc<dyn Store>, id: &RunId) -> Result<Vec<RunId>, DriveFault> {
    let runs = store.runs()?.into_iter().map(|summary| summary.run);
    Ok(runs.filter(|run| is_inner(run) && outer_of(run) == *id).collect())
}

/// Whether a run is that of a call which is still to be made or in the making: what the run of a call that is gone asks
/// matters to nobody.
pub fn is_awaited(run: &Run, inner: &RunId) -> bool {
    let open = run.tasks().filter(|task| !matches!(task.state(), State::Done | State::Dropped));
    let mut calls = open.flat_map(|task| {
        let runs = task.runs.iter().map(move |exec| (&task.task.slug, exec));
        runs.flat_map(|(slug, exec)| exec.calls.iter().map(move |call| (slug, exec, call)))
    });
    let is_of = |name: &RunId| inner == name || inner.as_str().starts_with(&format!("{name}{INNER}"));
    calls.any(|(slug, exec, call)| is_of(&named(run, slug, &exec.id, &call.call)))
}

/// Viewers look at the outer run; of the inner one they hear only what is said in words.
struct Words(Arc<dyn Observer>);

impl Observer for Words {
    fn see(&self, signal: &Signal<'_>) {
        if matches!(signal, Signal::Notice(_) | Signal::Silent { .. }) {
            self.0.see(signal);
        }
    }
}

/// Runs the template that a call names; `None`: it names none that is offered.
pub(super) fn run(work: &Work, run: &Run, owner: &TaskRun, exec: &ExecRunId, call: &ToolCall) -> Option<Outcome> {
    let offer = work.world.offer.as_ref().filter(|offer| offer.spec(&call.name).is_some())?;
    let task = owner.task.slug.clone();
    let landed = |record: ToolRecord, ms: u64| {
        let (task, run, call) = (task.clone(), exec.clone(), call.id.clone());
        Landed::Facts(vec![Event::ToolFinished { task, run, call, record, ms }])
    };
    let tree = match bound(&offer.tree, owner, call) {
        Ok(tree) => tree,
        Err(reason) => {
            let Landed::Facts(events) = landed(failed(reason, None, Spending::default()), 0) else { return None };
            return Some(ready(Ok(events)));
        }
    };
    let inner = named(run, &task, exec, call);
    let world = match nested(&work.world, &inner) {
        Ok(world) => Arc::new(world),
        Err(fault) => return Some(ready(Err(fault))),
    };
    let settings = run.settings_inside(&task, exec, &call.id, &inner);
    let prompt = owner.task.need.clone();
    let (cancel, clock) = (work.cancel.clone(), Arc::clone(&work.world.clock));
    let (task, exec, call) = (task, exec.clone(), call.id.clone());
    Some(Box::pin(async move {
        let begun = clock.now_ms();
        until_free(&world, &inner, &cancel).await?;
        if cancel.is_cancelled() {
            return Ok(Landed::Facts(Vec::new()));
        }
        let record = inside(world, inner, tree, prompt, settings, cancel.clone()).await?;
        if cancel.is_cancelled() {
            return Ok(Landed::Facts(Vec::new()));
        }
        let Some(record) = record else { return Ok(Landed::Stopped) };
        let ms = clock.now_ms().saturating_sub(begun);
        Ok(Landed::Facts(vec![Event::ToolFinished { task, run: exec, call, record, ms }]))
    }))
}

/// What the runs inside calls used whose process did not come to say so.
pub(super) fn accounts(world: &World, run: &Run) -> Result<Vec<Event>, DriveFault> {
    let mut events = Vec::new();
    for (task, exec, call) in run.calls_to_account() {
        let inner = inner_of(world, run, task, exec, call)?;
        let spent = match &inner {
            Some(inner) => Session::view(&world.store, inner)?.0.totals().spending(),
            None => Spending::default(),
        };
        let (task, run, call) = (task.clone(), exec.clone(), call.to_owned());
        events.push(Event::CallAccounted { task, run, call, inner, spent });
    }
    Ok(events)
}

/// The run inside a call, if it had begun. That of a call which is gone is told by the task.
fn inner_of(world: &World, run: &Run, task: &Slug, exec: &ExecRunId, call: &str) -> Result<Option<RunId>, DriveFault> {
    let exec_run = run.task(task).and_then(|owner| owner.run(exec));
    let call = exec_run.and_then(|exec| exec.calls.iter().find(|known| known.call.id == call));
    let wanted = call.map(|call| named(run, task, exec, &call.call));
    let of_exec = format!("{}{INNER}{task}-{exec}-", run.id().map(RunId::as_str).unwrap_or_default());
    let mut begun = world.store.runs()?.into_iter().map(|summary| summary.run);
    Ok(begun.find(|inner| match &wanted {
        Some(wanted) => inner == wanted,
        None => inner.as_str().starts_with(&of_exec) && !run.has_failed_inside(inner),
    }))
}

/// The name of the run inside a call: the one that was begun before, unless that failed and the task is done again.
fn named(run: &Run, task: &Slug, exec: &ExecRunId, call: &ToolCall) -> RunId {
    let outer = run.id().map(RunId::as_str).unwrap_or_default();
    let mut hashed = call.arguments.to_string();
    loop {
        let hash = BlobId::of(hashed.as_bytes());
        let hash = hash.as_str().get(..HASHED).unwrap_or_default();
        let inner = RunId::new(format!("{outer}{INNER}{task}-{exec}-{hash}"));
        if !run.has_failed_inside(&inner) {
            return inner;
        }
        hashed.push_str(hash);
    }
}

/// The tree with the arguments bound (spec 4), before any call.
fn bound(whole: &Tree, owner: &TaskRun, call: &ToolCall) -> Result<Box<Tree>, String> {
    let mut tree = Box::new(whole.clone());
    tree.entry.clone_from(&call.name);
    let template = tree.templates.get(&call.name).ok_or_else(|| call.name.clone())?;
    let arguments = call.arguments.as_object().cloned().unwrap_or_default();
    let given = arguments.into_iter().map(|(name, value)| Evaluated {
        literal: value.is_string(),
        name: Some(name),
        bound: Bound::json(value, Trust::Model),
    });
    let root = Arc::new(Environment::root([]));
    let environment = bind_call(template, given.collect(), &root, &Origin::default(), &call.name);
    let environment = environment.map_err(|fault| fault.into_error().message)?;
    tree.variables = environment.own().iter().map(|(name, bound)| (name.clone(), bound.value())).collect();
    tree.files = owner
        .task
        .references
        .iter()
        .filter_map(|reference| match &reference.target {
            Target::File { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    Ok(tree)
}

/// The same world for another run: its own files, nothing kept of the outer run's replies.
fn nested(world: &World, inner: &RunId) -> Result<World, DriveFault> {
    let files = RunFiles::new(&world.workspace, inner).map_err(DriveFault::defect)?;
    Ok(world.of_run(files, Arc::new(Words(Arc::clone(&world.observer)))))
}

/// Waits while another process drives the inner run, which a person may have taken up by itself. What it comes to there
/// counts here.
async fn until_free(world: &World, inner: &RunId, stop: &CancellationToken) -> Result<(), DriveFault> {
    let mut told = false;
    let owner = || -> Result<Option<String>, DriveFault> {
        Ok(world.store.runs()?.into_iter().find(|run| run.run == *inner).and_then(|run| run.owner))
    };
    while let Some(owner) = owner()? {
        if !told {
            world.notice(&format!("waiting for {owner}, which drives the run {inner} inside a call"));
            told = true;
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(super::TICK) => {}
        }
    }
    Ok(())
}

/// What the inner run came to; `None`: it was stopped.
async fn inside(
    world: Arc<World>,
    inner: RunId,
    tree: Box<Tree>,
    prompt: String,
    settings: Settings,
    stop: CancellationToken,
) -> Result<Option<ToolRecord>, DriveFault> {
    let store = Arc::clone(&world.store);
    let values = |id: &BlobId| store.blob(id).ok();
    let known = match Session::view(&store, &inner) {
        Ok((run, _)) => Some(run),
        Err(DriveFault::Store(crate::ports::StoreFault::NoRun(_))) => None,
        Err(fault) => return Err(fault),
    };
    let is_template = |run: &Run| matches!(run.entry(), Some(Entry::Template { .. }));
    if let Some(done) = known.as_ref().filter(|run| is_template(run) && run.outcome() == Some(RunOutcome::Complete)) {
        // An earlier process finished it and did not come to say so.
        return recorded(&*store, result_of_run(done, &values), done, &inner, 0).map(Some);
    }
    let busy_before = known.as_ref().map_or(0, Run::busy_ms);
    // It has what is left of the time of the run outside, beside what it used already.
    let mut settings = settings;
    let spent = Duration::from_millis(busy_before).as_secs();
    settings.limits.run_timeout_seconds = settings.limits.run_timeout_seconds.map(|left| left.saturating_add(spent));
    let session = match known.filter(|run| run.id().is_some()) {
        Some(_) => reopen(&world, &inner, TakeUp::Resume, |_| settings)?,
        None => begin(&world, &inner, EntrySpec::Template { tree, prompt }, settings)?,
    };
    let (clock, begun) = (Arc::clone(&world.clock), world.clock.now_ms());
    let (outcome, run) = drive_and_look(world, session, stop).await?;
    if outcome == RunOutcome::Cancelled {
        return Ok(None);
    }
    let busy = run.busy_ms().saturating_sub(busy_before);
    let waited = clock.now_ms().saturating_sub(begun).saturating_sub(busy);
    recorded(&*store, result_of_run(&run, &values), &run, &inner, waited).map(Some)
}

/// Document and summary of a result (spec 16). `waited_ms`: how long it waited for a person.
fn recorded(
    store: &dyn Store,
    result: Option<TaskResult>,
    run: &Run,
    inner: &RunId,
    waited_ms: u64,
) -> Result<ToolRecord, DriveFault> {
    let spent = Spending { waited_ms, ..run.totals().spending() };
    let outcome = run.outcome();
    if outcome == Some(RunOutcome::LimitReached) && run.ended_by() == Some(Limit::RunTimeout) {
        return Ok(ToolRecord::Cut { run: Some(inner.clone()), spent });
    }
    let pauses = match outcome {
        Some(RunOutcome::Unreachable) => true,
        Some(RunOutcome::ApprovalRequired | RunOutcome::InputRequired | RunOutcome::LimitReached) => result.is_none(),
        _ => false,
    };
    if let Some(outcome) = outcome.filter(|_| pauses) {
        let said = result.and_then(|result| result.error).map(|error| placed(&error));
        let reason = said.unwrap_or_else(|| not_ended(inner));
        return Ok(ToolRecord::Paused { run: inner.clone(), outcome, reason, spent, no_room: run.found_no_room() });
    }
    let Some(result) = result else { return Ok(failed(not_ended(inner), Some(inner), spent)) };
    if result.status != ReturnStatus::Complete {
        let message = result.error.as_deref().map(placed).unwrap_or_default();
        return Ok(failed(message, Some(inner), spent));
    }
    let words = result.words();
    let summary = result.notes.summary.clone().filter(|summary| !summary.trim().is_empty());
    let summary = summary.unwrap_or_else(|| first_paragraph(&words));
    let parts = ResultParts {
        summary,
        headings: document_headings(&words),
        tokens: tokens(&words),
        document: Some(store.stage_blob(words.into_owned().into_bytes())),
        ..ResultParts::default()
    };
    Ok(ToolRecord::Result { run: Some(inner.clone()), result: Box::new(parts), failed: None, spent })
}

/// What an error says, and where in the template: the sheet knows nothing of its files.
fn placed(error: &TaskError) -> String {
    let Some(at) = error.location.as_ref().filter(|at| !at.file.is_empty()) else { return error.message.clone() };
    format!("{} ({}:{}:{}: {})", error.message, at.file, at.line, at.column, at.task)
}

fn not_ended(inner: &RunId) -> String {
    format!("the template's run {inner} has not ended; continue it with `callsheet resume {inner}`")
}

fn failed(reason: String, inner: Option<&RunId>, spent: Spending) -> ToolRecord {
    ToolRecord::Result { run: inner.cloned(), result: Box::default(), failed: Some(reason), spent }
}

fn first_paragraph(text: &str) -> String {
    let text = text.trim_start();
    let end = text.find("\n\n").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim_end().chars().take(SUMMARY).collect()
}
