//! A task of a sheet whose skill is a template (spec "Templates" 16): the call runs the template as a run of its own,
//! with its own log and gates, and what it gives is the result of the task.

use std::sync::Arc;

use callsheet_core::evaluate::result_of_run;
use callsheet_core::record::{Entry, Event, Outcome as RunOutcome, ResultParts, Spending, ToolRecord, Tree};
use callsheet_core::reply::task::document_headings;
use callsheet_core::run::{Run, TaskRun};
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

/// Viewers look at the outer run; of the inner one they hear only what is said in words.
struct Words(Arc<dyn Observer>);

impl Observer for Words {
    fn see(&self, signal: &Signal<'_>) {
        if matches!(signal, Signal::Notice(_)) {
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
    let inner = RunId::new(format!(
        "{}{INNER}{}-{}-{}",
        run.id().map(RunId::as_str).unwrap_or_default(),
        task,
        exec,
        BlobId::of(call.arguments.to_string().as_bytes()).as_str().get(..HASHED).unwrap_or_default(),
    ));
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
        let record = inside(world, inner, tree, prompt, settings, cancel.clone()).await?;
        if cancel.is_cancelled() {
            return Ok(Landed::Facts(Vec::new()));
        }
        let ms = clock.now_ms().saturating_sub(begun);
        Ok(Landed::Facts(vec![Event::ToolFinished { task, run: exec, call, record, ms }]))
    }))
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

async fn inside(
    world: Arc<World>,
    inner: RunId,
    tree: Box<Tree>,
    prompt: String,
    settings: Settings,
    stop: CancellationToken,
) -> Result<ToolRecord, DriveFault> {
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
        return recorded(&*store, result_of_run(done, &values), done, &inner);
    }
    let session = match known.filter(|run| run.id().is_some()) {
        Some(_) => reopen(&world, &inner, TakeUp::Resume, |_| settings)?,
        None => begin(&world, &inner, EntrySpec::Template { tree, prompt }, settings)?,
    };
    let (_, run) = drive_and_look(world, session, stop).await?;
    recorded(&*store, result_of_run(&run, &values), &run, &inner)
}

/// Document and summary of a result (spec 16).
fn recorded(store: &dyn Store, result: Option<TaskResult>, run: &Run, inner: &RunId) -> Result<ToolRecord, DriveFault> {
    let spent = run.totals().spending();
    let outcome = run.outcome();
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
    format!("the run {inner} of the template has not ended; `callsheet resume {inner}` goes on")
}

fn failed(reason: String, inner: Option<&RunId>, spent: Spending) -> ToolRecord {
    ToolRecord::Result { run: inner.cloned(), result: Box::default(), failed: Some(reason), spent }
}

fn first_paragraph(text: &str) -> String {
    let text = text.trim_start();
    let end = text.find("\n\n").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim_end().chars().take(SUMMARY).collect()
}
