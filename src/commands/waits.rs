//! The gates that are open, what they ask, and the commands that answer them.

use callsheet_core::record::{Gate, GateKind};
use callsheet_core::run::Run;
use callsheet_core::spec::{Phase, RunId};
use callsheet_runtime::effects::{gate_view, open_gates};
use callsheet_runtime::ports::{GateView, Store};

use crate::cli::Failure;
use crate::models::configured;
use crate::setup::{Setup, store_failure};
use crate::term::gate_text;

use super::answer::asked_about;

/// The names by which a person answers for the tasks of a gate.
pub(super) fn addresses(view: &GateView) -> Vec<String> {
    asked_about(&view.gate).map(ToString::to_string).collect()
}

/// What the open gates ask, from the record.
pub(super) fn waits(setup: &Setup, store: &dyn Store, run: &Run) -> Result<Vec<GateView>, Failure> {
    let mut views = Vec::new();
    for gate in open_gates(run) {
        views.push(seen(setup, store, run, &gate)?);
    }
    Ok(views)
}

/// What one gate asks.
pub(super) fn seen(setup: &Setup, store: &dyn Store, run: &Run, gate: &Gate) -> Result<GateView, Failure> {
    let mut view = gate_view(store, &setup.project, run, gate).map_err(store_failure)?;
    for writer in &mut view.writers {
        let skill = run.task(&writer.task.slug).and_then(|task| task.skill.as_ref());
        let wish = skill.and_then(|skill| skill.model.as_deref());
        if let Some(model) = configured(&setup.config, Phase::Execute, wish, run.settings().model.as_deref()) {
            writer.model = model;
        }
    }
    Ok(view)
}

/// What each open gate asks and how it is answered.
pub(super) fn waits_text(setup: &Setup, waits: &[GateView], id: &RunId) -> String {
    let mut text = String::new();
    let call = &setup.command;
    let changes = waits.iter().filter(|view| !view.hunks.is_empty()).count();
    let listed =
        |view: &GateView| waits.iter().take_while(|other| other.gate != view.gate).any(|other| lists(other, view));
    for view in waits.iter().filter(|view| !listed(view)) {
        text.push_str(&format!("Waiting at {}:\n{}", gate_name(&view.gate), gate_text(view, false).as_str()));
        let [approve, deny] = commands(setup, waits, view, id);
        text.push_str(&format!("Answer: {approve}\n    or: {deny}\n"));
        if view.hunks.len() > 1 {
            let of_task = addresses(view).into_iter().next().filter(|_| changes > 1);
            let shown = of_task.as_ref().map(|task| format!(" --task {task}")).unwrap_or_default();
            let named = of_task.map(|task| format!(" {task}")).unwrap_or_default();
            text.push_str(&format!("Keep only some hunks: {call} approve {id}{named} --hunks 1 --resume\n"));
            text.push_str(&format!(
                "Edit a hunk: {call} show {id}{shown} --hunk 1 > FILE; edit FILE; {call} approve {id}{named} --edit 1=FILE --resume\n"
            ));
        }
    }
    if waits.len() > 1 {
        text.push_str(&format!(
            "Answer all {} at once: {call} approve {id} --resume, or {call} deny {id} --resume\n",
            waits.len()
        ));
    }
    text
}

/// The commands that approve and deny what a gate asks, and go on: with the names of its tasks, if others wait as well.
pub(super) fn commands(setup: &Setup, waits: &[GateView], view: &GateView, id: &RunId) -> [String; 2] {
    let named: String = match waits {
        [_] => String::new(),
        _ => addresses(view).iter().map(|task| format!(" {task}")).collect(),
    };
    let call = &setup.command;
    [format!("{call} approve {id}{named} --resume"), format!("{call} deny {id}{named} --because \"…\" --resume")]
}

/// Whether a gate that is shown lists the call of another one.
fn lists(shown: &GateView, other: &GateView) -> bool {
    shown.also.iter().any(|also| also.gate == other.gate)
}

fn gate_name(gate: &Gate) -> String {
    let kind = match gate.kind {
        GateKind::BeforeRun(_) => "before-run",
        GateKind::BeforeApply { .. } => "before-apply",
        GateKind::BeforeCall { .. } => "before-call",
    };
    format!("gate {} ({kind})", gate.n)
}
