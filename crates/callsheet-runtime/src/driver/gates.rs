//! Gates and questions: somebody is asked, here or from another process, and the answer becomes a fact.

use std::collections::BTreeMap;

use callsheet_core::record::{Answer, Event, Gate, GateKind, Outcome as RunOutcome, Verdict};
use callsheet_core::reply::Phase;
use callsheet_core::run::{Effect, Run, TaskRun};
use callsheet_core::spec::{ExecRunId, Headless, Slug};

use crate::ports::{GateAnswer, GateView, Letter, QuestionAnswer, QuestionView, WriterView};

use super::work::{Landed, Outcome, Work};
use super::{DriveFault, Session, World};

/// Words of a denial when nobody is there (spec 11.8).
const NOBODY: &str = "no approver present";

/// Asks at a gate.
pub(super) fn approve(work: Work, run: &Run, gate: Gate) -> Outcome {
    let headless = by_policy(run, &gate);
    let view = view(&work.world, run, &gate);
    Box::pin(async move {
        if let Some(answer) = headless {
            return Ok(Landed::Facts(vec![Event::GateAnswered { gate, answer }]));
        }
        match work.world.person.approve(&view, &work.cancel).await {
            GateAnswer::Answered(answer) => Ok(Landed::Facts(vec![Event::GateAnswered { gate, answer }])),
            GateAnswer::Absent => Ok(Landed::Nobody(RunOutcome::ApprovalRequired)),
        }
    })
}

/// What was said beforehand for this run (spec 11.8). `Deny` is only for the absent, so it is left to the person port
/// unless nobody can be asked; the command line sets it only then.
fn by_policy(run: &Run, gate: &Gate) -> Option<Answer> {
    let tasks: Vec<Slug> = match &gate.kind {
        GateKind::BeforeRun(tasks) => tasks.clone(),
        GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => vec![task.clone()],
    };
    match &run.settings().headless {
        Headless::Stop => None,
        Headless::Approve => Some(Answer::Listed),
        Headless::Deny => Some(Answer::Deny { words: NOBODY.to_owned() }),
        Headless::Slugs(slugs) => {
            let named: BTreeMap<Slug, Verdict> =
                tasks.iter().filter(|task| slugs.contains(task)).map(|task| (task.clone(), Verdict::Approve)).collect();
            (named.len() == tasks.len()).then_some(Answer::Listed)
        }
    }
}

/// What a gate shows (spec 11.3, 11.4).
pub fn view(world: &World, run: &Run, gate: &Gate) -> GateView {
    let mut view = GateView {
        gate: gate.clone(),
        writers: Vec::new(),
        plan: String::new(),
        task: None,
        diff: String::new(),
        call: None,
        directory: None,
    };
    match &gate.kind {
        GateKind::BeforeRun(tasks) => {
            view.plan = super::known::sheet_text(run);
            view.writers = tasks.iter().filter_map(|slug| writer(world, run, slug)).collect();
        }
        GateKind::BeforeApply { task, run: exec, set } => {
            view.task = Some(task.clone());
            view.diff = run
                .pending_changes(task, exec, *set)
                .and_then(|changes| changes.diff.as_ref())
                .and_then(|blob| world.text(blob).ok())
                .unwrap_or_default();
        }
        GateKind::BeforeCall { task, run: exec, call } => {
            view.task = Some(task.clone());
            view.call = run
                .task(task)
                .and_then(|task| task.run(exec))
                .and_then(|exec| exec.call(call))
                .map(|call| call.call.clone());
            view.directory = Some(world.workspace.root().display().to_string());
        }
    }
    view
}

fn writer(world: &World, run: &Run, slug: &Slug) -> Option<WriterView> {
    let task: &TaskRun = run.task(slug)?;
    let step = run.steps().iter().position(|step| step.contains(slug)).unwrap_or_default();
    let wish = task.skill.as_ref().and_then(|skill| skill.model.as_deref());
    Some(WriterView {
        task: task.task.clone(),
        step: u32::try_from(step).unwrap_or(u32::MAX).saturating_add(1),
        skill: world.describe_skill(task.task.skill.as_deref()),
        reason: task.writer.clone().unwrap_or_default(),
        model: world
            .models
            .model(Phase::Execute, wish)
            .map_or_else(|fault| fault.to_string(), |model| model.info().id.clone()),
        refined: task.refined,
    })
}

/// Puts a tool's question to a person.
pub(super) fn question(work: Work, task: Slug, run: ExecRunId, call: String, question: String) -> Outcome {
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

/// Turns letters of other processes into facts. Letters that answer nothing are dropped with a notice.
pub(super) fn read_letters(session: &mut Session, world: &World) -> Result<(), DriveFault> {
    let letters = world.store.letters(session.lock())?;
    let Some(last) = letters.last().map(|(number, _)| *number) else { return Ok(()) };
    for (_, letter) in letters {
        let event = match letter {
            Letter::Cancel => Some(Event::CancelRequested),
            Letter::Answer { gate, answer } => {
                gate.or_else(|| open_gate(session.run())).map(|gate| Event::GateAnswered { gate, answer })
            }
            Letter::Reply { text } => asking_call(session.run())
                .map(|(task, run, call)| {
                    world.store.put_blob(text.as_bytes()).map(|output| Event::QuestionAnswered {
                        task,
                        run,
                        call,
                        output,
                    })
                })
                .transpose()?,
        };
        let taken = match event {
            Some(event) => session.record(world, vec![event])?,
            None => 0,
        };
        if taken == 0 {
            world.notice("an answer was left for this run, but nothing waits for it; it was dropped");
        }
    }
    world.store.discard(session.lock(), last)?;
    Ok(())
}

/// The gate that waits, if one does.
pub fn open_gate(run: &Run) -> Option<Gate> {
    run.asking().into_iter().find_map(|effect| match effect {
        Effect::AskApproval(gate) => Some(gate),
        _ => None,
    })
}

/// The question that waits, if one does: the asking task and its words.
pub fn open_question(run: &Run) -> Option<(Slug, String)> {
    run.asking().into_iter().find_map(|effect| match effect {
        Effect::AskPerson { task, question, .. } => Some((task, question)),
        _ => None,
    })
}

fn asking_call(run: &Run) -> Option<(Slug, ExecRunId, String)> {
    run.asking().into_iter().find_map(|effect| match effect {
        Effect::AskPerson { task, run, call, .. } => Some((task, run, call)),
        _ => None,
    })
}
