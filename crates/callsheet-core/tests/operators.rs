//! Task trees run to their end on scripted replies (spec "Templates" 8): which calls are made in which order, and what
//! comes back. Every fixture is run again with other orders of completion, and killed and resumed after each fact.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod player;
mod sections;

use callsheet_core::run::Limit;
use player::{Player, Script};
use sections::{check_all, fixtures};

/// Sections: `template` (a library), `run NAME` with lines `k = json`, `reply SLUG` once for each call of that task,
/// `process SLUG` with a report as JSON, `answer` with the answers to gates in order, `say` of other things.
#[test]
fn trees_run_as_expected() {
    check_all("operators", |fixture| {
        let script = Script::read(fixture.inputs());
        Player::new(&script, 0).run_to_the_end()
    });
}

/// covers: C24, C30, C48
#[test]
fn neither_the_order_of_completion_nor_a_crash_changes_a_result() {
    for fixture in fixtures("operators") {
        let name = fixture.name();
        let script = Script::read(fixture.inputs());
        let mut first = Player::new(&script, 0);
        first.run_to_the_end();
        // Which of several tasks gets what a shared budget has left depends on the order.
        let orders = if name.ends_with("_shared") { 0 } else { 8 };
        for seed in 1..orders {
            let mut other = Player::new(&script, seed);
            other.run_to_the_end();
            assert_eq!(other.result(), first.result(), "{name}, order {seed}");
        }
        for crash in 1..first.facts() {
            let mut crashed = Player::new(&script, 0);
            crashed.crash_after = Some(crash);
            crashed.run_to_the_end();
            assert_eq!(crashed.result(), first.result(), "{name}, killed after fact {crash}");
            assert!(crashed.replies_twice().is_empty(), "{name}: {:?} were asked twice", crashed.replies_twice());
        }
    }
}

/// Limits that only trees have; the others are reached by the transcripts of sheets.
#[test]
fn limits_of_trees_are_reached() {
    let mut reached = Vec::new();
    for fixture in fixtures("operators") {
        let script = Script::read(fixture.inputs());
        let mut player = Player::new(&script, 0);
        player.run_to_the_end();
        reached.extend(player.run.limits_reached());
    }
    for limit in [Limit::NoProgress, Limit::MaxTurns, Limit::TaskCalls, Limit::TaskTokens] {
        assert!(reached.contains(&limit), "{limit:?}");
    }
}
