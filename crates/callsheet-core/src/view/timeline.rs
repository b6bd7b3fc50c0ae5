//! When each piece of work ran, from the facts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::events::{self, Event, LogEntry, limit_words};
use crate::nouns::{Phase, Slug};
use crate::record::words::call_words;
use crate::record::{EffectKey, Gate, GateKind, Step};
use crate::run::Run;
use crate::template::ReturnStatus;

/// One piece of work: from its start to its result, milliseconds from the first fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// Its name in words, and whether it was interrupted.
    pub what: String,
    /// What kind of work.
    pub kind: BarKind,
    /// The task that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Slug>,
    /// Tokens read and written, if it is an answered call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Milliseconds at its beginning during which all slots of the model were taken by others.
    #[serde(skip_serializing_if = "is_zero")]
    pub queued_ms: u64,
    /// Whether it is part of the chain of work that determined the end.
    pub critical: bool,
    /// Start.
    pub from: u64,
    /// End. `None` if it never ended.
    pub to: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BarKind {
    /// A call for a list or for the answer.
    Plan,
    /// A call that refines a task.
    Refine,
    /// A call that executes, reviews or merges a task.
    Execute,
    /// A tool, a template or a lookup.
    Tool,
    /// Changes: checking, applying, undoing.
    Change,
    /// Waiting for a person's answer.
    You,
    /// A moment that is worth a note. It takes no time.
    Note,
    /// Work of the host itself.
    Host,
}

/// All model calls, tool calls, gates and applies in the order of their starts, and the moments when a limit came near
/// or a task with parts failed by itself.
pub fn timeline(facts: &[LogEntry]) -> Vec<Bar> {
    let mut run = Run::new();
    let zero = facts.first().map_or(0, |fact| fact.at);
    let mut bars: Vec<Bar> = Vec::new();
    let mut open: BTreeMap<EffectKey, usize> = BTreeMap::new();
    let (mut before, mut losses) = (0, 0);
    for fact in facts {
        let at = fact.at.saturating_sub(zero);
        // An event that cannot be folded is still drawn.
        let _folded = run.apply(fact);
        if std::mem::replace(&mut losses, run.losses()) != run.losses() {
            // What a dead process did was over by its last fact.
            let taken_up = matches!(fact.event, Event::RunResumed(_) | Event::RunContinued(_));
            let result = fact.event.ends();
            let stays = |key: &EffectKey| result.as_ref() == Some(key) || run.is_in_flight(key);
            interrupt(&mut bars, &mut open, stays, if taken_up { before } else { at });
        }
        before = at;
        if let Event::Started(events::Started { effect, .. }) = &fact.event {
            // Nobody answered it before the resume, so it is still asked.
            if open.contains_key(effect) && matches!(effect, EffectKey::Gate(_) | EffectKey::Question { .. }) {
                continue;
            }
            open.insert(effect.clone(), bars.len());
            let (kind, task) = kind_of(effect);
            let what = work_words(effect, &run);
            bars.push(Bar { what, kind, task, tokens: None, queued_ms: 0, critical: false, from: at, to: None });
        } else if let Some(bar) =
            fact.event.ends().and_then(|key| open.remove(&key)).and_then(|index| bars.get_mut(index))
        {
            bar.to = Some(at);
            if let Event::ReplyReceived(events::ReplyReceived { usage, ms, .. }) = &fact.event {
                bar.tokens = Some(usage.tokens());
                bar.queued_ms = at.saturating_sub(bar.from).saturating_sub(*ms);
            }
        } else if let Event::LimitNear(events::LimitNear { task, limit, used, max }) = &fact.event {
            bars.push(note(limit_words(task.as_ref(), limit, *used, *max), task.as_ref(), at));
        } else if let Some(task) = own_failure(&fact.event, &run) {
            bars.push(note(format!("{task} failed"), Some(task), at));
        }
    }
    mark_critical(&mut bars);
    bars
}

/// Ends work that is no longer in flight and has no result. A gate or a question is still asked.
fn interrupt(bars: &mut [Bar], open: &mut BTreeMap<EffectKey, usize>, stays: impl Fn(&EffectKey) -> bool, at: u64) {
    let asks = |key: &EffectKey| matches!(key, EffectKey::Gate(_) | EffectKey::Question { .. });
    let lost: Vec<EffectKey> = open.keys().filter(|key| !asks(key) && !stays(key)).cloned().collect();
    for key in lost {
        if let Some(bar) = open.remove(&key).and_then(|index| bars.get_mut(index)) {
            bar.to = Some(at.max(bar.from));
            bar.what.push_str(", interrupted");
        }
    }
}

fn note(what: String, task: Option<&Slug>, at: u64) -> Bar {
    Bar {
        what,
        kind: BarKind::Note,
        task: task.cloned(),
        tokens: None,
        queued_ms: 0,
        critical: false,
        from: at,
        to: Some(at),
    }
}

/// Goes from the work that ended last back to the first: each began when the one before it had ended, as far as the
/// times show.
fn mark_critical(bars: &mut [Bar]) {
    let took = |bar: &Bar| bar.to.filter(|to| *to > bar.from);
    let mut ended: Vec<usize> = (0..bars.len()).filter(|at| bars.get(*at).and_then(took).is_some()).collect();
    // If several ended at once, a call of the same task is the one that was waited for.
    ended.sort_by_key(|at| bars.get(*at).and_then(|bar| bar.to));
    let mut before = u64::MAX;
    let mut task: Option<Slug> = None;
    while let Some(last) = ended.iter().rposition(|at| bars.get(*at).and_then(took).is_some_and(|to| to <= before)) {
        let end = ended.get(last).and_then(|at| bars.get(*at)).and_then(took);
        let equal = ended.get(..=last).unwrap_or_default().iter().rev();
        let mut equal = equal.take_while(|at| bars.get(**at).and_then(took) == end);
        let own = equal.find(|at| task.is_some() && bars.get(**at).is_some_and(|bar| bar.task == task));
        let Some(chosen) = own.or(ended.get(last)).and_then(|at| bars.get_mut(*at)) else { return };
        chosen.critical = true;
        (before, task) = (chosen.from, chosen.task.clone());
        ended.truncate(last + 1);
    }
}

fn kind_of(effect: &EffectKey) -> (BarKind, Option<Slug>) {
    let of = |kind, task: &Slug| (kind, Some(task.clone()));
    match effect {
        EffectKey::Ask(key) | EffectKey::Read(key) => {
            let kind = match key.phase {
                _ if matches!(effect, EffectKey::Read(_)) => BarKind::Host,
                Phase::Route | Phase::Plan | Phase::Iterate | Phase::Continue | Phase::Join => BarKind::Plan,
                Phase::Refine => BarKind::Refine,
                Phase::Execute | Phase::Review | Phase::Merge => BarKind::Execute,
            };
            (kind, key.task.clone())
        }
        EffectKey::Tool { task, .. }
        | EffectKey::Mount { task, .. }
        | EffectKey::Return { task, .. }
        | EffectKey::Retrieve { task, .. } => of(BarKind::Tool, task),
        EffectKey::Try { task, .. } | EffectKey::Apply { task, .. } | EffectKey::RollBack { task, .. } => {
            of(BarKind::Change, task)
        }
        EffectKey::Question { task, .. } => of(BarKind::You, task),
        EffectKey::Check { task, .. } | EffectKey::Merge { task, .. } | EffectKey::Evaluate { task, .. } => {
            of(BarKind::Host, task)
        }
        EffectKey::Gate(Gate { kind, .. }) => match kind {
            GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => of(BarKind::You, task),
            GateKind::BeforeRun(_) => (BarKind::You, None),
        },
        EffectKey::Conclude => (BarKind::Host, None),
    }
}

/// The task with parts that failed by itself with this fact. No other line shows that. `run` is folded up to the fact.
pub fn own_failure<'e>(event: &'e Event, run: &Run) -> Option<&'e Slug> {
    let Event::Evaluated(events::Evaluated { task, step: Step::Closed(closed), .. }) = event else { return None };
    let failed = closed.status == ReturnStatus::Failed;
    let op = failed.then(|| run.operators().get(task)).flatten()?;
    run.operators().failed_by_itself(op).then_some(task)
}

/// A piece of work in words.
pub(super) fn work_words(effect: &EffectKey, run: &Run) -> String {
    match effect {
        EffectKey::Ask(key) => call_words(key, run.part(key)),
        EffectKey::Read(key) => format!("read {}", call_words(key, run.part(key))),
        EffectKey::Check { task, .. } => format!("check {task}"),
        EffectKey::Tool { task, call, .. } => format!("tool {call} of {task}"),
        EffectKey::Mount { task, call, .. } | EffectKey::Return { task, call, .. } => {
            format!("template {call} of {task}")
        }
        EffectKey::Merge { task, .. } => format!("merge {task}"),
        EffectKey::Evaluate { task, .. } => format!("evaluate {task}"),
        EffectKey::Retrieve { task, .. } => format!("look up context of {task}"),
        EffectKey::Gate(gate) => format!("gate {}", gate.n),
        EffectKey::Question { task, .. } => format!("question of {task}"),
        EffectKey::Try { task, .. } => format!("check changes of {task}"),
        EffectKey::Apply { task, .. } => format!("apply {task}"),
        EffectKey::RollBack { task, .. } => format!("roll back {task}"),
        EffectKey::Conclude => "conclude".to_owned(),
    }
}
