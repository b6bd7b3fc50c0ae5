//! Calls of templates that a sheet made and that ended early: limits that are raised, parts that failed, what a person may
//! do about one of them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const SCRIPT: &str = "[[rule]]\nphase = \"execute\"\nprompt = \"Weigh moths\"\ntext = \"No figure.\"\n\
    [[rule]]\nphase = \"execute\"\ntext = '''\n```json\n{\"grams\": 3}\n```\n'''\n";

/// A map over three names, with these attributes and limits.
fn weigh(attributes: &str, limits: &str) -> String {
    format!(
        "<task type=\"map\" name=\"weigh\" items=\"list\" max_parallel=\"1\" {attributes}><description>Weigh all</description>\
         {limits}<inputs><input name=\"list\">[\"bees\", \"ants\", \"moths\"]</input></inputs><body><task>\
         <description>Weigh {{{{item}}}}</description><output_format type=\"json\">{{\"type\": \"object\"}}</output_format><allowed_tools/>\
         <recovery reparse=\"false\"/></task></body></task>"
    )
}

fn garden(template: &str, script: &str) -> TestProject {
    let garden = TestProject::scripted(script);
    garden.write(".callsheet/templates/weigh.xml", template);
    let sheet = "## Goals / summary\nKnow.\n## Tasks\n### Task section 1\n- **Name** Alpha\n- **What is needed** The weights.\n\
        - **Skill** weigh\n- **Expected output** Figures.\n";
    garden.write("work.md", sheet);
    garden
}

fn run_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

const GOOD: &str = "[[rule]]\nphase = \"execute\"\ntext = '''\n```json\n{\"grams\": 3}\n```\n'''\n";

/// Limits that are raised in the file of a template count for the call of a sheet: it continues with what it has.
/// covers: T 9, 2.18
#[test]
fn a_raised_limit_continues_the_call_of_a_sheet() {
    for command in ["retry", "resume"] {
        let garden = garden(&weigh("", "<limits max_calls=\"1\"/>"), GOOD);
        garden.expect(5, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
        garden.write(".callsheet/templates/weigh.xml", weigh("", "<limits max_calls=\"9\"/>"));
        let ended = garden.expect(0, &[command, &run_of(&garden)]);
        assert!(ended.err.contains("weigh.xml changed and applies"), "{command}: {}", ended.err);
        assert!(!ended.err.contains("no longer be retried"), "{command}: {}", ended.err);
        assert_eq!(garden.count("reply_received"), 3, "{command}: no finished call is made again");
    }
}

/// A part that failed and was collected is done again, and the call and its task with it.
/// covers: 10.8, T 15
#[test]
fn a_collected_failure_is_retried() {
    let mut garden = garden(&weigh("on_error=\"collect\"", ""), SCRIPT);
    garden.expect(0, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    let run = run_of(&garden);
    let why = garden.expect(0, &["show", "--why", "alpha/weigh-3"]).out;
    assert!(why.contains("failed") && why.contains(&format!("callsheet retry {run} alpha/weigh-3")), "{why}");
    garden.follow_text(GOOD);
    let calls = garden.count("reply_received");
    garden.expect(0, &["retry", &run, "alpha/weigh-3"]);
    assert_eq!(garden.count("reply_received"), calls + 1, "nothing else is asked");
    let result = garden.run_file("tasks/alpha.md");
    assert!(!result.contains("null"), "{result}");
}

/// A task of a template is not taken off the list of the sheet by itself.
/// covers: 2.18 drop
#[test]
fn a_part_of_a_call_is_not_dropped() {
    let garden = garden(&weigh("", "<limits max_calls=\"1\"/>"), GOOD);
    garden.expect(5, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    let ended = garden.expect(2, &["drop", &run_of(&garden), "alpha/weigh"]);
    assert!(ended.err.contains("alpha/weigh can't be removed"), "{}", ended.err);
    assert!(ended.err.contains("remove what it is a part of: callsheet drop"), "{}", ended.err);
}

/// A call that was never sent, since a file is missing, is none.
/// covers: T 9
#[test]
fn a_call_for_a_missing_file_is_no_call() {
    let garden = TestProject::scripted(GOOD);
    let template = "<task name=\"look\" ><description>Look</description><inputs><input name=\"file\"/></inputs>\
        <file_paths><path>{{file}}</path></file_paths><allowed_tools/></task>";
    garden.write(".callsheet/templates/look.xml", template);
    let ended = garden.expect(2, &["template", "run", "look", "file=nothing.md"]);
    assert!(ended.err.contains("No file or folder of the project: nothing.md"), "{}", ended.err);
    assert!(ended.err.contains("- model calls: 0"), "{}", ended.err);
}

/// The critical path of tasks in order is as long as all of them.
/// covers: 2.14
#[test]
fn the_critical_path_of_tasks_in_order_is_their_sum() {
    let slow = GOOD.replace("text =", "delay_ms = 150\ntext =");
    let garden = TestProject::scripted(&slow);
    let one = |id: &str| format!("<task id=\"{id}\"><description>{id}</description><allowed_tools/></task>");
    let steps = format!("<steps>{}{}</steps>", one("first"), one("second"));
    let template = format!("<task type=\"sequential\" name=\"both\"><description>Both</description>{steps}</task>");
    garden.write(".callsheet/templates/both.xml", template);
    let ended = garden.expect(0, &["template", "run", "both"]);
    assert!(ended.err.contains("; critical path "), "{}", ended.err);
    let shown = crate::support::garden::json_lines(&garden.expect(0, &["show", "--json"]).out).remove(0);
    assert!(shown["summary"]["ideal_ms"].as_u64().unwrap() >= 300, "{}", shown["summary"]);
}
