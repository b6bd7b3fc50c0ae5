//! The open gates, what they ask, and the commands that answer them.

use callsheet_app::{Standing, asked_about, standing};
use callsheet_core::nouns::RunId;
use callsheet_core::record::{Gate, GateKind};
use callsheet_runtime::ports::GateView;

use crate::setup::Setup;
use crate::term::gate_text;

/// The names by which a person refers to the tasks of a gate.
pub(super) fn addresses(view: &GateView) -> Vec<String> {
    asked_about(&view.gate).map(ToString::to_string).collect()
}

/// What each open gate asks and how to answer it.
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
    // A call that was interrupted is approved by name only.
    if waits.len() > 1 && waits.iter().all(|view| !view.again) {
        text.push_str(&format!(
            "Answer all {} at once: {call} approve {id} --resume, or {call} deny {id} --resume\n",
            waits.len()
        ));
        if waits.iter().all(|view| standing(view) == Some(Standing::Changes)) {
            text.push_str(&format!(
                "The same for all later changes of these tasks: {call} approve {id} --always --resume\n"
            ));
        }
    }
    text
}

/// The commands that approve and deny a gate and then resume the run. They contain the names of its tasks if other
/// gates are open, too.
pub(super) fn commands(setup: &Setup, waits: &[GateView], view: &GateView, id: &RunId) -> [String; 2] {
    let named: String = match waits {
        [_] => String::new(),
        _ => addresses(view).iter().map(|task| format!(" {task}")).collect(),
    };
    let call = &setup.command;
    [format!("{call} approve {id}{named} --resume"), format!("{call} deny {id}{named} --because \"…\" --resume")]
}

/// Whether the text of a shown gate already lists the call of the other gate.
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
