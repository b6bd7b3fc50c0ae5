//! Limits of the run in words for people, and which of them a person may want to raise now.

use crate::run::{LimitUse, Run};

/// The limit that ended the run, or else the limit that is used up most.
pub fn most_used_limit(run: &Run) -> Option<LimitUse> {
    let uses = run.limit_uses();
    let ended = run.ended_by().filter(|_| run.outcome().is_some());
    let stopped = uses.iter().position(|one| Some(one.limit) == ended);
    let share = |at: &usize| uses.get(*at).map_or(0.0, |one| one.used / one.max);
    let most = || (0..uses.len()).max_by(|one, other| share(one).total_cmp(&share(other)));
    uses.get(stopped.or_else(most)?).cloned()
}

/// The limit that stopped the run, or is about to.
pub fn pressing_limit(run: &Run) -> Option<LimitUse> {
    let has_ended = run.outcome().is_some();
    most_used_limit(run).filter(|one| if has_ended { Some(one.limit) == run.ended_by() } else { one.is_near() })
}

/// The unit of a limit: `model calls`.
pub fn limit_unit(limit: &str) -> &'static str {
    match limit {
        "max_calls" => "model calls",
        "max_tokens" => "tokens",
        "max_cost_usd" => "US dollars",
        _ => "seconds",
    }
}
