//! What a person hears of a template's run, and what they may give it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::Write as _;
use std::process::Stdio;

use crate::support::garden::{Ended, TestProject};

const ASK: &str = r#"<templates version="1">
<template name="view" params="path, focus:string=all"><task type="atomic"><description>View {{path}} for {{focus}}</description>
<instructions>Say.</instructions><allowed_tools/></task></template>
<task type="sequential" name="ask"><description>Ask about {{topic}}</description><inputs><input name="topic"/></inputs>
<steps><call id="look" template="view"><arg from="topic"/></call></steps></task></templates>"#;

fn garden(script: &str) -> TestProject {
    let garden = TestProject::scripted(script);
    garden.write(".callsheet/templates/ask.xml", ASK);
    garden
}

const ANSWER: &str = "[[rule]]\nphase = \"execute\"\ntext = 'Ana.'\n";

/// covers: C48
#[test]
fn show_and_the_report_hold_the_result_of_a_template() {
    let garden = garden(ANSWER);
    garden.expect(0, &["template", "run", "ask", "topic=water.md"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.trim_end().ends_with("Ana."), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&garden.expect(0, &["--json", "show"]).out).unwrap();
    assert_eq!(json["task_result"]["content"], "Ana.");
    let runs = std::fs::read_dir(garden.path(".callsheet/runs")).unwrap().flatten();
    let reports: Vec<String> =
        runs.filter_map(|run| std::fs::read_to_string(run.path().join("report.md")).ok()).collect();
    assert!(reports.iter().any(|report| report.contains("## Result\n\nAna.")), "{reports:?}");
}

/// covers: C25
#[test]
fn a_template_of_scripts_needs_no_model() {
    let mut garden = garden(ANSWER);
    garden.forget_model();
    let count =
        r#"<task type="script" name="count"><description>Count</description><command>wc -l water.md</command></task>"#;
    garden.write(".callsheet/templates/count.xml", count);
    let ended = garden.expect(3, &["template", "run", "count"]);
    assert!(!ended.err.contains("\nmodel ") && ended.err.contains("model calls: 0"), "{}", ended.err);
    garden.expect(0, &["approve"]);
    let ended = garden.expect(0, &["resume"]);
    assert!(ended.out.contains("water.md"), "{}", ended.out);
}

/// covers: C25
#[test]
fn tasks_that_name_their_models_need_no_other() {
    let mut garden = garden(ANSWER);
    let script = garden.path("own.toml");
    std::fs::write(&script, ANSWER).unwrap();
    garden.forget_model();
    let own = format!(
        "<task type=\"atomic\" name=\"own\"><description>Say</description><instructions>Say.</instructions>\n\
         <model>scripted:{}</model><allowed_tools/></task>",
        script.display()
    );
    garden.write(".callsheet/templates/own.xml", own);
    assert_eq!(garden.expect(0, &["template", "run", "own"]).out.trim(), "Ana.");
}

fn with_stdin(garden: &TestProject, arguments: &[&str], text: &str) -> Ended {
    let mut command = garden.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Ended::from(child.wait_with_output().unwrap())
}

/// covers: C9
#[test]
fn text_on_stdin_is_the_one_input_that_is_missing() {
    let garden = garden(ANSWER);
    let ended = with_stdin(&garden, &["template", "run", "ask", "-"], "the rain barrels");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("View the rain barrels for all"), "{prompt}");
    let ended = with_stdin(&garden, &["template", "run", "view", "path=water.md", "-"], "more of it");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("more of it"), "the frame of the task has it: {prompt}");
}

/// covers: C9
#[test]
fn a_value_that_nothing_asks_for_is_refused_with_the_nearest_name() {
    let garden = garden(ANSWER);
    let ended = garden.expect(2, &["template", "run", "view", "path=water.md", "foucs=who"]);
    assert!(ended.err.contains("`foucs`") && ended.err.contains("Did you mean focus?"), "{}", ended.err);
    let ended = garden.expect(2, &["template", "run", "ask", "topik=water.md"]);
    assert!(ended.err.contains("Did you mean topic?"), "{}", ended.err);
}

/// covers: C46
#[test]
fn the_question_that_a_run_waits_with_is_told() {
    let script = "[[rule]]\nphase = \"execute\"\ntext = '<result status=\"WAITING\"><content>Which barrel?</content></result>'\n";
    let garden = garden(script);
    let asks = r#"<task type="atomic" name="which"><description>Which</description><instructions>Say.</instructions>
<allowed_tools><tool>ask_user</tool></allowed_tools></task>"#;
    garden.write(".callsheet/templates/which.xml", asks);
    let ended = garden.expect(3, &["template", "run", "which"]);
    assert!(ended.err.contains("asks: Which barrel?"), "{}", ended.err);
}

/// covers: C14
#[test]
fn files_that_no_task_sees_are_told_of() {
    let garden = garden(ANSWER);
    let alone = r#"<task type="atomic" name="alone"><description>Say</description><instructions>Say.</instructions>
<context_management inherit_context="none"/><allowed_tools/></task>"#;
    garden.write(".callsheet/templates/alone.xml", alone);
    let ended = garden.expect(0, &["template", "run", "alone", "--file", "water.md"]);
    assert!(ended.err.contains("no task of alone reads the files"), "{}", ended.err);
    let ended = garden.expect(0, &["template", "run", "view", "path=x", "--file", "water.md"]);
    assert!(!ended.err.contains("reads the files"), "{}", ended.err);
}

/// A file that is known before the first call is there, or nothing is asked; one with nearly its name is told.
/// covers: T 5, C14
#[test]
fn files_that_are_known_are_judged_before_the_first_call() {
    let garden = garden(ANSWER);
    garden.write("water.md", "Ana waters.\n");
    let library = r#"<templates version="1">
<task name="written"><description>W</description><inputs><input name="f">watr.md</input></inputs>
<file_paths><path>{{f}}</path></file_paths></task>
<template name="reads" params="f=watr.md"><task><description>R</description><file_paths><path>{{f}}</path></file_paths></task></template>
<task type="sequential" name="calls"><description>C</description><steps><task><description>One</description></task>
<call template="reads"><arg value="watr.md"/></call></steps></task>
<task type="map" name="each" items="list" as="f"><description>E</description><inputs><input name="list">["watr.md"]</input></inputs>
<body><task><description>B</description><file_paths><path>{{f}}</path></file_paths></task></body></task>
<task name="plain"><description>P</description></task>
<task name="literal"><description>L</description><file_paths><path>watr.md</path></file_paths></task></templates>"#;
    garden.write(".callsheet/templates/reads.xml", library);
    let checked = garden.expect(0, &["template", "check"]);
    assert!(checked.out.contains("`watr.md` does not exist; did you mean water.md?"), "{}", checked.out);
    let misspelt = garden.expect(2, &["template", "check", ".callsheet/templates/raeds.xml"]);
    assert!(misspelt.err.contains("Did you mean reads.xml"), "{}", misspelt.err);
    for arguments in [&["literal"][..], &["plain", "--file", "watr.md"]] {
        let ended = garden.expect(2, &[&["template", "run"][..], arguments].concat());
        assert!(ended.err.contains("watr.md (did you mean water.md?)"), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains("calls: 0"), "{arguments:?}: {}", ended.err);
    }
    // What inputs, arguments and lists fill in is known as well.
    for name in ["written", "reads", "calls"] {
        let ended = garden.expect(2, &["template", "run", name]);
        assert!(ended.err.contains("watr.md (did you mean water.md?)"), "{name}: {}", ended.err);
        assert!(ended.err.contains("calls: 0"), "{name}: {}", ended.err);
    }
    // An element of a list is looked at when its task begins, before it is sent.
    let ended = garden.expect(5, &["template", "run", "each"]);
    assert!(ended.err.contains("watr.md does not exist") && ended.err.contains("calls: 0"), "{}", ended.err);
}

const FAILS: &str = r#"[[rule]]
phase = "execute"
prompt = "Bad"
text = '{"status":"FAILED","content":"half","notes":{"reason":"llm_error"}}'
[[rule]]
phase = "execute"
text = 'Ana.'
"#;

const PARTS: &str = r#"<templates version="1">
<task type="map" name="each" items="list" on_error="collect"><description>Each</description><inputs><input name="list"/></inputs>
<body><task type="atomic"><description>Say</description><instructions>{{item}}.</instructions><allowed_tools/></task></body></task>
<task type="atomic" name="bad"><description>Bad</description><instructions>Bad.</instructions><allowed_tools/></task></templates>"#;

/// A reply in due form may say that the task failed: what is shown of it is that.
/// covers: C30, C47
#[test]
fn a_task_whose_result_is_a_failure_is_shown_as_failed() {
    let garden = garden(FAILS);
    garden.write(".callsheet/templates/parts.xml", PARTS);
    let ended = garden.expect(0, &["template", "run", "each", r#"list:=["One","Bad"]"#]);
    assert!(ended.err.contains("✓ each-1 done") && ended.err.contains("✗ each-2 failed"), "{}", ended.err);
    assert!(!ended.err.contains("✓ each-2"), "{}", ended.err);
    assert!(ended.err.contains("tasks: 1 done, 1 failed"), "{}", ended.err);
    assert!(ended.err.contains("each: 1 of 2 parts failed: each-2"), "{}", ended.err);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("[each-2] failed"), "{shown}");

    // And no provider was away: it is an ordinary failure, in true words.
    let ended = garden.expect(5, &["template", "run", "bad"]);
    assert!(!ended.err.contains("Could not reach") && !ended.err.contains("callsheet resume"), "{}", ended.err);
    assert!(ended.err.contains("read the model's explanation"), "{}", ended.err);
}

/// covers: C48
#[test]
fn tasks_of_a_template_are_not_dropped_one_by_one() {
    let garden = garden(FAILS);
    garden.write(".callsheet/templates/parts.xml", PARTS);
    garden.expect(5, &["template", "run", "bad"]);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    let ended = garden.expect(2, &["drop", &run, "bad"]);
    assert!(ended.err.contains("only failed items of a list can be"), "{}", ended.err);
}

/// covers: C7
#[test]
fn a_value_is_given_once() {
    let garden = garden(ANSWER);
    let ended = garden.expect(2, &["template", "run", "ask", "topic=a", "topic=b"]);
    assert!(ended.err.contains("topic occurs twice"), "{}", ended.err);
}

/// A part of a split may read what the failed task was shown, also where no pattern of its own names it.
/// covers: C40
#[test]
fn a_split_reads_the_files_that_its_task_was_shown() {
    let script = r#"[[rule]]
phase = "execute"
prompt = "<failed_task>"
text = '<task><description>Half</description><file_paths><path>./hives/hive-1.txt</path></file_paths></task>'
[[rule]]
phase = "execute"
prompt = "Half"
text = 'half of it'
[[rule]]
phase = "execute"
text = 'far too long for the limit that is set for it'
"#;
    let garden = garden(script);
    let big = r#"<task type="atomic" name="big"><description>Big</description><instructions>Big.</instructions>
<file_paths><path>hive-*.txt</path></file_paths><limits max_output_bytes="20"/><allowed_tools/></task>"#;
    garden.write(".callsheet/templates/big.xml", big);
    garden.write("hives/hive-1.txt", "forty bees");
    let ended = garden.expect(0, &["template", "run", "big"]);
    assert_eq!(ended.out.trim(), "half of it", "{}", ended.err);
    assert!(garden.expect(0, &["show", "--prompt", "3"]).out.contains("forty bees"));
}

/// A split may call what the library holds, although nothing of the run names it.
/// covers: C40
#[test]
fn a_split_calls_a_template_of_the_library() {
    let script = r#"[[rule]]
phase = "execute"
prompt = "<failed_task>"
text = '<call template="known"><arg name="k" value="7"/></call>'
[[rule]]
phase = "execute"
prompt = "Known 7"
text = 'seven'
[[rule]]
phase = "execute"
text = 'far too long for the limit that is set for it'
"#;
    let garden = garden(script);
    let library = r#"<templates version="1"><template name="known" params="k"><task type="atomic"><description>Known {{k}}</description>
<instructions>Known {{k}}</instructions><allowed_tools/></task></template>
<task type="atomic" name="big"><description>Big</description><instructions>Big.</instructions><limits max_output_bytes="20"/>
<allowed_tools/></task></templates>"#;
    garden.write(".callsheet/templates/known.xml", library);
    let ended = garden.expect(0, &["template", "run", "big"]);
    assert_eq!(ended.out.trim(), "seven", "{}", ended.err);
    let asked = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(asked.contains("<template>known (k): Known {{k}}</template>"), "{asked}");
    assert!(!asked.contains("<template>changelog"), "what runs scripts or may do more is not offered: {asked}");
}

/// covers: C14
#[cfg(unix)]
#[test]
fn a_path_that_is_a_link_out_of_the_project_is_told_of() {
    let garden = garden(ANSWER);
    garden.write(
        ".callsheet/templates/link.xml",
        "<task type=\"atomic\" name=\"link\"><description>A</description><instructions>B</instructions>\
         <file_paths><path>out.md</path><path>water.md</path></file_paths></task>",
    );
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("out.md"), "x").unwrap();
    std::os::unix::fs::symlink(garden.home().join("out.md"), garden.path("out.md")).unwrap();
    let ended = garden.expect(0, &["template", "check"]);
    assert!(ended.out.contains("T516") && ended.out.contains("is a link out of the project"), "{}", ended.out);
    assert_eq!(ended.out.matches("T516").count(), 1, "{}", ended.out);
}

/// What a skill runs as is ours: its author wrote nothing of it but the call.
/// covers: C47
#[test]
fn a_skill_that_fails_is_located_where_it_was_called() {
    let garden = garden("[[rule]]\nphase = \"execute\"\ntext = '{\"status\":\"FAILED\",\"content\":\"half\"}'\n");
    garden.write(
        ".callsheet/templates/calls.xml",
        "<task type=\"sequential\" name=\"calls\"><description>A</description><steps>\n\
         <call template=\"skill:read_files\"><arg name=\"what_is_needed\" value=\"Who waters?\"/></call></steps></task>",
    );
    let ended = garden.expect(5, &["template", "run", "calls"]);
    assert!(ended.err.contains(".callsheet/templates/calls.xml:2:1: calls-s0: half"), "{}", ended.err);
    assert!(!ended.err.contains("skill_call.xml") && !ended.err.contains("called at"), "{}", ended.err);
}

/// A task whose parts are done may fail all the same: it is told like a task that fails.
/// covers: C22
#[test]
fn a_task_with_parts_that_fails_by_itself_is_shown_as_failed() {
    let garden = garden(ANSWER);
    let listed = r#"<task type="sequential" name="listed"><description>List</description>
<steps><task type="atomic" id="say"><description>Say</description><instructions>Say.</instructions><allowed_tools/>
</task></steps><output_format type="json" schema="array" on_parse_failure="error"/></task>"#;
    garden.write(".callsheet/templates/listed.xml", listed);
    let ended = garden.expect(5, &["template", "run", "listed"]);
    assert!(ended.err.contains("✓ listed-say done\n✗ listed failed\n"), "{}", ended.err);
    let bars = garden.expect(0, &["show", "--timeline"]).out;
    assert!(bars.lines().filter(|bar| bar.contains("listed failed")).count() == 1, "{bars}");
    // One that fails by a part is not told twice.
    let garden = TestProject::scripted(
        "[[rule]]\nphase = \"execute\"\ntext = '{\"status\": \"FAILED\", \"content\": \"no\"}'\n",
    );
    garden.write(".callsheet/templates/listed.xml", listed);
    let ended = garden.expect(5, &["template", "run", "listed"]);
    assert!(ended.err.contains("✗ listed-say failed") && !ended.err.contains("✗ listed failed"), "{}", ended.err);
}

/// A run that waits has no result yet.
/// covers: templates 6
#[test]
fn a_template_that_waits_for_a_person_prints_nothing_on_stdout() {
    let garden = garden(ANSWER);
    let waits = r#"<task type="sequential" name="waits"><description>Wait</description><steps>
<task type="atomic" id="one"><description>One</description><instructions>Say.</instructions><allowed_tools/></task>
<task type="atomic" id="two"><description>Two</description><instructions>Say.</instructions><allowed_tools/></task>
<task type="script" id="count"><description>Count</description><command>wc -l water.md</command></task></steps></task>"#;
    garden.write(".callsheet/templates/waits.xml", waits);
    let ended = garden.expect(3, &["template", "run", "waits"]);
    assert_eq!(ended.out, "");
    assert!(ended.err.contains("Answer: callsheet approve"), "{}", ended.err);
}

/// A result in a text is what the step said; of an earlier step a model is shown what holds words, and nothing besides.
/// covers: C9, C15
#[test]
fn a_model_is_told_values_and_never_records() {
    let garden = TestProject::scripted(
        r#"[[rule]]
phase = "execute"
prompt = "Judge"
text = '''<result status="COMPLETE"><content>fine</content><notes><summary>all of it is good</summary></notes></result>'''
[[rule]]
phase = "execute"
text = "a thing"
"#,
    );
    let step = |n: usize| {
        let words = format!("Write {n:02} of the things.");
        format!(
            "<task type=\"atomic\"><description>{words}</description><instructions>{words}</instructions><allowed_tools/></task>"
        )
    };
    let sequence = |name: &str, steps: String| {
        format!(
            "<task type=\"sequential\" name=\"{name}\"><description>Do it</description><steps>{steps}</steps></task>"
        )
    };
    let asks = "<task type=\"atomic\" id=\"judge\"><description>Judge</description><instructions>Judge it.</instructions><allowed_tools/></task>\
        <task type=\"atomic\"><description>Use</description><instructions>It is {{output}}, as {{steps}} of {{step_results}} say.</instructions>\
        <inputs><input name=\"verdict\" from=\"steps.judge\"/></inputs><allowed_tools/></task>";
    let library = [sequence("thirty", (0..30).map(step).collect()), sequence("asks", asks.to_owned())].concat();
    garden.write(".callsheet/templates/told.xml", format!("<templates>{library}</templates>"));
    garden.expect(0, &["template", "run", "thirty"]);
    let (first, last) =
        (garden.expect(0, &["show", "--prompt", "1"]).out, garden.expect(0, &["show", "--prompt", "30"]).out);
    assert!(last.len() <= first.len() + 900, "{last}");
    garden.expect(0, &["template", "run", "asks"]);
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("It is fine, as {\"judge\":\"fine\"} of [\"fine\"] say."), "{prompt}");
    assert!(prompt.contains("## Previous outputs\n\njudge summary: all of it is good\n"), "{prompt}");
    assert!(prompt.contains("### verdict\n\n```text\nfine\n```"), "{prompt}");
    for word in ["metrics", "template_used", "data_sources", "COMPLETE"] {
        assert!(!prompt.contains(word), "{word} in {prompt}");
    }
}

/// What breaks a declared schema is told with its place: to the person, and to the model of the next attempt.
/// covers: C20, C21
#[test]
fn a_schema_that_is_not_met_is_told_with_its_place() {
    let garden = TestProject::scripted(
        r#"[[rule]]
phase = "execute"
prompt = "Count"
text = '{"rows": [{"n": 1}, {"n": "two"}]}'
[[rule]]
phase = "execute"
text = "It is four."
"#,
    );
    let task = |name: &str, format: &str| {
        format!(
            "<task type=\"atomic\" name=\"{name}\"><description>{name}</description><instructions>Go.</instructions>{format}<allowed_tools/></task>"
        )
    };
    let schema = r#"<output_format type="json">{"type": "object", "properties": {"rows": {"items": {"properties": {"n": {"type": "number"}}}}}}</output_format><recovery attempts="2"/>"#;
    let json = r#"<output_format type="json"/>"#;
    let library =
        [task("Count", schema), task("Prose", r#"<output_format type="json" schema="object"/>"#), task("Free", json)];
    garden.write(".callsheet/templates/told.xml", format!("<templates>{}</templates>", library.concat()));
    let ended = garden.expect(5, &["template", "run", "Count"]);
    let violation = "/rows/1/n: \"two\" is not of type \"number\"";
    assert!(ended.err.contains(violation), "{}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains(violation), "{prompt}");
    assert!(
        prompt.contains("\n\n```json\n{\"type\":\"object\""),
        "the contract stands in a fence of its own: {prompt}"
    );
    let ended = garden.expect(5, &["template", "run", "Prose"]);
    assert!(ended.err.contains("text instead of json"), "{}", ended.err);
    let ended = garden.expect(0, &["template", "run", "Free"]);
    assert!(ended.out.contains("It is four.") && ended.err.contains("it is used as text"), "{}", ended.err);
}

/// Two handlers of one model, and once the word that nobody told its window, with the setting that does.
/// covers: C33
#[test]
fn a_window_that_is_guessed_is_told_once() {
    let mut garden = garden(ANSWER);
    let part =
        "<task type=\"atomic\"><description>Look</description><instructions>Say.</instructions><allowed_tools/></task>";
    let two = format!(
        "<task type=\"sequential\" name=\"two\"><description>Two</description><steps>{part}{part}</steps></task>"
    );
    garden.write(".callsheet/templates/two.xml", two);
    let ended = garden.expect(0, &["template", "run", "two"]);
    assert_eq!(ended.err.matches("assume 8192 tokens").count(), 1, "{}", ended.err);
    assert_eq!(ended.err.matches("set providers.scripted.window").count(), 1, "{}", ended.err);
    garden.follow_text(&format!("{ANSWER}[model]\nwindow = 9000\n"));
    let ended = garden.expect(0, &["template", "run", "two"]);
    assert!(!ended.err.contains("providers.scripted.window"), "{}", ended.err);
}

/// covers: T 5, C14
#[test]
fn files_that_the_text_names_and_files_given_as_values_are_read() {
    let garden = garden(ANSWER);
    garden.write("notes/bees.md", "The bees sleep.\n");
    garden.write("water.md", "Ana waters.\n");
    let library = r#"<templates version="1">
<task name="plain"><description>Answer</description><instructions>Say.</instructions></task>
<task name="fixed"><description>Answer</description><instructions>Say.</instructions>
<file_paths><path>water.md</path></file_paths></task>
<template name="reads" params="f:string"><task><description>R</description><file_paths><path>{{f}}</path></file_paths></task></template>
<template name="quotes" params="f:string"><task><description>Q {{f}}</description></task></template></templates>"#;
    garden.write(".callsheet/templates/reads.xml", library);
    let prompt = |arguments: &[&str]| {
        garden.expect(0, &[&["template", "run"][..], arguments].concat());
        garden.expect(0, &["show", "--prompt", "1"]).out
    };
    assert!(prompt(&["plain", "What does notes/bees.md say?"]).contains("The bees sleep."));
    assert!(prompt(&["fixed", "What does notes/bees.md say?"]).contains("Ana waters."), "the template keeps its files");
    let file = garden.path("notes/bees.md");
    for value in ["f=@notes/bees.md", "f=notes/bees.md", &format!("f=@{}", file.display())] {
        let prompt = prompt(&["reads", value]);
        assert!(prompt.contains("### notes/bees.md") && prompt.contains("The bees sleep."), "{value}: {prompt}");
    }
    assert!(prompt(&["quotes", "f=@notes/bees.md"]).contains("Q The bees sleep."));
}

/// A writer that comes later makes no file that an earlier task reads.
///
/// covers: T 5, C14
#[test]
fn a_missing_file_of_a_list_stops_a_template_that_writes_only_later() {
    let garden = garden(ANSWER);
    garden.write("water.md", "Ana waters.\n");
    let note = |id: &str, file: &str, tools: &str| {
        let paths = format!("<file_paths><path>{file}</path></file_paths><allowed_tools>{tools}</allowed_tools>");
        format!(r#"<task id="{id}"><description>{id}</description><instructions>Say.</instructions>{paths}</task>"#)
    };
    let write = "<tool>write_file</tool>";
    let list = |tools: &str| {
        let body = note("note", "{{file}}", tools);
        format!(
            r#"<task type="map" id="each" items="files" as="file"><description>E</description><body>{body}</body></task>"#
        )
    };
    let template = |name: &str, steps: &[String]| {
        let steps = steps.concat();
        format!(
            r#"<template name="{name}" params="files"><task type="sequential"><description>S</description><steps>{steps}</steps></task></template>"#
        )
    };
    let last = note("last", "water.md", write);
    let templates = template("later", &[list(""), last.clone()])
        + &template("before", &[last, list("")])
        + &template("itself", &[list(write)]);
    garden.write(".callsheet/templates/t.xml", format!("<templates version=\"1\">{templates}</templates>"));
    let run = |name: &str, files: &str| garden.call(&["template", "run", name, files, "--approval", "never"]);
    let ended = run("later", r#"files:=["water.md", "wataer.md"]"#);
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(
        ended.err.contains("No file or folder of the project: wataer.md (did you mean water.md?)"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("- model calls: 0"), "{}", ended.err);
    for name in ["before", "itself"] {
        assert_eq!(run(name, r#"files:=["water.md", "wataer.md"]"#).code, 0, "{name}: it may make the file");
    }
    let ended = run("later", "files=water.md");
    assert!(
        ended.code == 2 && ended.err.contains("files (a list of at least one file wanted, no list given)"),
        "{}",
        ended.err
    );
}
