//! A person raises a limit of a run, from wherever they stand: whoever drives the run records it.

use callsheet_core::run::{LimitUse, Run};
use callsheet_core::spec::RunId;
use callsheet_core::view::limit_number;
use callsheet_runtime::ports::{InboxMessage, Store};

use crate::cli::{Exit, Failure, WorkArgs};
use crate::config::Origin;
use crate::setup::{Setup, store_failure};

/// Keys of the limits that a run at work takes.
const FLAGS: [&str; 4] = ["limits.max_calls", "limits.max_tokens", "limits.max_cost_usd", "limits.run_timeout_seconds"];

/// The limits that flags give, by the names of the record.
pub(super) fn given(work: &WorkArgs) -> Vec<(&'static str, f64)> {
    #[allow(clippy::cast_precision_loss, reason = "limits stay far below 2^53")]
    let number = |value: u64| value as f64;
    let limits = [
        ("max_calls", work.max_calls.map(f64::from)),
        ("max_tokens", work.max_tokens.map(number)),
        ("max_cost_usd", work.max_cost),
        ("run_timeout_seconds", work.timeout.map(number)),
    ];
    limits.into_iter().filter_map(|(name, max)| Some((name, max?))).collect()
}

/// Higher limits and one message, with its name, reach the process that drives the run; nothing else of a run changes while
/// it works.
pub(super) fn send(
    setup: &Setup,
    work: &WorkArgs,
    store: &dyn Store,
    (id, owner): (&RunId, &str),
    run: &Run,
    message: Option<(&str, InboxMessage)>,
) -> Result<Exit, Failure> {
    // The model may be named by the environment.
    let reaches = |name: &str| name == "model" || FLAGS.contains(&name);
    let flags = setup.config.values.iter().filter(|(name, _)| !reaches(name));
    if let Some(flag) = flags.map(|(_, value)| &value.origin).find(|origin| matches!(origin, Origin::Flag(_))) {
        let advice = format!("leave it out, or stop the run first: {} cancel {id}", setup.command);
        return Err(Failure::usage(format!("run {id} is at work, and {flag} cannot change it now"), advice));
    }
    let limits = given(work);
    raise(store, id, run, &limits)?;
    message.iter().try_for_each(|(_, letter)| store.post(id, letter)).map_err(store_failure)?;
    let raised = limits.iter().map(|(name, max)| format!("{name} {}", limit_number(*max)));
    let what: Vec<String> = raised.chain(message.map(|(name, _)| name.to_owned())).collect();
    super::say(setup, &format!("sent {} to {id} ({owner})", what.join(", "))).map(|()| Exit::Complete)
}

/// Leaves higher limits for a run: all, or none if one is not higher.
pub(super) fn raise(store: &dyn Store, id: &RunId, run: &Run, limits: &[(&str, f64)]) -> Result<(), Failure> {
    let uses = run.limit_uses();
    for (name, max) in limits {
        let is_it = |one: &&LimitUse| one.limit.name() == *name;
        let Some(now) = uses.iter().find(is_it).map(|one| one.max) else {
            return Err(Failure::usage(format!("the limit was not raised: run {id} has no {name}"), ""));
        };
        if !max.is_finite() || *max <= now {
            let now = limit_number(now);
            return Err(Failure::usage(
                format!("the limit was not raised: {name} is {now} now"),
                format!("give a number above {now}"),
            ));
        }
    }
    let mut letters = limits.iter().map(|(limit, max)| InboxMessage::Raise { limit: (*limit).to_owned(), max: *max });
    letters.try_for_each(|letter| store.post(id, &letter)).map_err(store_failure)
}
