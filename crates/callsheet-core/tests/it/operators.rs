//! Task trees run to their end on scripted replies (spec "Templates" 8): which calls are made in which order, and what
//! comes back. Every fixture is run again with other orders of completion, and killed and resumed after each fact.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use crate::player::{Player, Script};
use crate::sections::{check_all, fixtures};
use callsheet_core::nouns::Slug;
use callsheet_core::run::{Limit, Why};

/// Sections: `template` (a library), `run NAME` with lines `k = json`, `reply SLUG` once for each call of that task,
/// `process SLUG` with a report as JSON, `answer` with the answers to gates in order, `index PATH` with metadata,
/// `lookup SLUG` with what a command prints or `fault: WHY`, `resume`, `retry SLUG` or `edit` (a library) each time that
/// the run has ended, `say` of other things.
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

fn played(name: &str) -> (String, serde_json::Value) {
    let fixture = fixtures("operators").into_iter().find(|fixture| fixture.name() == name).expect("a fixture");
    let mut player = Player::new(&Script::read(fixture.inputs()), 0);
    (player.run_to_the_end(), player.result())
}

/// covers: C17
#[test]
fn c17_a_failed_lookup_is_tried_once_more_and_matching_looks_nothing_up() {
    let (log, result) = played("lookup_is_repeated");
    assert_eq!(log.matches("→ look up").count(), 2, "{log}");
    assert_eq!(result["result"]["status"], "COMPLETE");
    assert!(log.contains("fresh [[\"/p/honey.md\""), "what the second one found is there: {log}");

    let (log, result) = played("lookup_fails_twice");
    assert_eq!(log.matches("→ look up").count(), 2, "{log}");
    let error = &result["result"]["error"];
    assert_eq!(error["reason"], "context_retrieval_failure");
    assert_eq!(error["message"], "the index is locked");
    assert_eq!(error["details"]["partial_context"]["previous_outputs"], serde_json::json!(["a"]));
    assert!(!log.contains("→ ask top-find") && !log.contains("→ ask top-z"), "{log}");

    let (log, result) = played("matching_looks_nothing_up");
    assert!(!log.contains("→ look up"), "{log}");
    assert_eq!(result["result"]["status"], "COMPLETE");
}

/// What an operator with children declares holds for all that it runs.
/// covers: C45, C51
#[test]
fn switches_of_an_operator_hold_below_it() {
    let fixture = fixtures("operators").into_iter().find(|fixture| fixture.name() == "switches_of_an_operator");
    let mut player = Player::new(&Script::read(fixture.expect("a fixture").inputs()), 0);
    let log = player.run_to_the_end();
    assert!(!log.contains("gate") && !log.contains("split"), "nothing of it writes or is split: {log}");
    assert!(log.contains("→ script_read of top-s"), "{log}");
    let policy = |name: &str| {
        let op = player.run.operators().iter().find(|op| op.id.as_str() == name).expect("a task");
        player.run.leaf(op).and_then(|task| task.skill.clone()).expect("a policy")
    };
    for name in ["top-a", "top-b"] {
        assert_eq!(policy(name).tools, ["read_file"], "{name}");
        assert_eq!(policy(name).model.as_deref(), Some("p/big"), "{name}");
        assert_eq!(policy(name).writer, None, "{name}");
    }
}

/// What an operator bound is read once, however many parts it has: work for one of them does not grow with their number.
#[test]
fn names_of_an_operator_are_read_once() {
    let template = "<task type=\"map\" name=\"top\" items=\"list\"><description>Top</description>\
                    <inputs><input name=\"list\"/></inputs><body><task><description>{{item}}</description></task></body></task>";
    let list = format!("list = {:?}", (0..40).collect::<Vec<u32>>());
    let mut player = Player::new(&Script::read([("template", template), ("run top", list.as_str())]), 0);
    player.run_to_the_end();
    assert_eq!(player.result()["result"]["status"], "COMPLETE");
    assert_eq!(player.reads_of_the_names_on_top(), 1);
}

/// With one slot, and a lookup that ends last: everything that does not wait for it is done before.
/// covers: C44
#[test]
fn c44_a_slow_lookup_delays_no_other_task() {
    let template = r#"<parallel name="all" max_parallel="4"><task id="slow"><description>Read about honey</description>
<context_management fresh_context="enabled"/></task><task id="one"><description>One</description></task>
<task id="two"><description>Two</description></task></parallel>"#;
    let template = format!(
        "<task type=\"sequential\" name=\"top\"><description>Top</description><steps>{}</steps></task>",
        template.replace(" name=\"all\"", " id=\"all\"")
    );
    let script = Script::read([("template", template.as_str()), ("run top", "jobs = 1")]);
    let mut player = Player::new(&script, 0);
    player.slow_lookups = true;
    let log = player.run_to_the_end();
    let at = |words: &str| log.find(words).unwrap_or_else(|| panic!("{words}: {log}"));
    assert!(at("→ ask top-all-one") < at("→ look up") && at("→ ask top-all-two") < at("→ look up"), "{log}");
    assert!(at("→ look up") < at("→ ask top-all-slow"), "{log}");
    assert_eq!(player.result()["result"]["status"], "COMPLETE");
}

/// Counters belong to one handler, what it was opened with stays, and nothing it is told holds an open placeholder.
/// covers: C50
#[test]
fn c50_handlers_share_nothing_and_never_change() {
    let two = r#"<task type="sequential" name="top"><description>Top</description><steps><parallel id="both">
<task id="a"><description>A</description><limits max_turns="2"/><allowed_tools><tool>read_file</tool></allowed_tools></task>
<task id="b"><description>B</description><limits max_turns="2"/><allowed_tools><tool>read_file</tool></allowed_tools></task>
</parallel></steps></task>"#;
    let call = r#"call: read_file {"path": "a.md"}"#;
    let script = Script::read([
        ("template", two),
        ("reply top-both-a", call),
        ("reply top-both-a", "done"),
        ("reply top-both-b", call),
        ("reply top-both-b", "done"),
        ("run top", ""),
    ]);
    let mut player = Player::new(&script, 0);
    let log = player.run_to_the_end();
    assert_eq!(player.result()["result"]["status"], "COMPLETE", "two turns each are not four of one: {log}");
    for op in player.run.operators().iter().filter(|op| op.is_leaf()) {
        let task = player.run.leaf(op).unwrap();
        let turns = player.run.calls().iter().filter(|call| call.key.task.as_ref() == Some(&task.task.slug)).count();
        assert_eq!(turns, 2, "{}", op.id);
    }
    assert!(player.refuses_to_open_again(), "an opened handler is not opened anew");

    for fixture in fixtures("operators") {
        let script = Script::read(fixture.inputs());
        let mut player = Player::new(&script, 0);
        player.run_to_the_end();
        // What a caller or a model wrote passes through, and `{{{{` is a literal.
        let of_data = fixture.inputs().any(|(title, body)| match title.starts_with("template") {
            true => body.contains("{{{{"),
            false => body.contains("{{"),
        });
        for told in player.told_texts() {
            // Whoever splits a task is told how names are written.
            let splits = told.starts_with("{\"description\":\"Split a task");
            assert!(of_data || splits || !told.contains("{{"), "{}: {told}", fixture.name());
        }
    }
}

/// An operator waits for its parts, and a handler for a slot.
#[test]
fn tasks_of_a_tree_say_why_they_are_not_done() {
    let two = r#"<task type="sequential" name="top"><description>Top</description><steps><parallel id="both">
<task id="a"><description>A</description><allowed_tools><tool>read_file</tool></allowed_tools></task>
<task id="b"><description>B</description></task>
</parallel></steps></task>"#;
    let call = r#"call: read_file {"path": "a.md"}"#;
    let script = Script::read([("template", two), ("reply top-both-a", call), ("run top", "jobs = 1")]);
    let mut player = Player::new(&script, 0);
    player.run_to_the_turn("top-both-a", 1);
    let why = |task: &str| player.run.explain(&Slug::new(task));
    let waits = |tasks: &[&str]| Why::WaitsForTask { tasks: tasks.iter().map(|task| Slug::new(*task)).collect() };
    assert_eq!(why("top"), waits(&["top-both"]));
    assert_eq!(why("top-both"), waits(&["top-both-a", "top-both-b"]));
    assert!(matches!(why("top-both-a"), Why::Owed { .. }), "{:?}", why("top-both-a"));
    assert!(matches!(why("top-both-b"), Why::Slot { jobs: 1, .. }), "{:?}", why("top-both-b"));
    assert_eq!(why("nobody"), Why::Unknown);
}
