//! Finds runs by name and reads them from the record.

use std::sync::Arc;

use callsheet_core::fuzzy;
use callsheet_runtime::driver::Session;
use callsheet_runtime::ports::{RunSummary, Store};

use crate::advice::Advice;
use crate::refusal::{Refusal, list_runs};
use crate::view::Folded;
use crate::words::one_line;

/// Reads a run from the record. Edits of its plan file that the run has not read yet are not included.
///
/// # Errors
/// The record cannot be read.
pub fn recorded(store: &Arc<dyn Store>, found: &RunSummary) -> Result<Folded, Refusal> {
    let id = &found.run;
    let viewed = Session::view(store, id);
    let (run, entries) = viewed.map_err(|fault| Refusal::of_drive(&fault, id))?;
    Ok(Folded { run: run.into(), entries, broken: None })
}

/// Finds a run by a unique prefix of its name. Without a name it is the newest run, for every command, so that nobody
/// approves or resumes another run than the one that was shown. `which` describes suitable runs in messages.
///
/// # Errors
/// No run or several runs are suitable, or the newest one is not.
pub fn find_run(
    store: &Arc<dyn Store>,
    asked: Option<&str>,
    fits: impl Fn(&RunSummary) -> bool,
    which: &str,
) -> Result<RunSummary, Refusal> {
    let runs = store.runs()?;
    let kind = || if which.is_empty() { "run".to_owned() } else { format!("{which} run") };
    let Some(asked) = asked else {
        if runs.is_empty() {
            return Err(no_runs());
        }
        let Some(found) = runs.iter().position(fits) else {
            return Err(Refusal::usage(format!("there is no {} here", kind()), list_runs()));
        };
        let mut runs = runs.into_iter();
        let (Some(newest), earlier) = (runs.next(), found.checked_sub(1).and_then(|n| runs.nth(n))) else {
            return Err(no_runs());
        };
        return match earlier {
            None => Ok(newest),
            Some(earlier) => Err(Refusal::usage(
                format!("the newest run, {}, is not {which}; an earlier one is: {}", newest.run, earlier.run),
                format!("name the run that you mean: {}", earlier.run),
            )),
        };
    };
    let mut found: Vec<RunSummary> = runs.iter().filter(|run| run.run.as_str() == asked).cloned().collect();
    if found.is_empty() {
        found = runs.iter().filter(|run| run.run.as_str().starts_with(asked)).cloned().collect();
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let mut refusal = unknown_run(asked, &runs);
            if refusal.advice == list_runs() {
                refusal.advice.add("name a run before its tasks");
            }
            Err(refusal)
        }
        _ => {
            let names: Vec<&str> = found.iter().map(|run| run.run.as_str()).collect();
            Err(Refusal::usage(
                format!("{asked} matches several runs: {}", names.join(", ")),
                "give more characters of the name",
            ))
        }
    }
}

/// A refusal of a name that no run has, with the names that may be meant.
pub fn unknown_run(asked: &str, runs: &[RunSummary]) -> Refusal {
    let near = fuzzy::did_you_mean(asked, runs.iter().map(|run| run.run.as_str()));
    let advice = if near.is_empty() { list_runs() } else { near.into() };
    Refusal::usage(format!("there is no run {}", one_line(asked, 64)), advice)
}

fn no_runs() -> Refusal {
    Refusal::usage("there are no runs here yet", Advice::command("start one", ["run", "…"]))
}
