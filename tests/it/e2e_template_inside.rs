//! Templates that tasks of a sheet call: what they may use beside each other, and how a person answers each of them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};
use crate::support::terminal::{at_terminal, exit_code, rest};
use expectrl::Expect;

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

fn garden(script: &str, template: &str, sections: &[&[&str]]) -> TestProject {
    let garden = TestProject::scripted(script);
    garden.write(".callsheet/templates/tell.xml", template);
    garden.write("w.md", sheet(sections));
    garden
}

const ONE_CALL: &str = r#"<template name="tell" params="q"><task type="atomic"><description>{{q}}</description><allowed_tools/></task></template>"#;

/// The template of the first section and the refinement of the next one want the same tokens: both get them in turn.
///
/// covers: C35, C49
#[test]
fn c35_a_template_and_a_refinement_share_the_tokens_of_the_run() {
    let script = format!("{}{}{}", refined("Alpha", "A"), refined("Beta", "B"), executed("", "little"));
    for tokens in ["3000", "5000", "9000", "20000"] {
        let garden = garden(&script, ONE_CALL, &[&["Alpha"], &["Beta"]]);
        garden.expect(
            0,
            &["run", "--sheet", "w.md", "--set", "iterate=never", "--set", &format!("limits.max_tokens={tokens}")],
        );
        assert_eq!(garden.count("call_mounted"), 2);
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
fn c35_what_is_too_little_beside_others_is_enough_alone() {
    let script = format!(
        "{}{}{}{}",
        refined("Alpha", "A"),
        executed("First", &"word ".repeat(500)),
        executed("do plain", "## Result summary\nfine\n"),
        executed("", "little"),
    );
    for tokens in ["2600", "2800", "3000", "3200", "4000"] {
        let garden = garden(&script, THREE_CALLS, &[&["Alpha", "plain"]]);
        let ended = garden.expect(
            0,
            &["run", "--sheet", "w.md", "--set", "iterate=never", "--set", &format!("limits.max_tokens={tokens}")],
        );
        assert!(ended.err.contains("tasks: 2 done"), "{}", ended.err);
    }
}

const TOUCHING: &str = r#"<template name="tell" params="q"><task type="script"><description>Touch</description><command>touch made-{{q}}</command></task></template>"#;

/// Each gate of a template has the name of the task that called it.
///
/// covers: C49
#[test]
fn c49_gates_of_equal_calls_are_answered_one_by_one() {
    let script = format!("{}{}{}", refined("Alpha", "1"), refined("Beta", "2"), refined("Gamma", "3"));
    let garden = garden(&script, TOUCHING, &[&["Alpha", "Beta", "Gamma"]]);
    garden.expect(3, &["run", "--sheet", "w.md", "--set", "iterate=never", "--approval", "before-apply"]);
    let shown = garden.expect(0, &["show"]).out;
    for wants in ["alpha/tell wants", "beta/tell wants", "gamma/tell wants"] {
        assert!(shown.contains(wants), "{shown}");
    }
    assert!(shown.contains(" beta/tell --resume\n"), "{shown}");
    let run = shown.split("Run ").nth(1).and_then(|rest| rest.split(':').next()).unwrap().to_owned();
    let refused = garden.expect(2, &["approve", &run, "delta"]).err;
    assert!(refused.contains("pending: ") && refused.contains("beta/tell"), "{refused}");
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
    let script = [refined("Alpha", "apples"), refined("Beta", "beans"), asked("apples"), asked("beans")].concat();
    let garden = garden(&script, ASKING, &[&["Alpha", "Beta"]]);
    let ended = garden.expect(3, &["run", "--sheet", "w.md", "--set", "iterate=never"]);
    assert!(ended.err.contains("alpha/tell asks: Which of apples?"), "{}", ended.err);
    assert!(ended.err.contains("beta/tell asks: Which of beans?"), "{}", ended.err);
    assert!(ended.err.contains("Answer the first: callsheet resume"), "{}", ended.err);
    garden.expect(3, &["resume", "--answer", "In the apples yard"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("beta/tell asks") && !shown.contains("alpha/tell asks"), "{shown}");
    let ended = garden.expect(0, &["resume", "--answer", "In the beans yard"]);
    assert!(ended.out.contains("It is apples.") && ended.out.contains("It is beans."), "{}", ended.out);
}

/// What a script says to a question about a yard, and to its answer.
fn asked(name: &str) -> String {
    format!(
        "[[rule]]\nphase = 'execute'\nprompt = 'the {name} yard'\ntext = 'It is {name}.'\n[[rule]]\nphase = 'execute'\n\
         prompt = 'Ask about {name}'\ncalls = [{{ name = 'ask_user', arguments = {{ prompt = 'Which of {name}?' }} }}]\n"
    )
}

/// Of several open questions the one is answered whose name stands in front; a name that none has
/// answers nothing, and behind a `=` stands a text that only looks like that.
///
/// covers: C46, C49
#[test]
fn c49_a_question_is_answered_by_its_name() {
    let script = [refined("Alpha", "apples"), refined("Beta", "beans"), asked("apples"), asked("beans")].concat();
    let garden = garden(&script, ASKING, &[&["Alpha", "Beta"]]);
    let ended = garden.expect(3, &["run", "--sheet", "w.md", "--set", "iterate=never"]);
    assert!(ended.err.contains("Answer another one by name: --answer \"beta/tell=…\""), "{}", ended.err);
    let ended = garden.expect(3, &["resume", "--answer", "beta/tell=In the beans yard"]);
    assert!(!ended.err.contains("one by name"), "{}", ended.err);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("alpha/tell asks") && !shown.contains("beta/tell asks"), "{shown}");
    let ended = garden.expect(2, &["resume", "--answer", "beta/tell=In another yard"]);
    assert!(ended.err.contains("beta/tell has no open question") && ended.err.contains("alpha/tell"), "{}", ended.err);
    let ended = garden.expect(2, &["resume", "--answer", "alpha/tel=In the apples yard"]);
    assert!(ended.err.contains("Did you mean alpha/tell?"), "{}", ended.err);
    let ended = garden.expect(0, &["resume", "--answer", "=yard=the apples yard"]);
    assert!(ended.out.contains("It is apples.") && ended.out.contains("It is beans."), "{}", ended.out);
    let shown = crate::support::garden::json_lines(&garden.expect(0, &["show", "--json"]).out).remove(0);
    let last_prompt = |task: &str| {
        let mut calls = shown["calls"].as_array().unwrap().iter().filter(|call| call["task"] == task);
        let number = calls.next_back().unwrap()["call"].to_string();
        garden.expect(0, &["show", "--prompt", &number]).out
    };
    let prompt = last_prompt("beta/tell");
    assert!(prompt.contains("In the beans yard") && !prompt.contains("tell="), "{prompt}");
    let prompt = last_prompt("alpha/tell");
    assert!(prompt.contains("yard=the apples yard"), "{prompt}");
}

/// covers: C46
#[test]
fn c46_questions_of_one_run_are_all_told_and_answered_by_name() {
    let garden = TestProject::scripted(&[asked("apples"), asked("beans")].concat());
    let library = r#"<parallel><task type="atomic" id="a"><description>Ask about apples</description><allowed_tools><tool>ask_user</tool>
</allowed_tools></task><task type="atomic" id="b"><description>Ask about beans</description><allowed_tools><tool>ask_user</tool>
</allowed_tools></task></parallel>"#;
    let library = format!("<template name=\"both\" params=\"\">{library}</template>");
    garden.write(".callsheet/templates/both.xml", library);
    let ended = garden.expect(3, &["template", "run", "both"]);
    assert!(ended.err.contains("both-a asks: Which of apples?"), "{}", ended.err);
    assert!(ended.err.contains("both-b asks: Which of beans?"), "{}", ended.err);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("--answer \"both-b=…\""), "{shown}");
    let ended = garden.expect(3, &["resume", "--answer", "both-b=In the beans yard"]);
    assert!(ended.err.contains("both-a asks") && !ended.err.contains("both-b asks"), "{}", ended.err);
    let ended = garden.expect(0, &["resume", "--answer", "both-a=In the apples yard"]);
    assert_eq!(ended.out.trim(), r#"["It is apples.","It is beans."]"#, "{}", ended.err);
}

/// A run that waits for an approval tells its questions as well, and the other way round.
///
/// covers: C49
#[test]
fn c49_questions_beside_gates_are_told_at_the_end() {
    let template = r#"<template name="tell" params="q"><cond><case test='q == "1"'><task type="script"><description>T</description>
<command>touch made</command></task></case><else><task type="atomic"><description>Ask about {{q}}</description><allowed_tools>
<tool>ask_user</tool></allowed_tools></task></else></cond></template>"#;
    let script = [refined("Alpha", "apples"), refined("Beta", "1"), asked("apples")].concat();
    let garden = garden(&script, template, &[&["Alpha", "Beta"]]);
    let ended = garden.expect(3, &["run", "--sheet", "w.md", "--set", "iterate=never", "--approval", "before-apply"]);
    for words in ["Which of apples?", "--answer \"…\"", "callsheet approve "] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    let ended = garden.expect(3, &["resume", "--answer", "In the apples yard"]);
    assert!(ended.err.contains("callsheet approve ") && !ended.err.contains("--answer"), "{}", ended.err);
    garden.expect(0, &["approve"]);
    garden.expect(0, &["resume"]);
    assert!(garden.path("made").exists());
}

/// Three templates, the first of which needs much: it waits for what the others return, and no reply of its is cut
/// meanwhile.
///
/// covers: C35, C49
#[test]
fn c35_a_template_has_what_others_did_not_use() {
    let script = format!(
        "{}{}{}[[rule]]\nphase = 'execute'\nprompt = 'Much'\ntext = '{}'\n[[rule]]\nphase = 'execute'\ntext = 'little'\n",
        refined("Alpha", "Much of A"),
        refined("Beta", "Bit of B"),
        refined("Gamma", "Bit of C"),
        "word ".repeat(1_600),
    );
    let garden = garden(&script, ONE_CALL, &[&["Alpha", "Beta", "Gamma"]]);
    let run = ["run", "--sheet", "w.md", "--set", "limits.max_tokens=5000", "--set", "iterate=never"];
    let ended = garden.expect(0, &run);
    assert!(!ended.err.contains("eached a limit"), "{}", ended.err);
    let small = ["run", "--sheet", "w.md", "--set", "limits.max_tokens=2500", "--set", "iterate=never"];
    let ended = garden.expect(6, &small);
    assert!(ended.err.contains("--set limits.max_tokens=N"), "{}", ended.err);
    garden.expect(0, &["resume", "--set", "limits.max_tokens=9000"]);
}

/// What one call costs is known when it is over, so templates wait for the first one, and no two of them spend the same
/// dollar: only the last call may pass the limit, by what it costs itself.
///
/// covers: C35, C49
#[test]
fn c35_templates_keep_a_limit_of_cost_together() {
    let names = ["Alpha", "Beta", "Gamma", "Delta"];
    let paid =
        |text: String| text.replace("[[rule]]\n", "[[rule]]\nusage = { input = 10, output = 5, cost_usd = 0.1 }\n");
    let script: String =
        names.iter().map(|name| paid(refined(name, name))).chain([paid(executed("", "little"))]).collect();
    for (limit, most) in [("0.25", 0.3), ("0.45", 0.5), ("0.61", 0.7)] {
        let garden = garden(&script, ONE_CALL, &[&names]);
        let ended = garden.expect(
            6,
            &[
                "run",
                "--sheet",
                "w.md",
                "--set",
                "iterate=never",
                "--set",
                &format!("limits.max_cost_usd={limit}"),
                "--set",
                "jobs=8",
            ],
        );
        let cost = ended.err.split("- cost: $").nth(1).and_then(|rest| rest.lines().next()).unwrap();
        assert!(cost.parse::<f64>().unwrap() < most + 0.01, "{limit}: {}", ended.err);
        assert!(!ended.err.contains("the price of"), "{}", ended.err);
        garden.expect(0, &["resume", "--set", "limits.max_cost_usd=9", "--set", "jobs=8"]);
    }
}

/// covers: C35, 12.6 allow_unpriced
#[test]
fn c35_a_limit_of_cost_refuses_a_model_without_a_price() {
    let script = format!("{}{}{}", refined("Alpha", "A"), refined("Beta", "B"), executed("", "little"));
    let garden = garden(&script, ONE_CALL, &[&["Alpha", "Beta"]]);
    let run = ["run", "--sheet", "w.md", "--set", "iterate=never", "--set", "limits.max_cost_usd=0.01"];
    // A scripted model is free, unless its price is set: one price alone tells nothing.
    let ended = garden.expect(0, &run);
    assert!(!ended.err.contains("- cost:"), "{}", ended.err);
    let config = garden.home().join("config.toml");
    std::fs::write(&config, "[providers.scripted]\nprice_input = 100000.0\n").unwrap();
    let refused = garden.expect(2, &run);
    assert!(refused.err.contains("because the price of scripted:"), "{}", refused.err);
    assert!(
        refused.err.contains("providers.scripted.price_input")
            && refused.err.contains("--set limits.allow_unpriced=true")
    );
    let allowed = garden.expect(0, &[&run[..], &["--set=limits.allow_unpriced=true"]].concat());
    assert_eq!(allowed.err.matches("the price of").count(), 1, "{}", allowed.err);
    assert!(allowed.err.contains("- cost: unknown: no price is set for 4 calls"), "{}", allowed.err);
    let listed = json_lines(&garden.expect(0, &["runs", "--json"]).out).remove(0);
    assert_eq!(listed["cost_usd"], serde_json::Value::Null, "{listed}");
    assert!(garden.expect(0, &["runs"]).out.contains("  cost unknown  "));
    // What is advised there holds.
    std::fs::write(&config, "[providers.scripted]\nprice_input = 100000.0\nprice_output = 0.0\n").unwrap();
    let ended = garden.expect(6, &run);
    assert!(!ended.err.contains("no price") && ended.err.contains("--set limits.max_cost_usd=N"), "{}", ended.err);
}

const CATTING: &str = r#"<template name="tell" params="q"><task type="script" effects="read"><description>T</description><command>cat wanted-{{q}}.txt</command></task></template>"#;

/// A task whose template failed is done again by `retry`, while what was done stays.
///
/// covers: C49
#[test]
fn c49_a_failed_template_is_done_again_by_retry() {
    let script = format!("{}{}", refined("Alpha", "1"), refined("Beta", "2"));
    let garden = garden(&script, CATTING, &[&["Alpha", "Beta"]]);
    garden.write("wanted-2.txt", "two");
    garden.expect(5, &["run", "--sheet", "w.md", "--set", "iterate=never"]);
    let run = garden.expect(0, &["show"]).out;
    let run = run.split("Run ").nth(1).and_then(|rest| rest.split(':').next()).unwrap().to_owned();
    garden.expect(5, &["retry", &run, "alpha"]);
    garden.write("wanted-1.txt", "one");
    let ended = garden.expect(0, &["retry", &run, "alpha/tell"]);
    assert!(ended.err.contains("tasks: 2 done"), "{}", ended.err);
    let refined = garden.asked().into_iter().filter(|key| key.contains("refine")).count();
    assert_eq!(refined, 2, "what was refined stays refined");
}

/// A denial in a template is not the last word: `retry` asks again.
///
/// covers: C49
#[test]
fn c49_a_denied_template_asks_again_after_retry() {
    let garden = garden(&refined("Alpha", "1"), TOUCHING, &[&["Alpha"]]);
    garden.expect(3, &["run", "--sheet", "w.md", "--set", "iterate=never", "--approval", "before-apply"]);
    let run = garden.expect(0, &["show"]).out;
    let run = run.split("Run ").nth(1).and_then(|rest| rest.split(':').next()).unwrap().to_owned();
    garden.expect(0, &["deny", &run, "alpha", "--because", "not now"]);
    garden.expect(5, &["resume", &run]);
    garden.expect(3, &["retry", &run, "alpha"]);
    garden.expect(0, &["approve", &run, "alpha"]);
    garden.expect(0, &["resume", &run]);
    assert!(garden.path("made-1").exists());
}

const TWO_CALLS: &str = r#"<template name="tell" params="q"><task type="sequential"><description>S</description><steps>
<task type="atomic"><description>First {{q}}</description><allowed_tools/></task>
<task type="atomic"><description>Second {{q}}</description><allowed_tools/></task></steps></task></template>"#;

/// Templates pass a limit of cost by no more than what one call costs, however many of them there are.
///
/// covers: C35, C49
#[test]
fn c35_templates_pass_a_limit_of_cost_by_one_call_at_most() {
    let names = ["Alpha", "Beta", "Gamma", "Delta", "Eps", "Zeta"];
    let script: String = names.iter().map(|name| refined(name, name)).collect();
    let script = format!("{script}{}", executed("", "little"));
    let usage = "usage = { input = 10, output = 5, cost_usd = 0.1 }";
    let script = script.replace("[[rule]]\n", &format!("[[rule]]\n{usage}\n"));
    for (limit, jobs) in [("0.75", "6"), ("0.95", "6"), ("1.15", "3"), ("1.45", "2")] {
        let garden = garden(&script, TWO_CALLS, &[&names]);
        let limits = ["--set", &format!("limits.max_cost_usd={limit}"), "--set", &format!("jobs={jobs}")];
        let ended = garden.expect(6, &[&["run", "--sheet", "w.md", "--set", "iterate=never"], &limits[..]].concat());
        let shown = crate::support::garden::json_lines(&garden.expect(0, &["show", "--json"]).out).remove(0);
        let (spent, limit) = (shown["summary"]["cost_usd"].as_f64().unwrap(), limit.parse::<f64>().unwrap());
        assert!(spent < limit + 0.1, "{spent} of {limit}: {}", ended.err);
        // Nothing is kept back that one more call could have had.
        assert!(spent > limit - 0.1, "{spent} of {limit}: {}", ended.err);
        garden.expect(0, &["resume", "--set", "limits.max_cost_usd=9"]);
    }
}

/// A template that stopped at a limit of the run goes on with a higher one, though it is killed on the way.
///
/// covers: C35, C48
#[test]
fn c48_a_call_that_stopped_at_a_limit_goes_on_after_it_was_killed() {
    let script = format!("{}{}delay_ms = 1500\n", refined("Alpha", "A"), executed("", "little"));
    let garden = garden(&script, ONE_CALL, &[&["Alpha"]]);
    garden.expect(6, &["run", "--sheet", "w.md", "--set", "iterate=never", "--set", "limits.max_tokens=600"]);
    let mut resumed = garden.command(&["resume", "--set", "limits.max_tokens=50000"]).spawn().unwrap();
    while garden.count("run_resumed") < 1 && resumed.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    resumed.kill().unwrap();
    resumed.wait().unwrap();
    let ended = garden.expect(0, &["resume", "--set", "limits.max_tokens=50000"]);
    assert!(ended.err.contains("tasks: 1 done"), "{}", ended.err);
}

const SLEEPING: &str = r#"<template name="tell" params="q"><task type="sequential"><description>S</description><steps>
<task type="script" effects="read"><description>One</description><command>sleep 0.7</command></task>
<task type="script" effects="read"><description>Two</description><command>sleep 0.7</command></task></steps></task></template>"#;

/// The times of a template are its own: that of the task which calls it ends none of it.
///
/// covers: C49
#[test]
fn c49_a_template_is_not_held_to_the_time_of_the_task_that_calls_it() {
    let garden = garden(&refined("Alpha", "1"), SLEEPING, &[&["Alpha"]]);
    let mut command = garden.command(&["run", "--sheet", "w.md", "--set", "iterate=never"]);
    let ended = command.env("CALLSHEET_LIMITS_TIMEOUT_SECONDS", "1").output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && told.contains("tasks: 1 done"), "{told}");
}

/// What a person says at a gate of a template holds for the whole run: `stop` stops it, and thinking costs no time.
///
/// covers: C49
#[test]
fn c49_a_gate_of_a_template_stops_the_run_and_does_not_count_its_time() {
    let script = format!("{}{}", refined("Alpha", "1"), executed("do plain", "## Result summary\nfine\n"));
    let garden = garden(&script, TOUCHING, &[&["Alpha"], &["plain"]]);
    let asked = |arguments: &[&str]| {
        let mut command = garden.command(arguments);
        command.env("CALLSHEET_LIMITS_TIMEOUT_SECONDS", "1").env("NO_COLOR", "1");
        let mut terminal = at_terminal(command);
        terminal.expect("alpha/tell wants").unwrap();
        terminal.expect("[s] stop").unwrap();
        terminal
    };
    let run = [
        "run",
        "--sheet",
        "w.md",
        "--set",
        "iterate=never",
        "--approval",
        "before-apply",
        "--set",
        "limits.run_timeout_seconds=2",
    ];
    let mut terminal = asked(&run);
    terminal.send_line("s").unwrap();
    let told = rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 130, "{told}");
    assert!(!garden.asked().iter().any(|key| key.contains("plain")), "{told}");
    let mut terminal = asked(&["resume"]);
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    terminal.send_line("y").unwrap();
    let told = rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0, "{told}");
    assert!(garden.path("made-1").exists() && told.contains("tasks: 2 done"), "{told}");
}
