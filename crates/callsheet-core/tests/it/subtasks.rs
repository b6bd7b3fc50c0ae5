//! Subtasks, splits of tasks that were too large, and evaluations that a director asks for (spec "Templates" 8, 11, 12).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use crate::player::{Player, Script};
use crate::sections::fixtures;

/// Plays one fixture.
fn played(name: &str) -> (Player, String) {
    let fixture = fixtures("operators").into_iter().find(|fixture| fixture.name() == name).expect("a fixture");
    let mut player = Player::new(&Script::read(fixture.inputs()), 0);
    let told = player.run_to_the_end();
    (player, told)
}

/// Plays a script without a fixture.
fn play(inputs: &[(&str, &str)]) -> (Player, String) {
    let mut player = Player::new(&Script::read(inputs.iter().copied()), 0);
    let told = player.run_to_the_end();
    (player, told)
}

/// covers: C13
///
/// The twelve combinations as explicit settings of a request, and each setting alone against the defaults.
#[test]
fn c13_context_settings_of_a_subtask() {
    let mut cases: Vec<(serde_json::Value, &str)> = Vec::new();
    for inherit in ["full", "none", "subset"] {
        for fresh in ["enabled", "disabled"] {
            for accumulate in [true, false] {
                let refused = inherit == "full" && fresh == "enabled";
                let settings = serde_json::json!({ "inherit_context": inherit, "fresh_context": fresh, "accumulate_data": accumulate });
                cases.push((settings, if refused { "T040" } else { "legal" }));
            }
        }
    }
    cases.push((serde_json::json!({ "inherit_context": "full" }), "legal"));
    cases.push((serde_json::json!({ "inherit_context": "subset" }), "legal"));
    cases.push((serde_json::json!({ "inherit_context": "none" }), "legal"));
    cases.push((serde_json::json!({ "fresh_context": "enabled" }), "legal"));
    cases.push((serde_json::json!({ "fresh_context": "disabled" }), "legal"));
    for (settings, expected) in cases {
        let request = serde_json::json!({
            "type": "atomic", "description": "Part", "inputs": {}, "context_management": settings,
        });
        let (player, told) = play(&[
            ("template", "<task name=\"lead\"><description>Lead</description></task>"),
            ("run lead", ""),
            ("reply lead", &format!("call: spawn_subtask {request}")),
        ]);
        let found = if told.contains("T040") { "T040" } else { "legal" };
        assert_eq!(found, expected, "{settings}: {told}");
        let body = player.run.operators().iter().find(|op| op.depth == 1 && !op.place.is_subtask());
        assert_eq!(body.is_none(), expected == "T040", "{settings}");
        let Some(context) = body.and_then(|body| body.opened.as_ref()).map(|opened| opened.context) else { continue };
        let given = serde_json::to_value(context).unwrap();
        for (name, value) in settings.as_object().unwrap() {
            assert_eq!(given[name], *value, "{settings}: {given}");
        }
        if settings == serde_json::json!({ "inherit_context": "full" }) {
            assert!(!context.fresh_context, "{settings}");
        }
    }
}

/// covers: C41
#[test]
fn c41_nesting_cycles_and_max_depth() {
    let (player, told) = played("subtask_depth");
    let ran = player.run.operators().iter().filter(|op| op.is_leaf()).map(|op| op.depth).max();
    assert_eq!(ran, Some(5), "the fifth runs, the sixth does not");
    assert!(told.contains("Maximum nesting depth (5) exceeded") && told.contains("max_depth"), "{told}");
    for cycle in ["subtask_cycle", "subtask_cycle_of_template"] {
        let (_, told) = played(cycle);
        assert!(told.contains("\"halt\":\"cycle\""), "{told}");
    }
    let (_, told) = played("subtask_depth_lowered");
    assert!(told.contains("Maximum nesting depth (1) exceeded"), "{told}");
    let (player, told) = played("subtask_unknown");
    assert!(told.contains("`max_depth` is 9. It may only lower the limit, which is 5."), "{told}");
    assert_eq!(player.run.totals().calls, 2, "nothing was asked for a refused request");
}

/// covers: C42
#[test]
fn c42_continuations_come_back_into_the_same_session() {
    let (player, told) = played("subtask_continuations");
    let slug = callsheet_core::nouns::Slug::new("lead");
    let lead = player.run.task(&slug).unwrap();
    let turns = &lead.runs[0].turns;
    assert_eq!((lead.runs.len(), turns.len()), (1, 3), "one session, three turns before the result");
    for number in 1..=3 {
        assert!(told.contains(&format!("result of subtask_request-{number}: ")), "{told}");
    }
    assert!(told.contains("\"content\": \"all three\""), "{told}");
    let (player, told) = played("subtask_turns");
    assert!(told.contains("\"resource\": \"turns\""), "turns go on counting: {told}");
    assert_eq!(player.run.task(&slug).unwrap().runs[0].turns.len(), 2);
    // Whatever comes back first, answers stand in the order of the requests.
    let fixture = fixtures("operators").into_iter().find(|fixture| fixture.name() == "subtask_parallel").unwrap();
    let script = Script::read(fixture.inputs());
    for seed in 0..6 {
        let told = Player::new(&script, seed).run_to_the_end();
        let answers = told.lines().find(|line| line.contains("result of spawn_subtask-1")).expect("an answer");
        let at = |id: &str| answers.find(&format!("result of {id}:")).expect("an answer");
        assert!(at("spawn_subtask-1") < at("spawn_subtask-2") && at("spawn_subtask-2") < at("spawn_subtask-3"));
    }
    let (_, told) = played("subtask_cut");
    assert!(told.contains("\"truncated\":true") && told.contains("\"original_bytes\":"), "capped and flagged");
}

/// covers: C43
#[test]
fn c43_failing_and_refused_subtasks() {
    let (_, told) = played("subtask_fails");
    assert!(told.contains("\"reason\":\"subtask_failure\"") && told.contains("output_format_failure"), "{told}");
    assert!(told.contains("\"outcome\": \"Complete\"") && told.contains("without it"), "the parent decides: {told}");
    let (player, told) = played("subtask_three_faults");
    for field in ["type", "description", "inputs"] {
        assert!(told.contains(&format!("`{field}` is")), "{field}: {told}");
    }
    assert_eq!(player.run.totals().calls, 2, "both are the parent's");
    // What is wrong with its shape hides nothing else, and the model that asked is to blame.
    let request = r#"call: spawn_subtask {"type": "nope", "inputs": {}, "max_depth": 9, "template_hints": ["zzz"], "name": "nono"}"#;
    let lead = "<task name=\"lead\"><description>Lead</description></task>";
    let (_, told) = play(&[("template", lead), ("run lead", ""), ("reply lead", request), ("reply lead", "fin")]);
    for fault in ["`type` is", "`description` is", "`max_depth`", "`zzz`", "nono"] {
        assert!(told.contains(fault), "{fault}: {told}");
    }
    let (_, told) = played("subtask_isolated");
    assert!(told.contains("Missing required input: secret") && !told.contains("Tell hidden"), "{told}");
    assert!(told.contains("Tell mine"), "{told}");
}

/// covers: C40
#[test]
fn c40_reparse_and_what_is_never_run() {
    let (_, told) = played("manual_xml");
    assert!(told.contains("<result status=") && told.contains("<subtask_request/>"), "kept as it is: {told}");
    let (player, _) = played("task_in_a_reply");
    assert_eq!((player.run.totals().calls, player.run.operators().iter().count()), (1, 1), "a task in a reply is data");
    let (player, told) = played("reparse");
    assert!(told.contains("\"reparsed\": true") && told.contains("\"content\": \"both\""), "{told}");
    assert_eq!(player.run.totals().calls, 4);
    let (_, told) = played("reparse_of_nothing");
    assert!(told.contains("ask big-again-2") && told.contains("done big-regrown-part"), "attempts come first: {told}");
    let (player, told) = played("reparse_keeps_files_and_system");
    assert!(told.contains("<system>You count.</system>⏎<file>bees.md</file>"), "whoever splits is told: {told}");
    assert_eq!(told.matches("| files [\"bees.md\"]").count(), 3, "the task and both parts: {told}");
    let systems: Vec<bool> = player.told_texts().iter().map(|text| text.contains("You count.\",")).collect();
    assert_eq!(systems.iter().filter(|has| **has).count(), 2, "of the task and the part that names none: {told}");
    let (player, told) = played("reparse_refused");
    assert!(told.contains("A `script` may not stand in a split.") && told.contains("xml_validation_failure"), "{told}");
    assert!(told.contains("\"resource\": \"output\""), "the first error: {told}");
    assert_eq!(player.run.totals().calls, 2, "nothing of a refused split runs");
    for switch in ["manual", "disabled", "recovery", "budget"] {
        let (player, told) = played(&format!("reparse_off_by_{switch}"));
        assert_eq!(player.run.totals().calls, 1, "{switch}: {told}");
    }
    let (player, told) = played("reparse_twice_deep");
    let splits = player.run.operators().iter().filter(|op| op.place == callsheet_core::run::ChildSlot::Split).count();
    assert_eq!(splits, 2, "{told}");
}

/// covers: C29
#[test]
fn c29_an_evaluation_that_a_director_asks_for_comes_back_to_it() {
    let (_, told) = played("evaluation_request");
    let answer = told.lines().find(|line| line.contains("result of subtask_request-1")).expect("an answer");
    assert!(answer.starts_with("→ ask loop-make-1") && answer.contains("\"success\":false"), "{answer}");
    assert!(answer.contains("\"feedback\":\"too long\""), "{answer}");
    let (_, told) = played("evaluation_request_matched");
    assert!(told.contains("loop-make-1-sub-1-judge-style: "), "chosen by its criteria: {told}");
    assert!(told.contains("Only the director of a loop may ask for an evaluation."), "{told}");
}
