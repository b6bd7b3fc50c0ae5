//! When each piece of work ran, from the facts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{CallKey, EffectKey, Event, LogEntry, Step};
use crate::run::Run;
use crate::spec::{Phase, Slug};
use crate::template::ReturnStatus;

/// One piece of work: from its start to its result, milliseconds from the first fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// What, in words.
    pub what: String,
    /// Start.
    pub from: u64,
    /// End; `None`: it never ended.
    pub to: Option<u64>,
}

/// All model calls, tool calls, gates and applies, in the order they started, and when a limit came near or a task with
/// parts failed by itself.
pub fn timeline(facts: &[LogEntry]) -> Vec<Bar> {
    let mut run = Run::new();
    let zero = facts.first().map_or(0, |fact| fact.at);
    let mut bars: Vec<Bar> = Vec::new();
    let mut open: BTreeMap<EffectKey, usize> = BTreeMap::new();
    for fact in facts {
        let at = fact.at.saturating_sub(zero);
        // What cannot be folded is drawn all the same.
        let _folded = run.apply(fact);
        if let Event::Started { effect, .. } = &fact.event {
            // Nobody answered it before the resume: it is asked still.
            if open.contains_key(effect) && matches!(effect, EffectKey::Gate(_) | EffectKey::Question { .. }) {
                continue;
            }
            open.insert(effect.clone(), bars.len());
            bars.push(Bar { what: work_words(effect, &run), from: at, to: None });
        } else if let Some(bar) =
            ended(&fact.event).and_then(|key| open.remove(&key)).and_then(|index| bars.get_mut(index))
        {
            bar.to = Some(at);
        } else if let Event::LimitNear { task, limit, used, max } = &fact.event {
            bars.push(Bar { what: limit_words(task.as_ref(), limit, *used, *max), from: at, to: Some(at) });
        } else if let Some(task) = own_failure(&fact.event, &run) {
            bars.push(Bar { what: format!("{task} failed"), from: at, to: Some(at) });
        }
    }
    bars
}

/// The task with parts that failed by itself with this fact: no other line tells of it. `run` is folded up to the fact.
pub fn own_failure<'e>(event: &'e Event, run: &Run) -> Option<&'e Slug> {
    let Event::Evaluated { task, step: Step::Closed(closed), .. } = event else { return None };
    let failed = closed.status == ReturnStatus::Failed;
    let op = failed.then(|| run.operators().get(task)).flatten()?;
    run.operators().failed_by_itself(op).then_some(task)
}

fn ended(event: &Event) -> Option<EffectKey> {
    Some(match event {
        Event::ReplyReceived { key, .. } | Event::CallFailed { key, .. } => EffectKey::Ask(key.clone()),
        Event::ToolFinished { task, run, call, .. } => {
            EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.clone() }
        }
        Event::GateAnswered { gate, .. } => EffectKey::Gate(gate.clone()),
        Event::QuestionAnswered { task, run, call, .. } => {
            EffectKey::Question { task: task.clone(), run: run.clone(), call: call.clone() }
        }
        Event::ChangesApplied { task, run, set, .. }
        | Event::ChangesRebased { task, run, set, .. }
        | Event::ChangesRejected { task, run, set, .. } => {
            EffectKey::Apply { task: task.clone(), run: run.clone(), set: *set }
        }
        Event::ChangesChecked { task, run, set, .. } => {
            EffectKey::Try { task: task.clone(), run: run.clone(), set: *set }
        }
        Event::ContextRetrieved { task, n, .. } => EffectKey::Retrieve { task: task.clone(), n: *n },
        Event::ChangesRolledBack { task, run, set } => {
            EffectKey::RollBack { task: task.clone(), run: run.clone(), set: *set }
        }
        _ => return None,
    })
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

/// A limit that is nearly used up, in words: `limit max_calls: 8 of 10 used`, `limit max_turns of review: 4 of 5 used`.
pub fn limit_words(task: Option<&Slug>, limit: &str, used: f64, max: f64) -> String {
    let of = task.map(|task| format!(" of {task}")).unwrap_or_default();
    format!("limit {limit}{of}: {} of {} used", amount(used), amount(max))
}

pub(super) fn amount(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A call in words: `plan`, `refine find-code-1`, `execute find-code-1 (search_text retries)`. `part`: what its execution
/// run is called, or nothing.
pub fn call_words(key: &CallKey, part: &str) -> String {
    let phase = match key.phase {
        Phase::Route => "route",
        Phase::Plan => "plan",
        Phase::Refine => "refine",
        Phase::Execute => "execute",
        Phase::Review => "review",
        Phase::Merge => "merge",
        Phase::Iterate => "iterate",
        Phase::Continue => "continue",
        Phase::Join => "join",
    };
    let mut words = phase.to_owned();
    if let Some(task) = &key.task {
        words.push(' ');
        words.push_str(task.as_str());
    }
    if !part.is_empty() {
        words.push_str(&format!(" ({part})"));
    }
    words
}
