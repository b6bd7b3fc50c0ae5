//! Flags that raise limits of a run at work.

use callsheet_app::{Receipt, RunCommand};
use callsheet_core::spec::RunId;

use crate::cli::{Failure, WorkArgs};
use crate::config::Origin;
use crate::setup::Setup;

use super::answer::order;

/// Keys of the limits that a run at work takes.
const FLAGS: [&str; 4] = ["limits.max_calls", "limits.max_tokens", "limits.max_cost_usd", "limits.run_timeout_seconds"];

/// The limits that flags give, by the names of the record.
pub(super) fn given(work: &WorkArgs) -> Vec<(String, f64)> {
    #[allow(clippy::cast_precision_loss, reason = "limits stay far below 2^53")]
    let number = |value: u64| value as f64;
    let limits = [
        ("max_calls", work.max_calls.map(f64::from)),
        ("max_tokens", work.max_tokens.map(number)),
        ("max_cost_usd", work.max_cost),
        ("run_timeout_seconds", work.timeout.map(number)),
    ];
    limits.into_iter().filter_map(|(name, max)| Some((name.to_owned(), max?))).collect()
}

/// Nothing but limits changes while a run works.
pub(super) fn refuse_flags(setup: &Setup, id: &RunId) -> Result<(), Failure> {
    // The model may be named by the environment.
    let reaches = |name: &str| name == "model" || FLAGS.contains(&name);
    let flags = setup.config.values.iter().filter(|(name, _)| !reaches(name));
    if let Some(flag) = flags.map(|(_, value)| &value.origin).find(|origin| matches!(origin, Origin::Flag(_))) {
        let advice = format!("leave it out, or stop the run first: {} cancel {id}", setup.command);
        return Err(Failure::usage(format!("run {id} is at work, and {flag} cannot change it now"), advice));
    }
    Ok(())
}

/// Raises the limits that flags give. `None`: there are none.
pub(super) fn raise(setup: &Setup, work: &WorkArgs, id: &RunId) -> Result<Option<Receipt>, Failure> {
    let limits = given(work);
    if limits.is_empty() {
        return Ok(None);
    }
    order(setup, id, RunCommand::Raise { limits }).map(Some)
}
