//! `runs`: the runs of this project, newest first.

use crate::cli::{Exit, Failure};
use crate::setup::{Setup, civil, store_failure};
use crate::term::{dollars, one_line, outcome_words};

pub(super) fn runs(setup: &Setup) -> Result<Exit, Failure> {
    let runs = if setup.has_store() { setup.existing_store()?.runs().map_err(store_failure)? } else { Vec::new() };
    if runs.is_empty() {
        tell!("no runs in {}", setup.project.display());
    }
    for run in &runs {
        if setup.json {
            super::print_json(run)?;
            continue;
        }
        let state = match (&run.outcome, &run.owner) {
            (_, Some(owner)) => format!("running ({owner})"),
            (Some(outcome), None) => outcome_words(*outcome).to_owned(),
            (None, None) => "interrupted".to_owned(),
        };
        let cost = if run.cost_usd > 0.0 { format!("  {}", dollars(run.cost_usd)) } else { String::new() };
        let (year, month, day, seconds) = civil(run.started_at);
        super::print(&format!(
            "{}  {year:04}-{month:02}-{day:02} {:02}:{:02} UTC  {state}{cost}  {}\n",
            run.run,
            seconds / 3_600,
            seconds / 60 % 60,
            one_line(&run.request, 60)
        ))?;
    }
    Ok(Exit::Complete)
}
