//! Templates that tasks of a sheet call, beside each other: who writes when, whose time is over, and whom a person means.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::garden::TestProject;

/// The refinement of a task by its name: a call of a template with a value.
fn refined(name: &str, template: &str, value: &str) -> String {
    format!(
        "[[rule]]\nphase = 'refine'\nprompt = 'do {name}'\ntext = \"\"\"\n## Task\n- **What is needed** x\n## Tool Calls\n\
         ```json\n{{\\\"name\\\": \\\"{template}\\\", \\\"arguments\\\": {{\\\"q\\\": \\\"{value}\\\"}}}}\n```\n\"\"\"\n"
    )
}

/// A sheet of one section: tasks by name, template and value.
fn garden(templates: &[(&str, &str)], tasks: &[(&str, &str, &str)]) -> TestProject {
    let script: String = tasks.iter().map(|(name, template, value)| refined(name, template, value)).collect();
    let garden = TestProject::scripted(&script);
    for (name, body) in templates {
        let text = format!("<template name=\"{name}\" params=\"q\">{body}</template>");
        garden.write(&format!(".callsheet/templates/{name}.xml"), text);
    }
    let task = |(name, template, _): &(&str, &str, &str)| {
        format!(
            "- **Name** {name}\n- **What is needed** do {name}\n- **Skill** {template}\n- **Expected output** x\n\n"
        )
    };
    let tasks: String = tasks.iter().map(task).collect();
    garden.write("w.md", format!("## Goals / summary\nTell.\n## Tasks\n### Task section 1\n{tasks}"));
    garden
}

fn script(attributes: &str, line: &str) -> String {
    format!("<task type=\"script\" {attributes}><description>T</description><command>sh -c \"{line}\"</command></task>")
}

const RUN: [&str; 5] = ["run", "--sheet", "w.md", "--set", "iterate=never"];

fn run_with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.into_iter().chain(more.iter().copied()).collect()
}

fn newest(garden: &TestProject) -> String {
    let shown = garden.expect(0, &["show"]).out;
    shown.split("Run ").nth(1).and_then(|rest| rest.split(':').next()).unwrap().to_owned()
}

/// Ends when the file `go` is there, or in two minutes.
const HOLDING: &str = "for i in $(seq 1200); do if test -e go; then break; fi; sleep 0.1; done";

fn started(garden: &TestProject, arguments: &[&str]) -> Child {
    garden.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for something that another process does; far longer than it takes.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what} never came");
        std::thread::sleep(Duration::from_millis(50));
    }
}

const TOUCHING: &str =
    r#"<task type="script"><description>Touch</description><command>touch made-{{q}}</command></task>"#;

/// covers: C51
#[test]
fn c51_writers_of_several_templates_never_run_beside_each_other() {
    let alone = script("", "mkdir busy || touch overlapped; sleep 0.4; rmdir busy; touch made-$0")
        .replace("</command>", " {{q}}</command>");
    let tasks = [("Alpha", "tell", "1"), ("Beta", "tell", "2"), ("Gamma", "tell", "3")];
    let garden = garden(&[("tell", &alone)], &tasks);
    garden.expect(0, &run_with(&["--headless", "approve"]));
    assert!(garden.path("made-1").exists() && garden.path("made-2").exists() && garden.path("made-3").exists());
    assert!(!garden.path("overlapped").exists(), "two writers ran beside each other");
}

/// A list of tasks says which are approved, with all that waits in the templates they call; tasks of a template are named
/// with the task that calls it.
///
/// covers: C49, C51
#[test]
fn c51_names_that_answer_beforehand_hold_for_called_templates() {
    let tasks = [("Tell", "tell", "1"), ("Other", "tell", "2")];
    for (named, made) in [("tell", [true, false]), ("other/tell", [false, true]), ("other", [false, true])] {
        let garden = garden(&[("tell", TOUCHING)], &tasks);
        garden.expect(3, &run_with(&["--approval", "before-apply", "--headless", named]));
        assert_eq!([garden.path("made-1").exists(), garden.path("made-2").exists()], made, "{named}");
    }
    let garden = garden(&[("tell", TOUCHING)], &tasks);
    garden.expect(0, &run_with(&["--headless", "tell,other"]));
    assert!(garden.path("made-1").exists() && garden.path("made-2").exists());
    garden.expect(2, &run_with(&["--headless", "tell/"]));
}

const WAITING: &str = "test -e go || sleep 600; echo done";

/// A process that the end of the run's time cuts has no result: with more time it is started again.
///
/// covers: C34, C48
#[test]
fn c34_a_script_that_the_time_of_the_run_cuts_is_started_again() {
    let reading = script("effects=\"read\"", WAITING);
    let tasks = [("Alpha", "tell", "1"), ("Beta", "tell", "2")];
    for template in [true, false] {
        let garden = garden(&[("tell", &reading)], &tasks);
        let first = run_with(&["--set", "limits.run_timeout_seconds=1"]);
        let plain = ["template", "run", "tell", "q=1", "--set", "limits.run_timeout_seconds=1"];
        let ended = garden.expect(6, if template { &plain } else { &first });
        assert!(
            ended.err.contains("--set limits.run_timeout_seconds=N") && !ended.err.contains("failed"),
            "{}",
            ended.err
        );
        garden.write("go", "");
        let ended = garden.expect(0, &["resume", "--set", "limits.run_timeout_seconds=500"]);
        assert!(ended.out.contains("done"), "{}", ended.out);
    }
}

/// One that may have changed something is treated like one whose process was killed: a gate asks whether to run it again.
///
/// covers: C34, C51
#[test]
fn c34_a_writing_script_that_the_time_of_the_run_cuts_is_not_started_again() {
    let writing = script("", "echo begun >> log; test -e go || sleep 600");
    let garden = garden(&[("tell", &writing)], &[]);
    garden.expect(
        6,
        &["template", "run", "tell", "q=1", "--set", "limits.run_timeout_seconds=1", "--headless", "approve"],
    );
    garden.write("go", "");
    let ended = garden.expect(3, &["resume", "--set", "limits.run_timeout_seconds=500", "--headless", "stop"]);
    assert!(
        ended.err.contains("this call was started and never finished; tell wants to make it again"),
        "{}",
        ended.err
    );
    assert_eq!(garden.read("log"), "begun\n");
    garden.expect(5, &["deny", "--resume"]);
    assert_eq!(garden.read("log"), "begun\n");
}

/// An answer for a task of a template is taken while another task works.
///
/// covers: C46, C49
#[test]
fn c49_an_answer_in_a_template_is_taken_while_others_work() {
    let holding = script("effects=\"read\"", HOLDING);
    let tasks = [("Alpha", "tell", "1"), ("Beta", "hold", "2")];
    let garden = garden(&[("tell", TOUCHING), ("hold", &holding)], &tasks);
    let mut running = started(&garden, &run_with(&["--approval", "before-apply"]));
    until("the gate", || garden.call(&["show"]).out.contains("alpha/tell wants"));
    let run = newest(&garden);
    garden.expect(0, &["approve", &run, "alpha"]);
    until("the work", || garden.path("made-1").exists());
    garden.write("go", "");
    assert_eq!(running.wait().unwrap().code(), Some(0));
}

/// Calls of one node that wait at once are shown as one question, and `--all` answers them.
/// covers: T 8
#[test]
fn equal_calls_of_one_node_are_one_question_and_are_approved_at_once() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"Ana.\"\n");
    let library = r#"<task type="map" name="each" items="list"><description>Tell each</description><inputs><input name="list"/></inputs>
<body><task type="script"><description>Tell {{item}}</description><command>echo {{item}}</command></task></body></task>"#;
    garden.write(".callsheet/templates/each.xml", library);
    garden.expect(3, &["template", "run", "each", r#"list:=["bees","ants","moths"]"#]);
    let shown = garden.expect(0, &["show"]).out;
    assert_eq!(shown.matches("Waiting at gate").count(), 1, "{shown}");
    assert!(shown.contains("each-1 and 2 more want to make these calls"), "{shown}");
    assert!(shown.contains("bees") && shown.contains("ants") && shown.contains("moths"), "{shown}");
    let ended = garden.expect(2, &["approve", &run_of(&garden), "each-9"]);
    assert!(ended.err.contains("pending: each-1, each-2, each-3"), "{}", ended.err);
    garden.expect(0, &["approve", "--all"]);
    let ended = garden.expect(0, &["resume"]);
    assert!(ended.out.contains("bees") && ended.out.contains("moths"), "{}", ended.out);
}

fn run_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}
