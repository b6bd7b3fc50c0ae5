//! Values to words.

use callsheet_core::nouns::Phase;
use callsheet_core::record::{CallKey, Gate, GateKind, Outcome, ReferenceStage};
use callsheet_core::run::{Effect, ModelCall};

pub fn outcome(outcome: Outcome) -> String {
    serde_json::to_value(outcome).unwrap().as_str().unwrap().to_owned()
}

fn phase(phase: Phase) -> String {
    serde_json::to_value(phase).unwrap().as_str().unwrap().to_owned()
}

/// `execute find-code-1 exec`.
pub fn unit(key: &CallKey) -> String {
    let mut text = short_unit(key);
    if let Some(run) = &key.run {
        text.push_str(&format!(" {run}"));
    }
    text
}

/// `execute find-code-1`.
pub fn short_unit(key: &CallKey) -> String {
    let mut text = phase(key.phase);
    if let Some(task) = &key.task {
        text.push_str(&format!(" {task}"));
    }
    text
}

fn asked(asked: &ModelCall) -> String {
    let mut text = unit(&asked.key);
    if asked.turn > 1 {
        text.push_str(&format!(", turn {}", asked.turn));
    }
    if asked.attempt > 1 {
        text.push_str(&format!(", attempt {}", asked.attempt));
    }
    if asked.reuses {
        text.push_str(", or use an earlier reply");
    }
    if asked.without_tools {
        text.push_str(", without tools");
    }
    if asked.budget_scale < 1.0 {
        text.push_str(&format!(", budgets times {:.2}", asked.budget_scale));
    }
    text
}

fn gate(gate: &Gate) -> String {
    let n = gate.n;
    match &gate.kind {
        GateKind::BeforeRun(slugs) => {
            let slugs: Vec<&str> = slugs.iter().map(callsheet_core::nouns::Slug::as_str).collect();
            format!("gate {n}: run {}?", slugs.join(", "))
        }
        GateKind::BeforeApply { task, set, .. } => format!("gate {n}: apply changes {set} of {task}?"),
        GateKind::BeforeCall { task, call, .. } => format!("gate {n}: make call {call} of {task}?"),
    }
}

/// One line about an effect.
pub fn describe(effect: &Effect) -> String {
    match effect {
        Effect::AskModel(call) => format!("ask {}", asked(call)),
        Effect::ReadReply(call) => format!("read {}", asked(call)),
        Effect::CheckReferences { task, stage: ReferenceStage::Skip, .. } => {
            format!("check references of {task}: may refinement be skipped?")
        }
        Effect::CheckReferences { task, stage: ReferenceStage::Start, .. } => {
            format!("check references of {task}: do they still hold?")
        }
        Effect::RunTool { task, run, call, answer, .. } => {
            let goes_on = if answer.is_some() { "go on with" } else { "run" };
            format!("{goes_on} {} as {} of {task} {run}", call.name, call.id)
        }
        Effect::MountTemplate { task, call, .. } => format!("begin {} of {task}", call.name),
        Effect::ReturnTemplate { task, call, .. } => format!("end {call} of {task}"),
        Effect::MergeByCode { task, .. } => format!("merge {task} by code"),
        Effect::Evaluate { task, .. } => format!("evaluate {task}"),
        Effect::Retrieve { task, .. } => format!("look up context of {task}"),
        Effect::AskApproval(asking) => gate(asking),
        Effect::AskPerson { task, question, .. } => format!("ask the person for {task}: {question}"),
        Effect::TryChanges { task, set, check, .. } => format!("check changes {set} of {task}: {check}"),
        Effect::ApplyChanges { task, set, .. } => format!("apply changes {set} of {task}"),
        Effect::RollBack { task, set, .. } => format!("roll back changes {set} of {task}"),
        Effect::Conclude(ended) => format!("conclude: {}", outcome(*ended)),
    }
}
