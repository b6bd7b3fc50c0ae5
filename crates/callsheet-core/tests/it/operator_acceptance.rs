//! Acceptance checks of operators, limits and processes (spec "Templates" 17), on scripted replies.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use crate::player::{Player, Script};
use callsheet_core::events;
use serde_json::{Value, json};

/// Plays a script: what was asked, and how it came back.
fn play(inputs: &[(&str, &str)]) -> (String, Value) {
    play_as(inputs, 0)
}

fn play_as(inputs: &[(&str, &str)], order: u64) -> (String, Value) {
    let mut player = Player::new(&Script::read(inputs.iter().copied()), order);
    let told = player.run_to_the_end();
    (told, player.result())
}

fn asked(told: &str, task: &str) -> bool {
    told.contains(&format!("→ ask {task}:"))
}

fn sequential(attributes: &str, settings: &str, steps: &str) -> String {
    format!(
        "<task type=\"sequential\" name=\"top\"{attributes}><description>Top</description>{settings}<steps>{steps}</steps></task>"
    )
}

fn atomics(ids: &str) -> String {
    ids.split(' ').map(|id| format!("<task id=\"{id}\"><description>Do {id}</description></task>")).collect()
}

const FAULT: &str = "<result status=\"FAILED\"><content>It cannot be done</content></result>";

/// covers: C15
#[test]
fn c15_accumulated_entries_are_metadata_or_capped_content() {
    let long = "é".repeat(20_000);
    let notes = sequential("", "", &atomics("a b"));
    let (told, _) = play(&[("template", &notes), ("run top", ""), ("reply top-a", &long)]);
    assert!(asked(&told, "top-b") && !told.contains("earlier a"), "notes without a word are not sent");

    let full = "<context_management><accumulation_format>full_output</accumulation_format></context_management>";
    let whole = sequential("", full, &atomics("a b"));
    let (told, result) = play(&[("template", &whole), ("run top", ""), ("reply top-a", &long)]);
    let entry = told.lines().find(|line| line.starts_with("→ ask top-b:")).expect("the second step");
    assert_eq!(entry.matches('é').count() * 2, 32_768, "cut at a character");
    let step = &result["result"]["notes"]["step_results"][0];
    assert_eq!((&step["truncated"], &step["original_bytes"]), (&json!(true), &json!(40_000)));

    // Nine entries of 32,768 bytes are more than 262,144: the oldest has lost its content.
    let ids: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
    let many = sequential("", full, &atomics(&ids.join(" ")));
    let names: Vec<String> = (0..9).map(|n| format!("reply top-s{n}")).collect();
    let mut inputs: Vec<(&str, &str)> = vec![("template", &many), ("run top", "")];
    inputs.extend(names.iter().map(|name| (name.as_str(), long.as_str())));
    let (told, _) = play(&inputs);
    let last = told.lines().find(|line| line.starts_with("→ ask top-s9:")).expect("the last step");
    assert!(last.contains("earlier s0 COMPLETE: -"), "the oldest goes first");
    assert!(last.contains("earlier s8 COMPLETE: é"), "the newest stays");
    assert!(last.matches('é').count() * 2 <= 262_144);
}

/// covers: C23
#[test]
fn c23_a_sequence_stops_at_the_step_that_fails() {
    let five = sequential("", "", &atomics("a b c d e"));
    let (told, result) = play(&[("template", &five), ("run top", ""), ("reply top-c", FAULT)]);
    let details = &result["result"]["error"]["details"];
    assert_eq!((&details["failed_step"], &details["total_steps"]), (&json!(2), &json!(5)));
    let partial = details["partial_results"].as_array().expect("what was finished");
    let contents: Vec<&Value> = partial.iter().map(|one| &one["content"]).collect();
    assert_eq!(contents, [&json!("done top-a"), &json!("done top-b")]);
    assert!(!asked(&told, "top-d") && !asked(&told, "top-e"), "{told}");
}

const REDUCE: &str = r#"<task type="reduce" name="top" items="list"><description>Fold</description>
<inputs><input name="list"/></inputs><initial_value>nothing</initial_value>
<inner_task><description>Look at {{current_data}}</description></inner_task>
<reduction_task><description>Add to {{accumulator}}</description></reduction_task></task>"#;

/// covers: C24
#[test]
fn c24_a_reduction_goes_in_order_and_keeps_what_it_has() {
    let failing = [("template", REDUCE), ("run top", "list = [\"x\", \"y\", \"z\"]"), ("reply top-do-3", FAULT)];
    let (told, result) = play(&failing);
    let details = &result["result"]["error"]["details"];
    assert_eq!((&details["failed_input_index"], &details["total_inputs"]), (&json!(2), &json!(3)), "{told}");
    assert_eq!(details["processed_inputs"].as_array().map(Vec::len), Some(2));
    assert_eq!(details["current_accumulator"], "done top-join-2");
    for order in 1..6 {
        assert_eq!(play_as(&failing, order).1, result, "order {order}");
        let lines = play_as(&failing, order).0;
        let at = |task: &str| lines.find(&format!("→ ask {task}:")).unwrap_or_else(|| panic!("{task}: {lines}"));
        assert!(at("top-do-1") < at("top-join-1") && at("top-join-1") < at("top-do-2"), "{lines}");
    }
    let (told, result) = play(&[("template", REDUCE), ("run top", "list = []")]);
    assert!(!told.contains("→ ask"), "{told}");
    assert_eq!(result["result"]["content"], "nothing");
}

fn script(attributes: &str, command: &str) -> String {
    format!("<task type=\"script\" name=\"top\"{attributes}><description>Run</description>{command}</task>")
}

/// covers: C25
#[test]
fn c25_an_exit_code_fails_or_goes_on_and_words_of_models_stay_out_of_commands() {
    let bad = r#"{"stdout": "out", "stderr": "err", "exit_code": 1}"#;
    let fails = script("", "<command>make all</command>");
    let (_, result) = play(&[("template", &fails), ("run top", ""), ("process top", bad)]);
    let error = &result["result"]["error"];
    assert_eq!((&error["reason"], &error["details"]["script_exit_code"]), (&json!("tool_execution_error"), &json!(1)));
    let on = script(" on_nonzero=\"continue\"", "<command>make all</command>");
    let (_, result) = play(&[("template", &on), ("run top", ""), ("process top", bad)]);
    assert_eq!((&result["result"]["status"], &result["result"]["exit_code"]), (&json!("COMPLETE"), &json!(1)));

    let piped = callsheet_format::template::read_text("t.xml", &script("", "<command>make | tee log</command>"));
    assert!(piped.issues.iter().any(|(_, issue)| issue.code.as_str() == "T055"), "a pipe needs a shell");

    let say = "<task id=\"say\"><description>Say</description></task>";
    let run = |command: &str| {
        sequential("", "", &format!("{say}<task type=\"script\"><description>Run</description>{command}</task>"))
    };
    let reply = ("reply top-say", "rm -rf /");
    let (told, result) = play(&[
        (
            "template",
            &run("<command>echo {{w.content}}</command>")
                .replace("id=\"say\"", "id=\"w\"")
                .replace("{{w.content}}", "{{steps.w.content}}"),
        ),
        ("run top", ""),
        ("reply top-w", "rm -rf /"),
    ]);
    assert!(!told.contains("→ script"), "{told}");
    assert_eq!(result["result"]["error"]["reason"], "input_validation_failure");
    let given = run(
        "<command>wc {{files.said}}</command><stdin from=\"steps.say.content\"/><input_file name=\"said\" from=\"steps.say\"/>",
    );
    let (told, result) =
        play(&[("template", &given), ("run top", ""), reply, ("process top-s1", r#"{"stdout": "1", "exit_code": 0}"#)]);
    assert!(told.contains("→ script of top-s1"), "{told}");
    assert_eq!(result["result"]["status"], "COMPLETE");
}

fn until(settings: &str) -> String {
    format!(
        "<task type=\"director_evaluator_loop\" name=\"top\"{settings}<director><description>Write. {{{{evaluation_feedback}}}}</description></director>\
         <script_execution><command>check {{{{files.made}}}}</command><input_file name=\"made\" from=\"director_result\"/></script_execution>\
         <evaluator><description>Judge {{{{script_exit_code}}}} and {{{{script_errors}}}}</description></evaluator></task>"
    )
}

/// covers: C27
#[test]
fn c27_an_evaluator_sees_the_failed_script_and_the_next_director_the_feedback() {
    let template = until("><description>Until good</description><max_iterations>2</max_iterations>");
    let (told, result) = play(&[
        ("template", &template),
        ("run top", ""),
        ("process top-test-1", r#"{"stdout": "", "stderr": "no such name", "exit_code": 1}"#),
        ("process top-test-2", r#"{"stdout": "ok", "exit_code": 0}"#),
        ("reply top-judge-1", r#"{"success": false, "feedback": "name it"}"#),
        ("reply top-judge-2", r#"{"success": true}"#),
    ]);
    assert!(told.contains("→ ask top-make-1: Write. "), "nothing is missing in the first iteration: {told}");
    assert!(told.contains("→ ask top-judge-1: Judge 1 and no such name"), "{told}");
    assert!(told.contains("→ ask top-make-2: Write. name it"), "{told}");
    assert_eq!(result["result"]["notes"]["termination_reason"], "success");
}

/// covers: C28
#[test]
fn c28_a_loop_ends_in_each_of_its_ways() {
    let plain = |settings: &str, condition: &str| {
        format!(
            "<task type=\"director_evaluator_loop\" name=\"top\"{settings}><description>Until good</description><max_iterations>3</max_iterations>\
             <director><description>Write</description></director><evaluator><description>Judge</description></evaluator>{condition}</task>"
        )
    };
    let no = |n: u32| format!("{{\"success\": false, \"feedback\": \"try {n}\"}}");
    let (no_1, no_2, no_3) = (no(1), no(2), no(3));
    let refusals = [
        ("reply top-judge-1", no_1.as_str()),
        ("reply top-judge-2", no_2.as_str()),
        ("reply top-judge-3", no_3.as_str()),
    ];
    let ends = |template: &str, replies: &[(&str, &str)]| {
        let mut inputs = vec![("template", template), ("run top", "")];
        inputs.extend_from_slice(replies);
        let result = play(&inputs).1["result"].clone();
        let history = result["notes"]["iteration_history"].as_array().map_or(0, Vec::len);
        let reason = result["notes"]["termination_reason"]
            .as_str()
            .or(result["error"]["details"]["termination_reason"].as_str());
        (result["status"].as_str().unwrap().to_owned(), reason.unwrap_or("none").to_owned(), history, result)
    };
    let of = |found: &(String, String, usize, Value)| (found.0.clone(), found.1.clone());
    let words = |status: &str, reason: &str| (status.to_owned(), reason.to_owned());

    let success = ends(&plain("", ""), &[("reply top-judge-1", "{\"success\": true}")]);
    assert_eq!(of(&success), words("COMPLETE", "success"));
    let condition = "<termination_condition><condition>iteration == 2</condition></termination_condition>";
    assert_eq!(of(&ends(&plain("", condition), &refusals)), words("COMPLETE", "condition"));
    let last = ends(&plain("", ""), &refusals);
    assert_eq!(of(&last), words("FAILED", "max_iterations"));
    assert_eq!(last.3["content"], "done top-make-3", "the last output is kept");
    assert_eq!(last.3["error"]["details"]["halt"], "iterations_exhausted");
    assert_eq!(of(&ends(&plain(" on_exhausted=\"accept\"", ""), &refusals)).0, "COMPLETE");
    let abort = ends(&plain("", ""), &[("reply top-judge-1", "{\"verdict\": \"abort\", \"reason\": \"enough\"}")]);
    assert_eq!(of(&abort), words("FAILED", "aborted"));
    let error = ends(&plain("", ""), &[refusals[0], ("reply top-make-2", FAULT)]);
    assert_eq!(of(&error), words("FAILED", "error"));
    assert_eq!(
        error.3["error"]["details"]["iteration_history"].as_array().map(Vec::len),
        Some(2),
        "with the failed one"
    );
    let same = [("reply top-make-1", "x"), ("reply top-make-2", "x"), ("reply top-make-3", "x")];
    let verdicts = [1, 2, 3].map(|n| (format!("reply top-judge-{n}"), "{\"success\": false, \"feedback\": \"no\"}"));
    let five = plain("", "").replace("<max_iterations>3", "<max_iterations>5");
    let replies: Vec<(&str, &str)> =
        same.into_iter().chain(verdicts.iter().map(|(name, text)| (name.as_str(), *text))).collect();
    assert_eq!(of(&ends(&five, &replies)), words("FAILED", "no_progress"));
    let both = "{\"success\": true, \"verdict\": \"revise\", \"feedback\": \"no\"}";
    let doubt = ends(&plain(" on_exhausted=\"accept\"", ""), &[("reply top-judge-1", both), refusals[1], refusals[2]]);
    assert_ne!(doubt.1, "success", "a contradiction is no success");
}

/// covers: C30
#[test]
fn c30_branches_and_pools() {
    let cond = |first: &str, second: &str| {
        format!(
            "<template name=\"top\"><cond><case test=\"{first}\"><task><description>One</description></task></case>\
             <case test=\"{second}\"><task><description>Two</description></task></case></cond></template>"
        )
    };
    let (told, _) = play(&[("template", &cond("n == 1", "n == 1")), ("run top", "n = 1")]);
    assert_eq!((told.contains(": One"), told.contains(": Two")), (true, false), "the first that is true: {told}");
    let (told, result) = play(&[("template", &cond("n == 1", "n == 2")), ("run top", "n = 3")]);
    assert!(!told.contains("→ ask"), "{told}");
    assert_eq!(
        (&result["result"]["status"], &result["result"]["notes"]["skipped"]),
        (&json!("COMPLETE"), &json!(true))
    );

    let map = |error: &str, most: u32| {
        format!(
            "<task type=\"map\" name=\"top\" items=\"list\" max_parallel=\"{most}\" on_error=\"{error}\"><description>Each</description>\
             <inputs><input name=\"list\"/></inputs><body><task><description>{{{{item}}}}</description></task></body></task>"
        )
    };
    let list = ("run top", "list = [1, 2, 3, 4]");
    let replies = ["reply top-1", "reply top-2", "reply top-3", "reply top-4"];
    let collect = map("collect", 4);
    let first = play(&[("template", &collect), list, (replies[1], FAULT)]);
    let content = first.1["result"]["parsed_content"].as_array().cloned().unwrap_or_default();
    assert_eq!((content.len(), content.get(1)), (4, Some(&Value::Null)), "{}", first.0);
    for order in 1..8 {
        assert_eq!(play_as(&[("template", &collect), list, (replies[1], FAULT)], order).1, first.1, "order {order}");
    }
    let one_by_one = map("fail", 1);
    let (told, result) = play(&[("template", &one_by_one), list, (replies[1], FAULT)]);
    assert_eq!(told.matches("→ ask").count(), 2, "nothing starts after a failure: {told}");
    assert_eq!(result["result"]["error"]["details"]["failed_indexes"], json!([1]));
    // A sibling that runs when one fails comes to its end and is kept.
    let (_, result) = play(&[("template", &map("fail", 4)), list, (replies[0], FAULT)]);
    assert_eq!(result["result"]["status"], "FAILED");
}

/// covers: C31
#[test]
fn c31_nested_inputs_run_first_and_isolated_bodies_see_no_siblings() {
    let join = r#"<task name="top"><description>Join {{a}} and {{b}}</description><inputs>
<input name="a"><task><description>Make a</description></task></input>
<input name="b"><task><description>Make b</description></task></input></inputs></task>"#;
    let (told, _) = play(&[("template", join), ("run top", "jobs = 2")]);
    let at = |words: &str| told.find(words).unwrap_or_else(|| panic!("{words}: {told}"));
    assert!(at("Make a") < at("Join") && at("Make b") < at("Join"));
    assert!(told.contains("Join done top-input-1 and done top-input-2"), "{told}");

    // The body of a function template that a later step calls: a sibling's name is nothing in there.
    let library = "<templates version=\"1\"><template name=\"inner\" params=\"x\"><task><description>See {{x}} of {{steps}}</description></task></template>\
                   <task type=\"sequential\" name=\"top\"><description>Top</description><steps><task id=\"secret\"><description>S</description></task>\
                   <call template=\"inner\"><arg value=\"1\"/></call></steps></task></templates>";
    let (told, result) = play(&[("template", library), ("run top", "")]);
    assert!(!told.contains("See 1 of {") && !told.contains("done top-secret"), "{told}");
    assert_eq!(result["result"]["error"]["reason"], "input_validation_failure", "{result}");
}

/// covers: C32
#[test]
fn c32_as_many_replies_pass_as_the_limit_says() {
    let template = r#"<task name="top"><description>Look</description><limits max_turns="5"/>
<disable_reparsing>true</disable_reparsing><allowed_tools><tool>read_file</tool></allowed_tools></task>"#;
    let calls: Vec<String> = (0..6).map(|n| format!("look {n} call: read_file {{\"path\": \"{n}\"}}")).collect();
    let mut inputs = vec![("template", template), ("run top", "")];
    inputs.extend(calls.iter().map(|call| ("reply top", call.as_str())));
    let mut player = Player::new(&Script::read(inputs.iter().copied()), 0);
    player.run_to_the_end();
    let result = player.result()["result"].clone();
    assert_eq!(player.run.calls().len(), 5, "the sixth is not sent");
    let error = &result["error"];
    assert_eq!((&error["type"], &error["resource"]), (&json!("RESOURCE_EXHAUSTION"), &json!("turns")));
    assert_eq!((&error["used"], &error["limit"]), (&json!(5), &json!(5)));
    let warnings: Vec<&Value> = result["notes"]["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| one["code"] == "limit_near")
        .collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");

    // Four of five: near, and told once.
    let mut inputs = vec![("template", template), ("run top", "")];
    inputs.extend(calls.iter().take(4).map(|call| ("reply top", call.as_str())));
    let mut player = Player::new(&Script::read(inputs.iter().copied()), 0);
    player.run_to_the_turn("top", 4);
    let near = player.run.limits_near();
    assert!(near.iter().any(|one| one.task.is_some() && one.limit.name() == "max_turns"), "{near:?}");
    for one in near {
        player.happens(
            events::LimitNear { task: one.task, limit: one.limit.name().to_owned(), used: one.used, max: one.max }
                .into(),
        );
    }
    assert!(player.run.limits_near().is_empty(), "told once");
}

/// covers: C33
#[test]
fn c33_an_overflow_is_found_before_sending_and_nothing_is_trimmed() {
    let (told, result) = play(&[
        ("template", "<task name=\"top\"><description>Look</description></task>"),
        ("run top", ""),
        ("reply top", "first part call: read_file {\"path\": \"a\"}"),
        ("reply top", "fault: overflow"),
    ]);
    let error = &result["result"]["error"];
    assert_eq!((&error["type"], &error["resource"]), (&json!("RESOURCE_EXHAUSTION"), &json!("context")), "{told}");
    assert!(result["result"]["content"].as_str().unwrap().contains("first part"), "what it had is kept: {result}");
}

/// covers: C34
#[test]
fn c34_a_cut_reply_is_output_and_time_without_waiting_is_counted() {
    let one = "<task name=\"top\"><description>Long</description></task>";
    let (_, result) = play(&[("template", one), ("run top", ""), ("reply top", "half of it\n[cut]")]);
    let error = &result["result"]["error"];
    assert_eq!((&error["resource"], &result["result"]["content"]), (&json!("output"), &json!("half of it")));
    let slow = sequential("", "<limits timeout_seconds=\"1\"/>", &atomics("a b c"));
    let (_, result) = play(&[("template", &slow), ("run top", "slow = true")]);
    assert_eq!(result["result"]["error"]["reason"], "execution_timeout");
    // A person takes their time: it does not count.
    let asks = "<task name=\"top\"><description>Ask</description><limits timeout_seconds=\"20\"/></task>";
    let question = "<result status=\"WAITING\"><content>Which?</content></result>";
    let waits =
        [("template", asks), ("run top", "slow = true"), ("reply top", question), ("process top", "question: Which?")];
    let mut player = Player::new(&Script::read(waits), 0);
    player.person_takes_ms = 3_600_000;
    player.run_to_the_end();
    assert_eq!(player.result()["result"]["status"], "COMPLETE", "{}", player.result());
}

/// covers: C35
#[test]
fn c35_spending_is_charged_to_every_ancestor() {
    let inner = "<task type=\"sequential\" id=\"in\"><description>In</description><steps><task id=\"x\"><description>X</description></task></steps></task>";
    let nested = sequential("", "", inner);
    let mut player = Player::new(&Script::read([("template", nested.as_str()), ("run top", "")]), 0);
    player.run_to_the_end();
    for op in player.run.operators().iter() {
        let spent = player.run.spent(op);
        assert_eq!((spent.calls, spent.tokens()), (1, 15), "{}", op.id);
    }
    let four = |limit: &str| {
        format!(
            "<task type=\"map\" name=\"top\" items=\"list\" max_parallel=\"4\" on_error=\"collect\"><description>Each</description>\
             <inputs><input name=\"list\"/></inputs><limits {limit}/><body><task><description>{{{{item}}}}</description></task></body></task>"
        )
    };
    // A call has 15 tokens and costs 0.25.
    for (limit, resource) in
        [("max_calls=\"2\"", "calls"), ("max_tokens=\"30\"", "tokens"), ("max_cost_usd=\"0.5\"", "cost")]
    {
        for order in 0..6 {
            let script = [("template", &*four(limit)), ("run top", "list = [1, 2, 3, 4]\njobs = 4")];
            let (told, result) = play_as(&script, order);
            assert_eq!(told.matches("→ ask").count(), 2, "{limit}: {told}");
            let error = &result["result"]["error"];
            let expected = (&json!("RESOURCE_EXHAUSTION"), &json!(resource));
            assert_eq!((&error["type"], &error["resource"]), expected, "the parent ends by it");
        }
    }
}

/// covers: C36
#[test]
fn c36_three_equal_turns_are_no_progress_and_two_are() {
    let template = "<task name=\"top\"><description>Look</description></task>";
    let again = "again call: read_file {\"path\": \"a\"}";
    let thrice =
        [("template", template), ("run top", ""), ("reply top", again), ("reply top", again), ("reply top", again)];
    let (_, result) = play(&thrice);
    assert_eq!(result["result"]["error"]["details"]["halt"], "no_progress");
    let (_, result) = play(&thrice[..4]);
    assert_eq!(result["result"]["status"], "COMPLETE");
}

/// covers: C47
#[test]
fn c47_nothing_is_tried_again_unless_a_policy_says_so() {
    let typed = |recovery: &str| {
        format!(
            "<task name=\"top\"><description>Typed</description><output_format type=\"json\" schema=\"object\"/>{recovery}</task>"
        )
    };
    let once = typed("<recovery attempts=\"1\"/>");
    let (told, result) = play(&[("template", &once), ("run top", ""), ("reply top", "[1]")]);
    let error = &result["result"]["error"];
    assert_eq!(told.matches("→ ask").count(), 1, "{told}");
    assert!(!error["recovery"]["advice"].as_str().unwrap().is_empty());
    assert_eq!(error["location"]["file"], "t.xml");
    // A reply that is not as declared is asked for once more without a policy; nothing else is.
    let (told, _) = play(&[("template", &typed("")), ("run top", ""), ("reply top", "fault: communication")]);
    assert_eq!(told.matches("→ ask").count(), 1, "{told}");
    let (told, result) =
        play(&[("template", &typed("")), ("run top", ""), ("reply top", "[1]"), ("reply top-again-2", "[2]")]);
    assert_eq!(told.matches("→ ask").count(), 2, "{told}");
    assert!(told.contains("| issues "), "the second is told of the first: {told}");
    let attempts = &result["result"]["error"]["details"]["recovery_attempts"];
    assert_eq!(attempts.as_array().map(Vec::len), Some(1), "{result}");
}

/// An error says through which calls it came, and one of `returns` where that stands.
/// covers: C47
#[test]
fn c47_an_error_names_the_calls_it_came_through() {
    let library = r#"<templates><template name="inner" params=""><task><description>Fail</description></task></template>
<template name="typed" params="" returns="object">
<task><description>Typed</description></task></template>
<template name="outer" params=""><call template="inner"/></template>
<task type="sequential" name="top"><description>Top</description><steps>
<call template="outer"/></steps></task>
<task type="sequential" name="types"><description>Top</description><steps>
<call template="typed"/></steps></task></templates>"#;
    let lines = |error: &Value| {
        let of = |place: &Value| (place["line"].as_u64(), place["task"].as_str().map(str::to_owned));
        let related = error["related"].as_array().into_iter().flatten().map(of).collect::<Vec<_>>();
        (of(&error["location"]), related)
    };
    let at = |line: u64, task: &str| (Some(line), Some(task.to_owned()));
    let (_, result) = play(&[("template", library), ("run top", ""), ("reply *", FAULT)]);
    let found = lines(&result["result"]["error"]);
    let through = vec![at(4, "top-s0-outer"), at(6, "top-s0")];
    assert_eq!(found, (at(1, "top-s0-outer-inner"), through), "{result}");
    let (_, result) = play(&[("template", library), ("run types", ""), ("reply *", "words")]);
    assert_eq!(lines(&result["result"]["error"]), (at(2, "types-s0"), vec![at(8, "types-s0")]), "{result}");
    let (_, result) = play(&[("template", library), ("run typed", ""), ("reply *", "words")]);
    assert_eq!(lines(&result["result"]["error"]), (at(2, "typed"), Vec::new()), "{result}");
}

/// A model's own word for its failure never makes it an outage, a limit or a wrong setting of the run.
/// covers: C47
#[test]
fn c47_a_models_own_failure_is_the_models() {
    let template = "<task name=\"top\"><description>Fail</description></task>";
    for reason in ["llm_error", "configuration_error", "execution_timeout", "unexpected_error"] {
        let reply = json!({ "status": "FAILED", "content": "half", "notes": { "reason": reason } }).to_string();
        let (_, result) = play(&[("template", template), ("run top", ""), ("reply top", &reply)]);
        let error = &result["result"]["error"];
        assert_eq!((&error["reason"], &error["recovery"]["blame"]), (&json!(reason), &json!("model")), "{result}");
        assert_eq!(result["outcome"], "TaskFailed", "{result}");
    }
}

/// covers: C51
#[test]
fn c51_a_writer_waits_and_writers_never_overlap() {
    let one = script("", "<command>make all</command>");
    let (told, result) = play(&[("template", &one), ("run top", ""), ("answer", "no it is too early")]);
    assert!(told.contains("→ gate") && !told.contains("→ script"), "{told}");
    assert_eq!(result["result"]["error"]["details"]["halt"], "approval_denied");
    assert_eq!(result["outcome"], "TaskFailed");

    let two = "<template name=\"top\"><parallel max_parallel=\"4\">\
               <task type=\"script\"><description>A</description><command>make a</command></task>\
               <task type=\"script\"><description>B</description><command>make b</command></task></parallel></template>";
    for order in 0..8 {
        let fine = r#"{"stdout": "ok", "exit_code": 0}"#;
        let script = [("template", two), ("run top", "jobs = 4"), ("process top-s0", fine), ("process top-s1", fine)];
        let mut player = Player::new(&Script::read(script), order);
        player.run_to_the_end();
        assert_eq!(player.most_writers, 1, "order {order}");
        assert_eq!(player.result()["result"]["status"], "COMPLETE");
    }
}

/// What a split is told of the failed task has half of the room that the task had, however long its texts are.
/// covers: C40
#[test]
fn c40_a_split_is_asked_with_no_more_than_fits() {
    let reply = format!("{}\n[cut]", "x".repeat(4_000));
    let one = "<task name=\"top\"><description>Long</description></task>";
    let asked = |run: &str| {
        let (told, _) = play(&[("template", one), ("run top", run), ("reply top", &reply)]);
        let words = told.split("<failed_task>").nth(1).and_then(|rest| rest.split("</failed_task>").next());
        words.map(str::to_owned).unwrap_or_else(|| panic!("no split was asked for: {told}"))
    };
    assert!(asked("").contains(&"x".repeat(4_000)), "no limit, and all of it");
    let held = asked("window = 200");
    assert!(held.contains("<content>xxxx") && held.contains("Long"), "{held}");
    assert!(held.chars().count() <= 400, "{} characters: {held}", held.chars().count());
}
