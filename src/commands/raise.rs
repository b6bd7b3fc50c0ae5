//! Flags that raise limits of a working run.

use callsheet_app::{Advice, Limit, Receipt, RunCommand, RunView};
use callsheet_core::nouns::RunId;

use crate::cli::Failure;
use crate::config::Value;
use crate::setup::Setup;

use super::answer::order;
use super::day_limit;

/// The limits that can be raised in a working run.
const RAISED: [Limit; 4] = [Limit::MaxCalls, Limit::MaxTokens, Limit::MaxCost, Limit::RunTimeout];

/// The limits from flags, by their names in the record.
pub(super) fn given(setup: &Setup) -> Vec<(String, f64)> {
    let flags = setup.config.given();
    let limit = |limit: Limit| Some((limit.name().to_owned(), flags.values.get(&key(limit))?.value.as_f64()?));
    RAISED.into_iter().filter_map(limit).collect()
}

/// The flag that raises a limit of the run, after a space. Empty for other limits. When a run is resumed, the limit of
/// a day holds again.
pub(super) fn flag_of(run: &RunView, limit: Limit, at_work: bool) -> String {
    if !at_work && limit == Limit::MaxCost && run.about().settings.limits.is_held_by_day() {
        return format!(" --set {}=N", day_limit::KEY);
    }
    if RAISED.contains(&limit) { format!(" --set {}=N", key(limit)) } else { String::new() }
}

/// The key that sets a limit of the run.
fn key(limit: Limit) -> String {
    format!("limits.{}", limit.name())
}

/// Refuses other flags, because only limits can change while a run works.
pub(super) fn refuse_flags(setup: &Setup, id: &RunId) -> Result<(), Failure> {
    let reaches = |name: &String| RAISED.iter().any(|limit| key(*limit) == *name);
    if let Some((_, Value { origin: flag, .. })) = setup.config.given().values.iter().find(|(name, _)| !reaches(name)) {
        let advice = Advice::command("leave it out, or stop the run first", ["cancel", id.as_str()]);
        return Err(Failure::usage(format!("run {id} is at work, and {flag} cannot change it now"), advice));
    }
    Ok(())
}

/// Raises the limits from flags. `None` if there are none.
pub(super) fn raise(setup: &Setup, id: &RunId) -> Result<Option<Receipt>, Failure> {
    let limits = given(setup);
    if limits.is_empty() {
        return Ok(None);
    }
    order(setup, id, RunCommand::Raise { limits }).map(Some)
}
