//! Ten thousand seeds keep every promise, and between them they reach every outcome and every limit.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::panic, clippy::expect_used)]

use std::collections::BTreeSet;

use callsheet_core::record::{Event, ListOrigin, Outcome};
use callsheet_core::run::Limit;
use callsheet_sim::simulate;

#[test]
fn ten_thousand_seeds_keep_every_promise() {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads: Vec<_> = (0..workers).map(|worker| std::thread::spawn(move || seeds(worker, workers))).collect();
    let (mut outcomes, mut limits, mut kinds) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for thread in threads {
        let (ended, reached, seen) = thread.join().expect("a worker keeps every promise");
        outcomes.extend(ended);
        limits.extend(reached);
        kinds.extend(seen);
    }
    let all = [
        Outcome::Complete,
        Outcome::Incomplete,
        Outcome::MaxRounds,
        Outcome::PlanFailed,
        Outcome::IterationFailed,
        Outcome::ApprovalRequired,
        Outcome::InputRequired,
        Outcome::Unreachable,
        Outcome::Misconfigured,
        Outcome::LimitReached,
        Outcome::Cancelled,
    ];
    let missing: Vec<&Outcome> = all.iter().filter(|outcome| !outcomes.contains(outcome)).collect();
    assert!(missing.is_empty(), "no seed ends or waits with {missing:?}");
    // Trees have a limit of their own; runs of seeds are runs of sheets.
    let of_sheets = Limit::ALL.iter().filter(|limit| **limit != Limit::NoProgress);
    let missing: Vec<&Limit> = of_sheets.filter(|limit| !limits.contains(limit)).collect();
    assert!(missing.is_empty(), "no seed reaches {missing:?}");
    for kind in ["follow-up", "edit", "retry", "drop", "template"] {
        assert!(kinds.contains(kind), "no seed has a {kind}");
    }
    assert!(kinds.contains("rolled back") && kinds.contains("interrupted"), "no seed crashes at the worst moments");
}

type Seen = (BTreeSet<Outcome>, BTreeSet<Limit>, BTreeSet<&'static str>);

fn seeds(worker: usize, workers: usize) -> Seen {
    let mut seen: Seen = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for seed in (worker..10_000).step_by(workers) {
        let report = simulate(u64::try_from(seed).expect("seeds are small"))
            .unwrap_or_else(|broken| panic!("seed {seed} after {} facts: {}", broken.log.len(), broken.promise));
        for fact in &report.log {
            match &fact.event {
                Event::RunConcluded { outcome, .. } | Event::RunWaiting { outcome } => {
                    seen.0.insert(*outcome);
                }
                Event::ChangesRolledBack { .. } => {
                    seen.2.insert("rolled back");
                }
                Event::RunContinued { .. } => {
                    seen.2.insert("follow-up");
                }
                Event::CallMounted { .. } => {
                    seen.2.insert("template");
                }
                Event::TaskRetried { .. } => {
                    seen.2.insert("retry");
                }
                Event::TaskDropped { .. } => {
                    seen.2.insert("drop");
                }
                Event::ListAdopted { origin: ListOrigin::Edit(_), .. } => {
                    seen.2.insert("edit");
                }
                _ => {}
            }
        }
        seen.1.extend(report.run.limits_reached());
        let mut calls = report.run.all_tasks().flat_map(|task| task.runs.iter().flat_map(|run| &run.calls));
        if calls.any(|call| call.output() == Some(&callsheet_core::run::ToolOutput::Interrupted)) {
            seen.2.insert("interrupted");
        }
    }
    seen
}
