//! `runs`: lists the runs of this project, newest first.

use std::path::Path;

use callsheet_app::Advice;
use callsheet_runtime::ports::RunSummary;
use callsheet_store::SqliteStore;

use crate::cli::{Exit, Failure, RunsArgs};
use crate::place;
use crate::setup::{Setup, civil, store_failure};
use crate::term::{dollars, one_line, outcome_words};

pub(super) fn runs(setup: &Setup, arguments: &RunsArgs) -> Result<Exit, Failure> {
    if let Some(from) = &arguments.adopt {
        return adopt(setup, from.as_deref());
    }
    let runs = own_runs(setup)?;
    if let Some(words) = setup.elsewhere_words() {
        tell!("{words}");
    } else if runs.is_empty() {
        tell!("no runs in {}", setup.runs_place());
    }
    runs.iter().try_for_each(|run| print_run(setup, run))?;
    Ok(Exit::Complete)
}

fn own_runs(setup: &Setup) -> Result<Vec<RunSummary>, Failure> {
    if setup.has_store() { setup.existing_store()?.runs().map_err(store_failure) } else { Ok(Vec::new()) }
}

fn print_run(setup: &Setup, run: &RunSummary) -> Result<(), Failure> {
    if setup.json {
        return super::print_json(run);
    }
    let state = match (&run.outcome, &run.owner) {
        (Some(outcome), _) => outcome_words(*outcome).to_owned(),
        (None, Some(owner)) => format!("running ({owner})"),
        (None, None) => "interrupted".to_owned(),
    };
    let cost = match run.cost_usd {
        None => "  cost unknown".to_owned(),
        Some(cost) if cost > 0.0 => format!("  {}", dollars(cost)),
        Some(_) => String::new(),
    };
    let (year, month, day, seconds) = civil(run.started_at);
    super::print(&format!(
        "{}  {year:04}-{month:02}-{day:02} {:02}:{:02} UTC  {state}{cost}  {}\n",
        run.run,
        seconds / 3_600,
        seconds / 60 % 60,
        one_line(&run.request, 60)
    ))
}

/// Adopts the runs that this project had under another path.
fn adopt(setup: &Setup, from: Option<&Path>) -> Result<Exit, Failure> {
    let found = match from {
        Some(from) => std::path::absolute(from)
            .ok()
            .and_then(|from| place::left_behind(&from, &setup.folders))
            .into_iter()
            .collect(),
        None => setup.elsewhere(),
    };
    let from = match found.as_slice() {
        [] => {
            let advice =
                Advice::command("name the folder where it was, which must be gone", ["runs", "--adopt", "FOLDER"]);
            return Err(Failure::usage("this project had no runs at another path", advice));
        }
        [from, ..] => from,
    };
    let place = from.project.display();
    if !own_runs(setup)?.is_empty() {
        return Err(Failure::usage(
            format!("this project has runs of its own by now, and those of {place} can't be joined to them"),
            format!("to look at those, move the project back to {place} for a while"),
        ));
    }
    let store = SqliteStore::open(&from.store).map_err(store_failure)?;
    let runs = callsheet_runtime::ports::Store::runs(&store).map_err(store_failure)?;
    if let Some(run) = runs.iter().find(|run| run.owner.is_some()) {
        let advice = "wait for it, or stop the process";
        return Err(Failure::usage(format!("run {} is still being driven", run.run), advice));
    }
    drop(store);
    place::adopt(&setup.project, &setup.folders, from)
        .map_err(|error| Failure::internal(format!("can't take over the runs of {place}: {error}"), ""))?;
    super::say(setup, &format!("took over {} of {place}", callsheet_core::view::counted(runs.len(), "run")))?;
    Ok(Exit::Complete)
}
