//! Every planted fault is caught, and by the promise that it breaks.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests say what they miss")]

use callsheet_sim::{Fault, simulate_faulty};

/// Seeds in which a fault must be caught.
const SEEDS: u64 = 400;

/// How the promises begin that catch a fault.
fn promises(fault: Fault) -> Vec<&'static str> {
    match fault {
        // What a process without a lock wrote can be seen by it, or by the next one.
        Fault::HeedsNoLock => vec!["one driver a run", "a run is taken up"],
        // The limit of the run, or that of a task of a tree, whichever is passed first.
        Fault::ForgetsUsage => vec!["no limit is passed", "no token is overspent"],
        // The no that becomes a yes may be about a command that nothing confines.
        Fault::TakesNoForYes => vec![promise(fault), promise(Fault::CoversUnheld)],
        _ => vec![promise(fault)],
    }
}

fn promise(fault: Fault) -> &'static str {
    match fault {
        Fault::LocksTwice | Fault::HeedsNoLock => "one driver a run",
        Fault::WritesHalf => "the log is what was recorded",
        Fault::WritesNothing => "the store takes what a driver records",
        Fault::ReadsOldCopy => "replay equals live",
        Fault::ReadsTwice | Fault::ReadsOutOfOrder => "a run is taken up",
        Fault::ActsFirst => "nothing happens before it is written",
        Fault::LosesResult | Fault::StartsTwice => "a start of something outstanding is refused",
        Fault::AnswersUnasked => "nobody answers what was not asked",
        Fault::TrustsClock => "time never runs backwards",
        Fault::ForgetsCalls | Fault::ForgetsUsage => "no limit is passed",
        Fault::ForgetsSlots => "jobs are never exceeded",
        Fault::ForgetsApproval | Fault::TakesNoForYes | Fault::KeepsApproval => "no change before approval",
        Fault::CoversUnheld => "nothing said before covers an unheld command",
        Fault::LosesEdit | Fault::LosesDrop | Fault::LosesHold | Fault::LosesCancel => "what a person said stands",
        Fault::RepeatsOnce => "nothing finished is performed again",
        Fault::ForgetsOrder => "steps go in order",
        Fault::RemovesMore => "a task left the plan",
    }
}

/// What is wrong with how a fault is caught; `None`: nothing.
fn missed(fault: Fault) -> Option<String> {
    let mut found = (0..SEEDS).filter_map(|seed| Some((seed, simulate_faulty(seed, Some(fault)).err()?.promise)));
    match found.next() {
        Some((_, said)) if promises(fault).iter().any(|promise| said.starts_with(promise)) => None,
        Some((seed, said)) => Some(format!("{fault:?}: seed {seed} says {said}")),
        None => Some(format!("{fault:?}: no seed notices it")),
    }
}

#[test]
fn every_planted_fault_is_caught() {
    let missed: Vec<String> = std::thread::scope(|scope| {
        let searches: Vec<_> = Fault::ALL.iter().map(|fault| scope.spawn(|| missed(*fault))).collect();
        searches.into_iter().filter_map(|search| search.join().unwrap_or(Some("it panicked".to_owned()))).collect()
    });
    assert!(missed.is_empty(), "{missed:#?}");
}
