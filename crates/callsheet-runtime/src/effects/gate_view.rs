//! What waits for a person, and what a gate shows (spec 11.3, 11.4). It uses only the record, so everybody sees the
//! same, now or later.

use std::path::Path;

use callsheet_core::nouns::{Phase, Slug};
use callsheet_core::record::{ChangeSet, CheckReport, Gate, GateKind};
use callsheet_core::run::{CallRecord, Effect, Run, TaskRun};

use crate::effects::hunks;
use crate::ports::{AskingCall, CheckView, EqualCall, GateView, PartAnswer, Store, StoreFault, WriterView};
use crate::services::Pinned;
use crate::sheetfile::sheet_text;

/// A waiting question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The call that asks it.
    pub asking: AskingCall,
    /// Its words.
    pub question: String,
}

/// The gates that wait, in the order they were opened.
pub fn open_gates(run: &Run) -> impl Iterator<Item = Gate> {
    run.asking().into_iter().filter_map(|effect| match effect {
        Effect::AskApproval(gate) => Some(gate),
        _ => None,
    })
}

/// The waiting questions, in the order in which they are answered if nobody names one.
pub fn open_questions(run: &Run) -> impl Iterator<Item = OpenQuestion> {
    run.asking().into_iter().filter_map(|effect| match effect {
        Effect::AskPerson { task, run, call, question, .. } => {
            Some(OpenQuestion { asking: AskingCall { task, run, call }, question })
        }
        _ => None,
    })
}

/// Why the verdicts on single hunks cannot be accepted, as far as the waiting change itself shows it. The kept part is
/// validated as a whole when the run takes the answer (spec 11.4).
///
/// # Errors
/// The store's fault.
pub fn part_fault(store: &dyn Store, run: &Run, gate: &Gate, part: &PartAnswer) -> Result<Option<String>, StoreFault> {
    pending(run, gate).map_or(Ok(None), |changes| hunks::fault(store, changes, part))
}

/// The change set that a gate shows.
pub(crate) fn pending<'a>(run: &'a Run, gate: &Gate) -> Option<&'a ChangeSet> {
    match &gate.kind {
        GateKind::BeforeApply { task, run: exec, set } => run.pending_changes(task, exec, *set),
        GateKind::BeforeRun(_) | GateKind::BeforeCall { .. } => None,
    }
}

/// What a gate shows (spec 11.3, 11.4). It uses only the record, so everybody sees the same, now or later.
///
/// # Errors
/// The store's fault.
pub fn gate_view(store: &dyn Store, project: &Path, run: &Run, gate: &Gate) -> Result<GateView, StoreFault> {
    let mut view = GateView {
        gate: gate.clone(),
        writers: Vec::new(),
        plan: String::new(),
        task: None,
        diff: String::new(),
        hunks: Vec::new(),
        check: None,
        unchecked: Vec::new(),
        call: None,
        again: false,
        unended: None,
        unheld: false,
        also: Vec::new(),
        directory: None,
    };
    match &gate.kind {
        GateKind::BeforeRun(tasks) => {
            view.plan = sheet_text(run);
            for task in tasks.iter().filter_map(|slug| run.task(slug)) {
                view.writers.push(writer(store, run, task)?);
            }
        }
        GateKind::BeforeApply { task, run: exec, set } => {
            view.check = check(store, run.check_of_changes(task, exec, *set))?;
            if view.check.is_none() {
                view.unchecked = run.settings().checks.keys().cloned().collect();
            }
            if let Some(changes) = pending(run, gate) {
                if let Some(blob) = &changes.diff {
                    view.diff = String::from_utf8_lossy(&store.blob(blob)?).into_owned();
                }
                view.hunks = hunks::hunks(store, changes)?;
            }
            view.task = Some(task.clone());
        }
        GateKind::BeforeCall { task, run: exec, call } => {
            let exec = run.task(task).and_then(|task| task.run(exec));
            let call = exec.and_then(|exec| exec.call(call));
            view.again = call.is_some_and(|call| call.asks_again());
            view.unheld = call.is_some_and(|call| run.policy(&call.call.name).unheld);
            view.unended = run.repeats_another(gate).cloned();
            view.call = call.map(|call| call.call.clone());
            view.also = run.equal_calls(gate).into_iter().filter_map(|gate| equal_call(run, gate)).collect();
            view.directory = Some(project.display().to_string());
            view.task = Some(task.clone());
        }
    }
    Ok(view)
}

fn check(store: &dyn Store, report: Option<&CheckReport>) -> Result<Option<CheckView>, StoreFault> {
    let Some(CheckReport { name, end, output, .. }) = report else { return Ok(None) };
    let output = String::from_utf8_lossy(&store.blob(output)?).into_owned();
    Ok(Some(CheckView { name: name.clone(), end: *end, output }))
}

fn equal_call(run: &Run, gate: Gate) -> Option<EqualCall> {
    let GateKind::BeforeCall { task, run: exec, call } = &gate.kind else { return None };
    let call = run.task(task)?.run(exec)?.call(call)?.call.clone();
    Some(EqualCall { task: task.clone(), call, gate })
}

fn writer(store: &dyn Store, run: &Run, task: &TaskRun) -> Result<WriterView, StoreFault> {
    let step = run.step_of(&task.task.slug).unwrap_or_default();
    let wish = task.skill.as_ref().and_then(|skill| skill.model.clone());
    Ok(WriterView {
        task: task.task.clone(),
        step: u32::try_from(step).unwrap_or(u32::MAX).saturating_add(1),
        skill: skill_words(store, task)?,
        reason: task.writer.clone().unwrap_or_default(),
        model: wish.or_else(|| run.settings().model.clone()).unwrap_or_default(),
        refined: task.is_refined(),
        by_model: refined_by_model(run, &task.task.slug),
    })
}

/// Whether a reply refined the task. A plan may leave nothing to refine (spec 2.12).
fn refined_by_model(run: &Run, slug: &Slug) -> bool {
    let of_task = |call: &&CallRecord| call.key.phase == Phase::Refine && call.key.task.as_ref() == Some(slug);
    run.calls().iter().filter(of_task).any(|call| call.accepted == Some(true))
}

/// The pinned skill with its source, and which skill it replaces.
fn skill_words(store: &dyn Store, task: &TaskRun) -> Result<String, StoreFault> {
    let Some(name) = &task.task.skill else { return Ok("none (built-in reader)".to_owned()) };
    let Some(hash) = task.skill.as_ref().and_then(|skill| skill.hash.as_ref()) else { return Ok(name.clone()) };
    let Ok(pinned) = serde_json::from_slice::<Pinned>(&store.blob(hash)?) else { return Ok(name.clone()) };
    let source = &pinned.skill.source.path;
    Ok(if pinned.replaces.is_empty() {
        format!("{name} ({source})")
    } else {
        format!("{name} ({source}, replaces {})", pinned.replaces.join(", "))
    })
}
