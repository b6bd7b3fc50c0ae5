//! Raises limits of a run or of its tasks for a person. The driver of the run records them.

use callsheet_core::nouns::RunId;
use callsheet_core::view::amount;
use callsheet_runtime::ports::InboxMessage;

use super::{Ordered, recorded};
use crate::command::Receipt;
use crate::refusal::Refusal;

pub(super) fn raise(runs: &Ordered<'_>, id: &RunId, limits: &[(String, f64)]) -> Result<Receipt, Refusal> {
    let (store, found) = runs.found(id)?;
    let run = recorded(&store, &found)?.run.into_run();
    for (name, max) in limits {
        let Some(now) = run.limit_bound(name) else {
            return Err(Refusal::usage(
                format!("the limit was not raised: run {id} has no limit {name}"),
                "name a task as `show` does, and timeout_seconds, max_turns, max_iterations, attempts, max_items, or a limit that it sets",
            ));
        };
        if !max.is_finite() || *max <= now {
            let now = amount(now);
            return Err(Refusal::usage(
                format!("the limit was not raised: {name} is {now} now"),
                format!("give a number above {now}"),
            ));
        }
    }
    if let Some((name, max)) = limits.iter().find(|(name, max)| !run.may_raise_limit(name, *max)) {
        let max = amount(*max);
        return Err(Refusal::usage(
            format!("the limit was not raised: {name} cannot be {max}"),
            "give a whole number in the range of the limit; the specification of templates lists the ranges in section 9",
        ));
    }
    let messages = limits.iter().map(|(limit, max)| InboxMessage::Raise { limit: limit.clone(), max: *max });
    runs.post(&store, &found, &messages.collect::<Vec<_>>())?;
    let raised: Vec<String> = limits.iter().map(|(name, max)| format!("{name} {}", amount(*max))).collect();
    Ok(Receipt::new(id, raised.join(", "), found.owner.as_ref()))
}
