//! Runs inside calls of a sheet: what they may use beside each other, and how a person answers each of them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use support::garden::Garden;

/// The refinement of a task by its name: a call of `tell` with a question.
fn refined(name: &str, question: &str) -> String {
    format!(
        "[[rule]]\nphase = 'refine'\nprompt = 'do {name}'\ntext = \"\"\"\n## Task\n- **What is needed** x\n## Tool Calls\n\
         ```json\n{{\\\"name\\\": \\\"tell\\\", \\\"arguments\\\": {{\\\"q\\\": \\\"{question}\\\"}}}}\n```\n\"\"\"\n"
    )
}

fn executed(prompt: &str, text: &str) -> String {
    format!("[[rule]]\nphase = 'execute'\nprompt = '{prompt}'\ntext = '''{text}'''\n")
}

/// A sheet of sections of tasks, each with the template `tell` as skill, but those in lower case, which have none.
fn sheet(sections: &[&[&str]]) -> String {
    let task = |name: &&str| {
        let skill = if name.starts_with(char::is_uppercase) { "- **Skill** tell\n" } else { "" };
        format!("- **Name** {name}\n- **What is needed** do {name}\n{skill}- **Expected output** x\n\n")
    };
    let section = |(index, tasks): (usize, &&[&str])| {
        format!("### Task section {}\n{}", index + 1, tasks.iter().map(task).collect::<String>())
    };
    let sections: String = sections.iter().enumerate().map(section).collect();
    format!("## Goals / summary\nTell.\n## Tasks\n{sections}")
}

fn garden(script: &str, template: &str, sections: &[&[&str]]) -> Garden {
    let garden = Garden::scripted(script);
    garden.write(".callsheet/templates/tell.xml", template);
    garden.write("w.md", sheet(sections));
    garden
}

const ONE_CALL: &str = r#"<template name="tell" params="q"><task type="atomic"><description>{{q}}</description><allowed_tools/></task></template>"#;

/// The run inside a call of the first section and the refinement of the next one want the same tokens: neither begins
/// again and again for want of them.
///
/// covers: C35, C49
#[test]
fn c35_a_run_inside_a_call_is_never_begun_again_for_nothing() {
    let script = format!("{}{}{}", refined("Alpha", "A"), refined("Beta", "B"), executed("", "little"));
    for tokens in ["3000", "5000", "9000", "20000"] {
        let garden = garden(&script, ONE_CALL, &[&["Alpha"], &["Beta"]]);
        garden.expect(0, &["run", "--sheet", "w.md", "--iterate", "never", "--max-tokens", tokens]);
        let begun = garden.facts().iter().filter(|fact| fact.to_string().contains("tool_started")).count();
        assert!(begun <= 6, "{begun}");
    }
}

const THREE_CALLS: &str = r#"<template name="tell" params="q"><task type="sequential"><description>S</description><steps>
<task type="atomic"><description>First {{q}}</description><allowed_tools/></task>
<task type="atomic"><description>Second {{q}}</description><allowed_tools/></task>
<task type="atomic"><description>Third {{q}}</description><allowed_tools/></task></steps></task></template>"#;

/// What was too little while others had a share is not too little for good.
///
/// covers: C35, C49
#[test]
fn c35_a_share_that_was_too_little_is_forgotten_when_it_becomes_the_whole() {
    let script = format!(
        "{}{}{}{}",
        refined("Alpha", "A"),
        executed("First", &"word ".repeat(500)),
        executed("do plain", "## Result summary\nfine\n"),
        executed("", "little"),
    );
    for tokens in ["2600", "2800", "3000", "3200", "4000"] {
        let garden = garden(&script, THREE_CALLS, &[&["Alpha", "plain"]]);
        let ended = garden.expect(0, &["run", "--sheet", "w.md", "--iterate", "never", "--max-tokens", tokens]);
        assert!(ended.err.contains("tasks: 2 done"), "{}", ended.err);
    }
}

const TOUCHING: &str = r#"<template name="tell" params="q"><task type="script"><description>Touch</description><command>touch made-{{q}}</command></task></template>"#;

/// Each gate of a run inside a call has the name of the task that made the call, in the order of the tasks.
///
/// covers: C49
#[test]
fn c49_gates_of_equal_runs_inside_calls_are_answered_one_by_one() {
    let script = format!("{}{}{}", refined("Alpha", "1"), refined("Beta", "2"), refined("Gamma", "3"));
    let garden = garden(&script, TOUCHING, &[&["Alpha", "Beta", "Gamma"]]);
    garden.expect(3, &["run", "--sheet", "w.md", "--iterate", "never", "--approval", "before-apply"]);
    let shown = garden.expect(0, &["show"]).out;
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}\n{shown}"));
    let (first, second, third) = (at("alpha/tell wants"), at("beta/tell wants"), at("gamma/tell wants"));
    assert!(first < second && second < third, "{shown}");
    assert!(shown.contains(" beta/tell or callsheet deny"), "{shown}");
    let run = shown.split("run ").nth(1).and_then(|rest| rest.split(':').next()).unwrap().to_owned();
    let refused = garden.expect(2, &["approve", &run, "delta"]).err;
    assert!(refused.contains("waiting: alpha/tell, beta/tell, gamma/tell"), "{refused}");
    // The bare name is that of all three.
    garden.expect(2, &["approve", &run, "tell"]);
    garden.expect(0, &["approve", &run, "beta"]);
    garden.expect(0, &["deny", &run, "alpha/tell", "--because", "not now"]);
    let ended = garden.expect(3, &["resume", &run]);
    assert!(garden.path("made-2").exists() && !garden.path("made-1").exists(), "{}", ended.err);
    assert!(!garden.path("made-3").exists());
    garden.expect(0, &["approve", &run]);
    let ended = garden.expect(5, &["resume", &run]);
    assert!(garden.path("made-3").exists() && ended.err.contains("denied: not now"), "{}", ended.err);
}

const ASKING: &str = r#"<template name="tell" params="q"><task type="atomic"><description>Ask about {{q}}</description>
<allowed_tools><tool>ask_user</tool></allowed_tools></task></template>"#;

/// covers: C49
#[test]
fn c49_every_question_inside_calls_is_told_with_its_task() {
    let ask = |name: &str| {
        format!(
            "[[rule]]\nphase = 'execute'\nprompt = 'In the {name} yard'\ntext = 'It is {name}.'\n[[rule]]\nphase = 'execute'\n\
             prompt = 'Ask about {name}'\ncalls = [{{ name = 'ask_user', arguments = {{ prompt = 'Which of {name}?' }} }}]\n"
        )
    };
    let script = [refined("Alpha", "apples"), refined("Beta", "beans"), ask("apples"), ask("beans")].concat();
    let garden = garden(&script, ASKING, &[&["Alpha", "Beta"]]);
    let ended = garden.expect(3, &["run", "--sheet", "w.md", "--iterate", "never"]);
    assert!(ended.err.contains("alpha/tell asks: Which of apples?"), "{}", ended.err);
    assert!(ended.err.contains("beta/tell asks: Which of beans?"), "{}", ended.err);
    assert!(ended.err.contains("answer the first: callsheet resume"), "{}", ended.err);
    garden.expect(3, &["resume", "--answer", "In the apples yard"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("beta/tell asks") && !shown.contains("alpha/tell asks"), "{shown}");
    let ended = garden.expect(0, &["resume", "--answer", "In the beans yard"]);
    assert!(ended.out.contains("It is apples.") && ended.out.contains("It is beans."), "{}", ended.out);
}

/// Three runs inside calls, the first of which needs more than its share: it waits for what the others bring back, and no
/// reply of its is cut meanwhile.
///
/// covers: C35, C49
#[test]
fn c35_a_run_inside_a_call_has_what_others_did_not_use() {
    let script = format!(
        "{}{}{}[[rule]]\nphase = 'execute'\nprompt = 'Much'\ntext = '{}'\n[[rule]]\nphase = 'execute'\ntext = 'little'\n",
        refined("Alpha", "Much of A"),
        refined("Beta", "Bit of B"),
        refined("Gamma", "Bit of C"),
        "word ".repeat(1_600),
    );
    let garden = garden(&script, ONE_CALL, &[&["Alpha", "Beta", "Gamma"]]);
    let run = ["run", "--sheet", "w.md", "--max-tokens", "5000", "--iterate", "never"];
    let ended = garden.expect(0, &run);
    assert!(!ended.err.contains("limit was reached"), "{}", ended.err);
    let small = ["run", "--sheet", "w.md", "--max-tokens", "2500", "--iterate", "never"];
    let ended = garden.expect(6, &small);
    assert!(ended.err.contains("--max-tokens N"), "{}", ended.err);
    garden.expect(0, &["resume", "--max-tokens", "9000"]);
}

/// What one call costs is known when it is over, so runs inside calls wait for the first, and no two of them spend the
/// same dollar: only the last call may pass the limit, by what it costs itself.
///
/// covers: C35, C49
#[test]
fn c35_runs_inside_calls_keep_a_limit_of_cost_together() {
    let names = ["Alpha", "Beta", "Gamma", "Delta"];
    let paid =
        |text: String| text.replace("[[rule]]\n", "[[rule]]\nusage = { input = 10, output = 5, cost_usd = 0.1 }\n");
    let script: String =
        names.iter().map(|name| paid(refined(name, name))).chain([paid(executed("", "little"))]).collect();
    for (limit, most) in [("0.25", 0.3), ("0.45", 0.5), ("0.61", 0.7)] {
        let garden = garden(&script, ONE_CALL, &[&names]);
        let ended =
            garden.expect(6, &["run", "--sheet", "w.md", "--iterate", "never", "--max-cost", limit, "--jobs", "8"]);
        let cost = ended.err.split("- cost: ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert!(cost.parse::<f64>().unwrap() < most + 0.01, "{limit}: {}", ended.err);
        assert!(!ended.err.contains("price is not known"), "{}", ended.err);
        garden.expect(0, &["resume", "--max-cost", "9", "--jobs", "8"]);
    }
}

/// covers: C35
#[test]
fn c35_a_limit_of_cost_that_cannot_hold_a_model_is_told_once() {
    let script = format!("{}{}{}", refined("Alpha", "A"), refined("Beta", "B"), executed("", "little"));
    let garden = garden(&script, ONE_CALL, &[&["Alpha", "Beta"]]);
    let ended = garden.expect(0, &["run", "--sheet", "w.md", "--iterate", "never", "--max-cost", "0.01"]);
    assert_eq!(ended.err.matches("its price is not known").count(), 1, "{}", ended.err);
    assert!(ended.err.contains("providers.scripted.price_input"), "{}", ended.err);
    let ended = garden.expect(0, &["run", "--sheet", "w.md", "--iterate", "never"]);
    assert!(!ended.err.contains("price is not known"), "{}", ended.err);
}
