//! `approve --sign`: writes a signed approval to a file, for a run on another machine (spec 14.4).

use std::path::Path;

use callsheet_app::{Advice, RunControl, asked_about};
use callsheet_core::nouns::{RunId, Slug};
use callsheet_share::{ApprovedGate, SignedApproval};

use crate::cli::{Exit, Failure};
use crate::setup::{Setup, find_run, recorded, shell_word};

use super::key::signing_key;

/// Signs an approval of everything that waits, or of some of the tasks. Nothing is approved on this machine.
pub(super) fn sign(setup: &Setup, run: &RunId, tasks: &[String], key: &Path, output: &Path) -> Result<Exit, Failure> {
    let key = signing_key(key)?;
    let store = setup.existing_store()?;
    let found = find_run(&store, Some(run.as_str()), |_| true, "")?;
    let view = recorded(&store, &found)?.run;
    let gates = setup.runs().gates(&view)?;
    let named = |gate: &callsheet_core::record::Gate| -> Vec<String> {
        let asked = asked_about(gate).map(ToString::to_string);
        asked.filter(|task| tasks.contains(task)).collect()
    };
    if let Some(task) = tasks.iter().find(|task| !gates.iter().any(|view| named(&view.gate).contains(task))) {
        let advice = Advice::command("see what waits", ["show", run.as_str()]);
        return Err(Failure::usage(format!("{task} is not waiting for approval"), advice));
    }
    let chosen = gates.iter().filter(|view| tasks.is_empty() || !named(&view.gate).is_empty());
    let (interrupted, chosen): (Vec<_>, Vec<_>) = chosen.partition(|view| view.again);
    let interrupted: Vec<&str> =
        interrupted.iter().flat_map(|view| asked_about(&view.gate)).map(Slug::as_str).collect();
    let there =
        format!("decide it on the machine where the run waits: callsheet approve {run} {}", interrupted.join(" "));
    let unsigned = format!("started and never finished, which no signed approval answers: {}", interrupted.join(", "));
    if chosen.is_empty() && !interrupted.is_empty() {
        return Err(Failure::usage(unsigned, there));
    }
    let approved: Vec<ApprovedGate> = chosen
        .into_iter()
        .map(|gate| ApprovedGate { gate: gate.gate.n, asked: view.asked(gate), tasks: named(&gate.gate) })
        .collect();
    if approved.is_empty() {
        return Err(Failure::usage(format!("run {run} is not waiting for approval"), ""));
    }
    let text = SignedApproval::sign(&found.run, approved, &key);
    if std::fs::symlink_metadata(output).is_ok() {
        return Err(Failure::usage(format!("{} exists", output.display()), "choose another name"));
    }
    std::fs::write(output, text).map_err(|error| {
        Failure::internal(format!("can't write {}: {error}", output.display()), "choose another file with -o")
    })?;
    if !interrupted.is_empty() {
        tell!("note: {unsigned}; {there}");
    }
    let advice = format!(
        "send the file to the machine where the run waits, and there run callsheet import {}",
        shell_word(&output.to_string_lossy())
    );
    super::say(setup, &format!("signed the approval; {advice}")).map(|()| Exit::Complete)
}
