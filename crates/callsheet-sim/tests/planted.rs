//! Planted faults: a machine that applies what nobody saw is noticed by the checker.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests say what they miss")]
#![allow(clippy::panic, clippy::expect_used)]

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::BlobId;
use callsheet_core::record::GateKind;
use callsheet_core::run::Run;
use callsheet_sim::checkers::Witness;
use callsheet_sim::simulate;

/// What the checker sees of a log. The run folds the true facts; the witness is shown `seen` in place of each.
fn witnessed(log: &[LogEntry], mut seen: impl FnMut(&LogEntry) -> Option<LogEntry>) -> Result<(), String> {
    let (mut run, mut witness) = (Run::new(), Witness::default());
    for fact in log {
        let shown = seen(fact);
        if let Some(shown) = &shown {
            witness.before(&run, shown)?;
        }
        run.apply(fact).expect("the log folds");
        witness.after(&run, shown.as_ref())?;
    }
    Ok(())
}

/// The log of the first seed that has such a fact.
fn log_with(wanted: impl Fn(&[LogEntry]) -> bool) -> Vec<LogEntry> {
    let logs = (0..2_000).filter_map(|seed| simulate(seed).ok()).map(|report| report.log);
    logs.into_iter().find(|log| wanted(log)).expect("a seed reaches it")
}

fn is_approval(fact: &LogEntry) -> bool {
    matches!(&fact.event, Event::GateAnswered(events::GateAnswered { gate, .. }) if matches!(gate.kind, GateKind::BeforeApply { .. }))
}

#[test]
fn another_set_than_the_approved_one_is_noticed() {
    let applied = |fact: &LogEntry| matches!(fact.event, Event::ChangesApplied(_));
    let log = log_with(|log| {
        let approved = log.iter().position(is_approval);
        approved.is_some_and(|at| log.iter().skip(at).any(applied))
    });
    assert_eq!(witnessed(&log, |fact| Some(fact.clone())), Ok(()));
    let planted = witnessed(&log, |fact| {
        let mut fact = fact.clone();
        if let Event::ChangesApplied(events::ChangesApplied { changes, .. }) = &mut fact.event {
            changes.files.iter_mut().for_each(|file| file.after = Some(BlobId::of(b"what nobody saw")));
        }
        Some(fact)
    });
    assert!(planted.is_err_and(|promise| promise.starts_with("what is applied was approved")));
}

#[test]
fn a_rebased_set_that_is_not_asked_about_again_is_noticed() {
    let moved =
        |fact: &LogEntry| matches!(fact.event, Event::ChangesRebased(events::ChangesRebased { as_shown: false, .. }));
    let applies = |fact: &LogEntry| matches!(fact.event, Event::ChangesApplied(_));
    let log = log_with(|log| {
        let Some(at) = log.iter().position(moved) else { return false };
        let mut rest = log.iter().skip(at);
        rest.by_ref().any(is_approval) && rest.any(applies)
    });
    let mut after = false;
    let planted = witnessed(&log, |fact| {
        after |= moved(fact);
        (!(after && is_approval(fact))).then(|| fact.clone())
    });
    assert!(planted.is_err_and(|promise| promise.starts_with("no change before approval")));
}
