//! Gates and questions: an earlier decision answers them, or they wait for a person.

use std::collections::BTreeMap;

use callsheet_core::evaluate::SCRIPT;
use callsheet_core::events;
use callsheet_core::nouns::{Headless, SkillCommand, Slug};
use callsheet_core::record::{Answer, AnsweredBy, ChangeSet, CheckEnd, Gate, GateKind, Outcome as RunOutcome, Verdict};
use callsheet_core::run::{Effect, Run, TaskRun};
use callsheet_core::visible::visible_line;

use crate::effects::gate_view::{gate_view, pending};
use crate::effects::hunks::{self, Moved};
use crate::effects::work::{EffectFuture, EffectResult, Work, ready};
use crate::fault::DriveFault;
use crate::grants::{
    Caller, CommandCall, CommandGrant, CommandLine, Grant, GrantedThing, ToolGrant, command_text, covering_changes,
};
use crate::ports::GateView;
use crate::services::Services;

/// Reason for a denial when nobody is there (spec 11.8).
const NOBODY: &str = "no approver present";

/// Asks at a gate.
pub(crate) fn approve(work: Work, run: &Run, gate: Gate) -> EffectFuture {
    let when_absent = (run.settings().headless == Headless::Deny).then(|| Answer::Deny { words: NOBODY.to_owned() });
    let view = match gate_view(&*work.services.store, work.services.workspace.root(), run, &gate) {
        Ok(view) => view,
        Err(fault) => return ready(Err(fault.into())),
    };
    let said = said_before(&work.services, run, &gate, &view);
    let changes = pending(run, &gate).cloned();
    Box::pin(async move {
        let (answer, by) = match said {
            Some(said) => said,
            // A person is shown the files as they are now.
            None => match asked_of_now(&work, &view, changes.as_ref(), when_absent).await? {
                Ok(answered) => answered,
                Err(landed) => return Ok(landed),
            },
        };
        Ok(EffectResult::Events(vec![events::GateAnswered { gate, answer, by: Some(by) }.into()]))
    })
}

/// Asks, unless the change at the gate must be adapted to changed files; then the gate must show the adapted change.
async fn asked_of_now(
    work: &Work,
    view: &GateView,
    changes: Option<&ChangeSet>,
    when_absent: Option<Answer>,
) -> Result<Result<(Answer, AnsweredBy), EffectResult>, DriveFault> {
    if let (Some(changes), Some(task)) = (changes, &view.task) {
        match hunks::moved(&work.services, changes)? {
            Moved::No => {}
            Moved::Adapted(set) => return Ok(Err(adapted(work, view, set))),
            Moved::Lost => hunks::tell_lost(&work.services, task),
        }
    }
    tokio::select! {
        () = work.services.attendance.ended() => {}
        () = work.cancel.cancelled() => {}
    }
    let decided = when_absent.map(|answer| (answer, AnsweredBy::Flag));
    Ok(decided.ok_or(EffectResult::Unattended(RunOutcome::ApprovalRequired)))
}

fn adapted(work: &Work, view: &GateView, set: ChangeSet) -> EffectResult {
    EffectResult::Events(hunks::adapted(&work.services, &view.gate, set).into_iter().collect())
}

pub(crate) fn report_invalid(services: &Services, lines: &[String]) {
    services.notice("can't apply the hunks that you kept; nothing was changed, and the approval is still open:");
    lines.iter().for_each(|line| services.notice(line));
}

/// An earlier decision, for this run or for longer. None applies to a call that needs its own answer.
fn said_before(services: &Services, run: &Run, gate: &Gate, view: &GateView) -> Option<(Answer, AnsweredBy)> {
    if run.needs_own_answer(gate) {
        return None;
    }
    let of_run = answer_from_settings(run, gate).map(|answer| (answer, AnsweredBy::Flag));
    of_run.or_else(|| granted(services, run, view).then_some((Answer::Listed, AnsweredBy::Grant)))
}

/// Whether a grant covers the call that the gate asks about (spec 11.14). The person is told.
fn granted(services: &Services, run: &Run, view: &GateView) -> bool {
    let Some(task) = &view.task else { return false };
    let grants = services.grants.counting(&Caller::of(run, task));
    if matches!(view.gate.kind, GateKind::BeforeApply { .. }) {
        return granted_changes(services, run, view, &grants);
    }
    let tool = view.call.as_ref().and_then(|call| ToolGrant::of(services.tools.get(&call.name)?.spec()));
    let of_tool = |grant: &&Grant| matches!((&grant.what, &tool), (GrantedThing::Tool(own), Some(tool)) if own == tool);
    if let Some(grant) = grants.iter().find(of_tool) {
        services.notice(&format!(
            "note: grant {} allows this call, so you are not asked: {}",
            grant.n,
            grant.what.shown()
        ));
        return true;
    }
    if view.call.as_ref().is_some_and(|call| call.name == SCRIPT) {
        let of_node = services.grants.counting(&Caller::of_node(run, task));
        if let Some(grant) = of_node.iter().find(|grant| grant.what == GrantedThing::Script) {
            services.notice(&format!("note: grant {} allows this script, so you are not asked: {task}", grant.n));
            return true;
        }
    }
    let Some(call) = view.call.as_ref().and_then(CommandCall::of) else { return false };
    let command = command_text(call.words());
    let approved = run.task(task).filter(|task| task.approved);
    if let Some(first) = approved.and_then(|task| of_skill(task, &call)) {
        services.notice(&format!("note: you approved a task that may run `{first}`, so you are not asked: {command}"));
        return true;
    }
    let of_command = |grant: &&Grant| matches!(&grant.what, GrantedThing::Command(own) if own.covers(&call));
    let Some(grant) = grants.iter().find(of_command) else { return false };
    services.notice(&format!("note: grant {} allows this command, so you are not asked: {command}", grant.n));
    true
}

/// Whether grants cover the changes that the gate asks about. No grant answers for changes whose check did not pass.
fn granted_changes(services: &Services, run: &Run, view: &GateView, grants: &[Grant]) -> bool {
    let Some(changes) = pending(run, &view.gate) else { return false };
    let files: Vec<&str> = changes.files.iter().map(|file| file.path.as_str()).collect();
    let passed = view.check.as_ref().is_none_or(|check| check.end == CheckEnd::Passed);
    let Some(covering) = covering_changes(grants, services.workspace.root(), &files).filter(|_| passed) else {
        return false;
    };
    let numbers: Vec<String> = covering.iter().map(u32::to_string).collect();
    services.notice(&format!(
        "note: grant {} allows these changes, so you are not asked: {}",
        numbers.join(" and "),
        visible_line(&files.join(", "))
    ));
    true
}

/// The commands of a task's skill that cover the call (spec 7.11): a person who approved the task was shown them.
fn of_skill(task: &TaskRun, call: &CommandCall) -> Option<String> {
    let covers = |own: &&SkillCommand| {
        let command = CommandGrant { command: CommandLine::Words(own.words.clone()), cwd: String::new() };
        if own.whole { command.is_exactly(call) } else { command.covers(call) }
    };
    Some(task.skill.as_ref()?.commands.iter().find(covers)?.to_string())
}

/// The decision for this run that its settings contain (spec 11.8).
fn answer_from_settings(run: &Run, gate: &Gate) -> Option<Answer> {
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
                // The others stay pending: the gate asks again only about them.
                GateKind::BeforeRun(_) if !named.is_empty() => {
                    Some(Answer::Each { verdicts: named, words: String::new() })
                }
                _ => None,
            }
        }
    }
}

/// Whether one of the names is that of the task, or of something that contains it.
fn covers(run: &Run, slugs: &[Slug], task: &Slug) -> bool {
    run.names_around(task).iter().any(|name| slugs.contains(name))
}

/// Waits for the answer to a tool's question, which arrives through the inbox. Nothing keeps a call in the middle open
/// while nobody is there, so its question is declined.
pub(crate) fn question(work: Work, effect: Effect) -> EffectFuture {
    Box::pin(async move {
        let is_absent = tokio::select! {
            () = work.services.attendance.ended() => true,
            () = work.cancel.cancelled() => false,
        };
        match effect {
            Effect::AskPerson { task, run, call, midway: true, .. } if is_absent => {
                work.services.notice(&format!("{task}: nobody is there to answer {call}, so its question is declined"));
                Ok(EffectResult::Events(vec![events::QuestionDeclined { task, run, call }.into()]))
            }
            _ => Ok(EffectResult::Unattended(RunOutcome::InputRequired)),
        }
    })
}
