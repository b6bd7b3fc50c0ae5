//! Random operator trees under random events keep every promise (spec "Templates" 8, 9, C48).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests say what they miss")]
#![allow(clippy::panic, clippy::expect_used)]

use std::collections::BTreeSet;

use callsheet_core::record::{Event, Outcome, Plan};
use callsheet_core::run::{ChildSlot, Limit};
use callsheet_core::template::{Kind, TaskResult};
use callsheet_sim::{Report, simulate_tree};
use serde_json::Value;

fn played(seed: u64, order: Option<u64>) -> Report {
    simulate_tree(seed, order).unwrap_or_else(|broken| {
        panic!("seed {seed}, order {order:?}, after {} facts: {}", broken.log.len(), broken.promise)
    })
}

fn kind(plan: &Plan, place: &ChildSlot) -> &'static str {
    match plan {
        Plan::Handler(_) if *place == ChildSlot::Match => "matching",
        Plan::Handler(_) => "handler",
        Plan::Process { .. } => "process",
        Plan::Items { .. } => "items",
        Plan::Branch { .. } => "branch",
        Plan::Children if place.is_subtask() => "subtask",
        Plan::Children if *place == ChildSlot::Body => "body",
        Plan::Children => "children",
    }
}

#[test]
fn random_trees_keep_every_promise() {
    let (mut outcomes, mut limits, mut kinds) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut words = BTreeSet::new();
    for seed in 0..1_500 {
        let report = played(seed, None);
        outcomes.extend(report.log.iter().filter_map(|fact| match &fact.event {
            Event::RunConcluded { outcome, .. } | Event::RunWaiting { outcome } => Some(*outcome),
            _ => None,
        }));
        limits.extend(report.run.limits_reached());
        let nodes = report.run.operators().iter().filter_map(|op| report.run.operators().node(op));
        words.extend(nodes.map(|node| node.kind.word()));
        kinds.extend(report.run.operators().iter().filter_map(|op| Some(kind(&op.opened.as_ref()?.plan, &op.place))));
    }
    let all = [
        Outcome::Complete,
        Outcome::TaskFailed,
        Outcome::ApprovalRequired,
        Outcome::InputRequired,
        Outcome::Unreachable,
        Outcome::Misconfigured,
        Outcome::LimitReached,
        Outcome::Cancelled,
    ];
    let missing: Vec<&Outcome> = all.iter().filter(|outcome| !outcomes.contains(outcome)).collect();
    assert!(missing.is_empty(), "no seed ends or waits with {missing:?}");
    for limit in
        [Limit::MaxTurns, Limit::TaskCalls, Limit::TaskTokens, Limit::MaxCost, Limit::TaskTimeout, Limit::NoProgress]
    {
        assert!(limits.contains(&limit), "no seed reaches {limit:?}: {limits:?}");
    }
    for facts in Kind::ALL {
        assert!(words.contains(facts.word), "no seed runs {}: the library makes none up", facts.word);
    }
    for wanted in ["handler", "matching", "process", "items", "branch", "body", "subtask", "children"] {
        assert!(kinds.contains(wanted), "no seed has {wanted}");
    }
}

/// Without limits that depend on the order, nothing but the questions decides: every order of completion, with crashes
/// anywhere, gives the same result.
#[test]
fn c48_neither_order_nor_crashes_change_a_result() {
    let mut crashed = 0_usize;
    for seed in 0..120 {
        let first = played(seed, Some(0));
        for order in 1..4 {
            let other = played(seed, Some(order));
            crashed += other.log.iter().filter(|fact| matches!(fact.event, Event::RunResumed { .. })).count();
            assert_eq!(plain(other.result), plain(first.result.clone()), "seed {seed}, order {order}");
        }
    }
    assert!(crashed > 120, "only {crashed} crashes");
}

/// Without what depends on time.
fn plain(result: Option<TaskResult>) -> Value {
    let mut value = serde_json::to_value(result).unwrap_or_default();
    without_metrics(&mut value);
    value
}

fn without_metrics(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("metrics");
            map.values_mut().for_each(without_metrics);
        }
        Value::Array(list) => list.iter_mut().for_each(without_metrics),
        _ => {}
    }
}
