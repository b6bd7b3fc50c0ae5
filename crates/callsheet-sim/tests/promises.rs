//! Ten thousand seeds keep every promise, and between them they reach every mark: each event, outcome, limit and operator,
//! and all that the world does to a run.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]

use callsheet_sim::simulate_all;

#[test]
fn ten_thousand_seeds_keep_every_promise() {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let summary = simulate_all(0..10_000, workers);
    let broken = summary.broken.iter().map(|(seed, broken)| format!("seed {seed}: {}", broken.promise));
    let broken: Vec<String> = broken.collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let missing = summary.marks.missing();
    assert!(missing.is_empty(), "no seed reaches {missing:?}:\n{}", summary.marks);
}
