//! Results of random operator trees do not depend on order and crashes (spec "Templates" 8, 9, C48).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests say what they miss")]
#![allow(clippy::panic, clippy::expect_used)]

use callsheet_core::events::Event;
use callsheet_core::template::TaskResult;
use callsheet_sim::{Report, simulate_tree};
use serde_json::Value;

fn played(seed: u64, order: Option<u64>) -> Report {
    simulate_tree(seed, order).unwrap_or_else(|broken| {
        panic!("seed {seed}, order {order:?}, after {} facts: {}", broken.log.len(), broken.promise)
    })
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
            crashed += other.log.iter().filter(|fact| matches!(fact.event, Event::RunResumed(_))).count();
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
