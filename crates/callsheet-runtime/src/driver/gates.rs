//! Gates and questions: somebody is asked, here or from another process, and the answer becomes a fact.

use std::collections::BTreeMap;
use std::path::Path;

use callsheet_core::record::{Answer, ChangeSet, Event, Gate, GateKind, Outcome as RunOutcome, Verdict};
use callsheet_core::run::{CallRecord, Effect, Run, TaskRun};
use callsheet_core::spec::{ExecRunId, Headless, Phase, Slug};

use crate::ports::{
    AskingCall, EqualCall, GateAnswer, GateView, InboxMessage, PartAnswer, QuestionAnswer, QuestionView, Store,
    StoreFault, WriterView,
};

use super::parts::{self, Part};
use super::work::{Landed, Outcome, Work};
use super::world::Pinned;
use super::{DriveFault, Session, World, retry};

/// Words of a denial when nobody is there (spec 11.8).
const NOBODY: &str = "no approver present";

/// Asks at a gate.
pub(super) fn approve(work: Work, run: &Run, gate: Gate) -> Outcome {
    let said = said_before(run, &gate);
    let when_absent = (run.settings().headless == Headless::Deny).then(|| Answer::Deny { words: NOBODY.to_owned() });
    let mut view = match view(&*work.world.store, work.world.workspace.root(), run, &gate) {
        Ok(view) => with_models(view, &work.world, run),
        Err(fault) => return super::work::ready(Err(fault.into())),
    };
    let sheet = work.world.workspace.root().join(work.world.files.directory()).join("sheet.md");
    view.sheet = Some(sheet.display().to_string());
    let changes = pending(run, &gate).cloned();
    Box::pin(async move {
        let answer = match said {
            Some(answer) => answer,
            None => match asked(&work, &view, changes.as_ref(), when_absent).await? {
                Ok(answer) => answer,
                Err(landed) => return Ok(landed),
            },
        };
        Ok(Landed::Facts(vec![Event::GateAnswered { gate, answer }]))
    })
}

/// Asks until there is an answer to record, or none is to be had.
async fn asked(
    work: &Work,
    view: &GateView,
    changes: Option<&ChangeSet>,
    when_absent: Option<Answer>,
) -> Result<Result<Answer, Landed>, DriveFault> {
    loop {
        match work.world.person.approve(view, &work.cancel).await {
            GateAnswer::Answered(answer) => return Ok(Ok(answer)),
            GateAnswer::Part(part) => {
                let part = changes.map(|changes| parts::answer(&work.world, changes, &part)).transpose()?;
                match part {
                    Some(Part::Answer(answer)) => return Ok(Ok(answer)),
                    Some(Part::Invalid(lines)) => tell_invalid(&work.world, &lines),
                    None => tell_invalid(&work.world, &["there are no changes to choose from".to_owned()]),
                }
            }
            GateAnswer::Edited => return Ok(Err(Landed::Edited)),
            GateAnswer::Absent => return Ok(when_absent.ok_or(Landed::Nobody(RunOutcome::ApprovalRequired))),
        }
    }
}

fn tell_invalid(world: &World, lines: &[String]) {
    world.notice("can't apply the hunks that you kept; nothing was changed, and the gate is still open:");
    lines.iter().for_each(|line| world.notice(line));
}

/// Why the verdicts of an answer hunk by hunk cannot be taken, as far as the change that waits tells it by itself. What
/// is kept is checked whole when the run takes the answer (spec 11.4).
///
/// # Errors
/// What the store says.
pub fn part_fault(store: &dyn Store, run: &Run, gate: &Gate, part: &PartAnswer) -> Result<Option<String>, StoreFault> {
    pending(run, gate).map_or(Ok(None), |changes| parts::fault(store, changes, part))
}

/// The change set that a gate shows.
fn pending<'a>(run: &'a Run, gate: &Gate) -> Option<&'a ChangeSet> {
    match &gate.kind {
        GateKind::BeforeApply { task, run: exec, set } => run.pending_changes(task, exec, *set),
        GateKind::BeforeRun(_) | GateKind::BeforeCall { .. } => None,
    }
}

/// What was said beforehand for this run (spec 11.8).
fn said_before(run: &Run, gate: &Gate) -> Option<Answer> {
    let tasks: Vec<Slug> = match &gate.kind {
        GateKind::BeforeRun(tasks) => tasks.clone(),
        GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => vec![task.clone()],
    };
    match &run.settings().headless {
        Headless::Stop | Headless::Deny => None,
        Headless::Approve => Some(Answer::Listed),
        Headless::Slugs(slugs) => {
            let named: BTreeMap<Slug, Verdict> = tasks
                .iter()
                .filter(|task| covers(run, slugs, task))
                .map(|task| (task.clone(), Verdict::Approve))
                .collect();
            match &gate.kind {
                _ if named.len() == tasks.len() => Some(Answer::Listed),
                // The others stay pending: the gate asks again for them alone.
                GateKind::BeforeRun(_) if !named.is_empty() => {
                    Some(Answer::Each { verdicts: named, words: String::new() })
                }
                _ => None,
            }
        }
    }
}

/// Whether one of the names is that of the task, or of the one whose call it is part of.
fn covers(run: &Run, slugs: &[Slug], task: &Slug) -> bool {
    let caller = run.task(task).and_then(|task| task.below.as_ref());
    slugs.contains(task) || caller.is_some_and(|caller| slugs.contains(caller))
}

/// What a gate shows (spec 11.3, 11.4), from the record alone: the same to whoever looks, now or later.
///
/// # Errors
/// What the store says.
pub fn view(store: &dyn Store, project: &Path, run: &Run, gate: &Gate) -> Result<GateView, StoreFault> {
    let mut view = GateView {
        gate: gate.clone(),
        writers: Vec::new(),
        plan: String::new(),
        task: None,
        diff: String::new(),
        hunks: Vec::new(),
        call: None,
        again: false,
        also: Vec::new(),
        directory: None,
        sheet: None,
    };
    match &gate.kind {
        GateKind::BeforeRun(tasks) => {
            view.plan = super::known::sheet_text(run);
            for task in tasks.iter().filter_map(|slug| run.task(slug)) {
                view.writers.push(writer(store, run, task)?);
            }
        }
        GateKind::BeforeApply { task, .. } => {
            if let Some(changes) = pending(run, gate) {
                if let Some(blob) = &changes.diff {
                    view.diff = String::from_utf8_lossy(&store.blob(blob)?).into_owned();
                }
                view.hunks = parts::hunks(store, changes)?;
            }
            view.task = Some(task.clone());
        }
        GateKind::BeforeCall { task, run: exec, call } => {
            let exec = run.task(task).and_then(|task| task.run(exec));
            let call = exec.and_then(|exec| exec.call(call));
            view.again = call.is_some_and(|call| call.asks_again());
            view.call = call.map(|call| call.call.clone());
            view.also = run.equal_calls(gate).into_iter().filter_map(|gate| equal_call(run, gate)).collect();
            view.directory = Some(project.display().to_string());
            view.task = Some(task.clone());
        }
    }
    Ok(view)
}

fn equal_call(run: &Run, gate: Gate) -> Option<EqualCall> {
    let GateKind::BeforeCall { task, run: exec, call } = &gate.kind else { return None };
    let call = run.task(task)?.run(exec)?.call(call)?.call.clone();
    Some(EqualCall { task: task.clone(), call, gate })
}

/// The record knows the model a run was started with; that of the execution phase or of a skill is known here.
fn with_models(mut view: GateView, world: &World, run: &Run) -> GateView {
    for writer in &mut view.writers {
        let skill = run.task(&writer.task.slug).and_then(|task| task.skill.as_ref());
        if let Ok(model) = world.models.model(Phase::Execute, skill.and_then(|skill| skill.model.as_deref())) {
            writer.model.clone_from(&model.info().id);
        }
    }
    view
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
        refined: task.refined,
        by_model: refined_by_model(run, &task.task.slug),
    })
}

/// Whether a reply refined the task: a plan may leave nothing to refine (spec 2.12).
fn refined_by_model(run: &Run, slug: &Slug) -> bool {
    let of_task = |call: &&CallRecord| call.key.phase == Phase::Refine && call.key.task.as_ref() == Some(slug);
    run.calls().iter().filter(of_task).any(|call| call.accepted == Some(true))
}

/// The pinned skill with its source, and what it replaces.
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

/// Puts a tool's question to a person.
pub(super) fn question(work: Work, at: (Slug, ExecRunId, String), question: String) -> Outcome {
    let (task, run, call) = at;
    Box::pin(async move {
        let view = QuestionView { task: task.clone(), question };
        match work.world.person.answer(&view, &work.cancel).await {
            QuestionAnswer::Answered(text) => {
                let output = work.world.store.put_blob(text.as_bytes())?;
                Ok(Landed::Facts(vec![Event::QuestionAnswered { task, run, call, output }]))
            }
            QuestionAnswer::Absent => Ok(Landed::Nobody(RunOutcome::InputRequired)),
        }
    })
}

/// Turns the letters of other processes into facts.
pub(super) fn read_letters(session: &mut Session, world: &World) -> Result<(), DriveFault> {
    let letters = world.store.letters(session.lock())?;
    let Some(last) = letters.last().map(|(number, _)| *number) else { return Ok(()) };
    take_letters(session, world, letters.into_iter().map(|(_, letter)| letter).collect())?;
    world.store.discard(session.lock(), last)?;
    Ok(())
}

/// Whether a letter changes the list instead of answering something.
pub(super) fn steers(letter: &InboxMessage) -> bool {
    matches!(letter, InboxMessage::Retry { .. } | InboxMessage::Drop { .. })
}

/// Records what letters say. Those that fit nothing are dropped with a notice.
pub(super) fn take_letters(session: &mut Session, world: &World, letters: Vec<InboxMessage>) -> Result<(), DriveFault> {
    // Gates that one letter answered in part, with what is asked since: the next one was left for the whole.
    let mut rests: Vec<(Gate, Gate)> = Vec::new();
    // Of equal calls the answer to one closes the others.
    let open: Vec<Gate> = open_gates(session.run()).collect();
    for mut letter in settled(letters) {
        let steers = steers(&letter);
        let left_for = gate_of(&letter).cloned();
        if let (InboxMessage::Answer { gate, .. }, Some((_, rest))) =
            (&mut letter, rests.iter().rev().find(|(whole, _)| Some(whole) == left_for.as_ref()))
        {
            *gate = Some(rest.clone());
        }
        let answered = gate_of(&letter).cloned();
        let Some(events) = events_of(session.run(), world, letter)? else { continue };
        let wanted = events.len().max(1);
        let taken = session.record(world, events)?;
        let closed = answered.as_ref().is_some_and(|gate| open.contains(gate) && !is_open(session.run(), gate));
        if taken < wanted && !closed {
            world.notice(if steers {
                "a task can no longer be retried or dropped; `callsheet show` shows its state"
            } else {
                "ignored an answer for this run, because nothing waits for it"
            });
        }
        if let Some((whole, answered)) = left_for.zip(answered)
            && let Some(rest) = rest_of(session.run(), &answered)
        {
            rests.push((whole, rest));
        }
    }
    Ok(())
}

/// Letters as they count: of two on the same thing the later one, and verdicts on named tasks before what was said of all
/// that waits, which is then said of the rest: of the other tasks of a gate, and of the other gates. Whoever left them was
/// told that they are noted.
fn settled(letters: Vec<InboxMessage>) -> Vec<InboxMessage> {
    let mut out: Vec<InboxMessage> = Vec::new();
    for letter in letters {
        if let (InboxMessage::Drop { tasks }, Some(InboxMessage::Drop { tasks: before })) =
            (&letter, out.iter_mut().find(|other| matches!(other, InboxMessage::Drop { .. })))
        {
            before.extend(tasks.iter().cloned());
            continue;
        }
        let Some(gate) = gate_of(&letter).cloned() else {
            out.push(letter);
            continue;
        };
        let same = |other: &InboxMessage| gate_of(other) == Some(&gate);
        match verdicts_of(&letter).map(|verdicts| verdicts.keys().cloned().collect::<Vec<Slug>>()) {
            Some(named) => {
                out.iter_mut().filter(|other| same(other)).filter_map(verdicts_mut).for_each(|verdicts| {
                    verdicts.retain(|slug, _| !named.contains(slug));
                });
                out.retain(|other| !same(other) || verdicts_of(other).is_none_or(|verdicts| !verdicts.is_empty()));
                let of_all = out.iter().position(|other| same(other) && verdicts_of(other).is_none());
                out.insert(of_all.unwrap_or(out.len()), letter);
            }
            None if names_all(&letter) => {
                out.retain(|other| !same(other));
                out.push(letter);
            }
            None if out.iter().any(|other| same(other) && names_all(other)) => {}
            None => {
                out.retain(|other| !same(other) || verdicts_of(other).is_some());
                out.push(letter);
            }
        }
    }
    out
}

/// Whether a letter speaks of all that a gate asks about, and of that alone. Hunks are of one change.
fn names_all(letter: &InboxMessage) -> bool {
    matches!(letter, InboxMessage::Answer { named: true, .. } | InboxMessage::Part { .. })
}

/// Verdicts on named tasks of a gate.
fn verdicts_of(letter: &InboxMessage) -> Option<&BTreeMap<Slug, Verdict>> {
    match letter {
        InboxMessage::Answer { answer: Answer::Each { verdicts, .. }, .. } => Some(verdicts),
        _ => None,
    }
}

fn verdicts_mut(letter: &mut InboxMessage) -> Option<&mut BTreeMap<Slug, Verdict>> {
    match letter {
        InboxMessage::Answer { answer: Answer::Each { verdicts, .. }, .. } => Some(verdicts),
        _ => None,
    }
}

/// What is still asked of the tasks of a gate, now that others of them have their answer.
fn rest_of(run: &Run, answered: &Gate) -> Option<Gate> {
    let GateKind::BeforeRun(tasks) = &answered.kind else { return None };
    open_gates(run).find(|open| match &open.kind {
        GateKind::BeforeRun(rest) => open.n > answered.n && rest.iter().all(|slug| tasks.contains(slug)),
        _ => false,
    })
}

fn gate_of(letter: &InboxMessage) -> Option<&Gate> {
    match letter {
        InboxMessage::Answer { gate, .. } | InboxMessage::Part { gate, .. } => gate.as_ref(),
        _ => None,
    }
}

/// What a letter says; `None` if it was told already why it says nothing.
fn events_of(run: &Run, world: &World, letter: InboxMessage) -> Result<Option<Vec<Event>>, DriveFault> {
    let event = match letter {
        InboxMessage::Cancel => Some(Event::CancelRequested),
        InboxMessage::Answer { gate, answer, .. } => {
            gate.or_else(|| open_gates(run).next()).map(|gate| Event::GateAnswered { gate, answer })
        }
        InboxMessage::Reply { text, to } => to
            .or_else(|| open_questions(run).next().map(|open| open.asking))
            .map(|AskingCall { task, run, call }| {
                world.store.put_blob(text.as_bytes()).map(|output| Event::QuestionAnswered { task, run, call, output })
            })
            .transpose()?,
        InboxMessage::Part { gate, part } => {
            let gate = gate.or_else(|| open_gates(run).next()).filter(|gate| is_open(run, gate));
            match gate.as_ref().and_then(|gate| pending(run, gate)).zip(gate.as_ref()) {
                Some((changes, gate)) => match parts::answer(world, changes, &part)? {
                    Part::Answer(answer) => Some(Event::GateAnswered { gate: gate.clone(), answer }),
                    Part::Invalid(lines) => {
                        tell_invalid(world, &lines);
                        return Ok(None);
                    }
                },
                None => None,
            }
        }
        InboxMessage::Retry { tasks } => {
            let skills = retry::changed_skills(world, run, &tasks)?;
            let retried = |task| Event::TaskRetried { task, skills: skills.clone() };
            return Ok(Some(tasks.into_iter().map(retried).collect()));
        }
        InboxMessage::Drop { mut tasks } => {
            // Of a chain the last goes first: what reads a dropped task is blocked, and stays so.
            tasks.sort_by_key(|slug| std::cmp::Reverse(run.step_of(slug)));
            tasks.dedup();
            return Ok(Some(tasks.into_iter().map(|task| Event::TaskDropped { task }).collect()));
        }
    };
    Ok(Some(event.into_iter().collect()))
}

fn is_open(run: &Run, gate: &Gate) -> bool {
    open_gates(run).any(|open| open == *gate)
}

/// The gates that wait, in the order they were opened.
pub fn open_gates(run: &Run) -> impl Iterator<Item = Gate> {
    run.asking().into_iter().filter_map(|effect| match effect {
        Effect::AskApproval(gate) => Some(gate),
        _ => None,
    })
}

/// A question that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The call that asks it.
    pub asking: AskingCall,
    /// Its words.
    pub question: String,
}

/// The questions that wait, in the order they are answered if nobody says which.
pub fn open_questions(run: &Run) -> impl Iterator<Item = OpenQuestion> {
    run.asking().into_iter().filter_map(|effect| match effect {
        Effect::AskPerson { task, run, call, question, .. } => {
            Some(OpenQuestion { asking: AskingCall { task, run, call }, question })
        }
        _ => None,
    })
}
