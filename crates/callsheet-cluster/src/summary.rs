//! The run in the list of runs.

use callsheet_core::events::LogEntry;
use callsheet_core::run::Run;
use callsheet_runtime::driver::only_asks;
use callsheet_runtime::ports::RunSummary;

/// What the list calls the process that drives a run.
const OWNER: &str = "the cluster";

/// The run as the list shows it. `None` before it has begun.
pub(crate) fn summary(run: &Run, rests: bool, started_at: u64) -> Option<RunSummary> {
    let request = run.prompt().lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let (ended, totals) = (run.outcome(), run.totals());
    Some(RunSummary {
        run: run.id()?.clone(),
        request: request.to_owned(),
        started_at,
        changed_at: run.now_ms(),
        facts: run.last_fact(),
        outcome: ended.or_else(|| only_asks(run).filter(|_| !rests)),
        cost_usd: (totals.unpriced_calls == 0).then_some(totals.cost_usd),
        owner: (ended.is_none() && !rests).then(|| OWNER.to_owned()),
    })
}

/// When the run began.
pub(crate) fn started_at(entries: &[LogEntry]) -> u64 {
    entries.first().map_or(0, |entry| entry.at)
}

/// Whether two summaries say the same of the state of a run. The list is not updated for less.
pub(crate) fn is_news(before: Option<&RunSummary>, now: &RunSummary) -> bool {
    before.is_none_or(|before| (before.outcome, &before.owner) != (now.outcome, &now.owner))
}
