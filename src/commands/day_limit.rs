//! The limit on what all runs of a project may cost within 24 hours (spec 12.10). When a run starts or is resumed, it
//! may cost what the other runs leave.

use std::collections::BTreeSet;
use std::sync::Arc;

use callsheet_core::events::Event;
use callsheet_core::nouns::{BlobId, RunId, Settings};
use callsheet_runtime::ports::{Clock, RunSummary, Store, StoreFault, SystemClock};

use crate::cli::{Exit, Failure};
use crate::setup::{Setup, store_failure};

use super::front::Front;

/// The key of the setting.
pub(super) const KEY: &str = "limits.day_cost_usd";

/// The period that counts, in milliseconds.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The cost of a run, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spent {
    /// Since the start of the run.
    whole: f64,
    /// Within the last 24 hours.
    of_day: f64,
}

/// Limits the run's cost to what is left of the day's limit, and tells the person.
///
/// # Errors
/// Nothing is left, or a record cannot be read.
pub(super) fn hold_to_day(
    setup: &Setup,
    front: &Front,
    store: &Arc<dyn Store>,
    run: &RunId,
    settings: &mut Settings,
) -> Result<(), Failure> {
    settings.limits.day_share_usd = None;
    let Some(of_day) = setup.config.number(KEY) else { return Ok(()) };
    let since = SystemClock.now_ms().saturating_sub(DAY_MS);
    let mut used = 0.0;
    let mut counted = BTreeSet::new();
    let mut own = Spent::default();
    for summary in
        store.runs().map_err(store_failure)?.iter().filter(|one| one.changed_at >= since || one.owner.is_some())
    {
        let (spent, reserved) = costs(&**store, summary, since, &mut counted).map_err(store_failure)?;
        if summary.run == *run {
            own = spent;
        } else {
            used += spent.of_day + reserved;
        }
    }
    let left = of_day - used - own.of_day;
    if left <= 0.0 {
        return Err(Failure::new(
            Exit::Limit,
            format!(
                "runs of this project have spent or reserved {:.2} US dollars within 24 hours; the limit is {of_day:.2}",
                used + own.of_day
            ),
            format!("wait, cancel a run that is in progress, or raise {KEY}"),
        ));
    }
    settings.limits.day_share_usd = Some(own.whole + left);
    if settings.limits.is_held_by_day() {
        let words = format!(
            "note: this run may cost {left:.2} US dollars more; the rest of the {of_day:.2} that {KEY} allows is used"
        );
        front.notice(&words);
    }
    Ok(())
}

/// What a run has cost, and what it may still spend if a process drives it. `counted` holds the day's replies that were
/// counted for other runs, because a fork contains replies of the original run.
fn costs(
    store: &dyn Store,
    summary: &RunSummary,
    since: u64,
    counted: &mut BTreeSet<(u64, BlobId, BlobId)>,
) -> Result<(Spent, f64), StoreFault> {
    let mut spent = Spent::default();
    let mut limit = None;
    for entry in store.read(&summary.run, 0)? {
        match &entry.event {
            Event::ReplyReceived(reply) if reply.reused.is_none() => {
                let cost = reply.usage.cost_usd.unwrap_or_default();
                spent.whole += cost;
                if entry.at >= since && counted.insert((entry.at, reply.prompt.clone(), reply.reply.clone())) {
                    spent.of_day += cost;
                }
            }
            Event::RunStarted(started) => limit = started.settings.limits.cost_usd(),
            Event::RunResumed(resumed) => limit = resumed.settings.limits.cost_usd(),
            Event::RunContinued(continued) => limit = continued.settings.limits.cost_usd(),
            Event::LimitRaised(raised) if raised.limit == "max_cost_usd" => limit = Some(raised.max),
            _ => {}
        }
    }
    let is_at_work = summary.owner.is_some();
    let reserved = limit.filter(|_| is_at_work).map_or(0.0, |limit| (limit - spent.whole).max(0.0));
    Ok((spent, reserved))
}
