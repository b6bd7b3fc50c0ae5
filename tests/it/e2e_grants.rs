//! What a person allows for longer than one answer: given, listed, used at a gate, and revoked.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::e2e_sandbox::holds;
use crate::support::garden::{TestProject, json_lines};
use crate::support::terminal::{at_terminal, exit_code, rest};
use expectrl::Expect;

/// A loop that makes these calls of `run_command`, one a turn, and ends.
pub fn garden(calls: &[&str]) -> TestProject {
    let mut garden = TestProject::bare();
    garden.write(
        ".callsheet/skills/try_it.md",
        "---\nname: try_it\ndescription: Tries it. Use it for trials.\ntools: [run_command]\nmode: loop\n---\nSay what.\n---\nTry it.\n",
    );
    garden.write("work.md", "## Goals / summary\nTry.\n## Tasks\n### Task section 1\n- **Name** Try\n- **What is needed** Try it.\n- **Skill** try_it\n- **References** [Water](water.md)\n- **Expected output** What came.\n");
    follow(&mut garden, calls);
    garden
}

/// From here on the model makes these calls, and ends. Each process begins with the first one.
pub fn follow(garden: &mut TestProject, calls: &[&str]) {
    let replies: String = calls
        .iter()
        .map(|command| {
            format!("[[rule.reply]]\ncalls = [{{ name = 'run_command', arguments = {{ command = {command} }} }}]\n")
        })
        .collect();
    let last = "[[rule.reply]]\ntext = '''\n## Result summary\nIt came.\n'''\n";
    garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n{replies}{last}"));
}

pub const RUN: &[&str] = &["run", "--sheet", "work.md", "--approval", "before-apply"];

/// Where the answers to gates came from.
fn answered_by(garden: &TestProject) -> Vec<String> {
    let answers = garden.facts().into_iter().filter(|fact| fact["event"] == "gate_answered");
    answers.map(|fact| fact["by"].as_str().unwrap_or_default().to_owned()).collect()
}

/// covers: 11.14
#[test]
fn a_granted_command_runs_unasked_until_the_grant_is_revoked() {
    if !holds() {
        return;
    }
    let mut garden = garden(&["['touch', 'a']", "['touch', 'a', 'b']", "'touch a;'"]);
    garden.expect(0, &["grants", "add", "command", "touch", "a"]);
    let ended = garden.expect(3, RUN);
    assert!(ended.err.contains("grant 1 allows this command, so you are not asked: touch a b"), "{}", ended.err);
    assert!(garden.path("a").exists() && garden.path("b").exists());
    assert_eq!(answered_by(&garden), ["grant", "grant"], "the line for the shell is another command");
    garden.expect(0, &["grants", "revoke", "1"]);
    garden.expect(0, &["approve"]);
    follow(&mut garden, &["['touch', 'a', 'c']"]);
    garden.expect(3, &["resume"]);
    assert_eq!(answered_by(&garden), ["grant", "grant", "command"]);
    assert!(!garden.path("c").exists(), "nothing allows it any more");
    // A grant that is given while the run waits counts when it goes on.
    garden.expect(0, &["grants", "add", "--everywhere", "command", "touch", "a"]);
    follow(&mut garden, &[]);
    garden.expect(0, &["resume"]);
    assert!(garden.path("c").exists());
    let report = garden.expect(0, &["report", "--format", "html", "-o", "-"]).out;
    assert!(report.contains("in advance, by a grant"), "{report}");
}

/// covers: 11.14
#[test]
fn always_at_a_gate_grants_what_the_person_says_and_nothing_if_they_say_nothing() {
    if !holds() {
        return;
    }
    let garden = garden(&["['touch', 'a', 'b']", "['touch', 'a', 'c']", "['touch', 'd']"]);
    let mut run = RUN.to_vec();
    run.push("--plain");
    let mut terminal = at_terminal(garden.command(&run));
    terminal.expect("[a] always allow").unwrap();
    terminal.send_line("a").unwrap();
    terminal.expect("With how many of these words").unwrap();
    terminal.send_line("").unwrap();
    terminal.expect("[a] always allow").unwrap();
    assert!(!garden.path("b").exists() && !garden.home().join("state/grants.json").exists());
    terminal.send_line("a").unwrap();
    terminal.expect("3 b").unwrap();
    terminal.send_line("2").unwrap();
    terminal.expect("grant 1: command touch a").unwrap();
    terminal.expect("[y] yes").unwrap();
    assert!(garden.path("b").exists() && garden.path("c").exists() && !garden.path("d").exists());
    terminal.send_line("y").unwrap();
    rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0);
    assert_eq!(answered_by(&garden), ["terminal", "grant", "terminal"]);
}

/// covers: 11.14
#[test]
fn approve_always_grants_the_pending_command() {
    if !holds() {
        return;
    }
    let mut garden = garden(&["['touch', 'a', 'b']"]);
    garden.expect(3, RUN);
    let ended = garden.expect(2, &["approve", "--always=4"]);
    assert!(ended.err.contains("has 3 words: touch a b"), "{}", ended.err);
    assert_eq!(answered_by(&garden).len(), 0);
    let ended = garden.expect(0, &["approve", "--always=2"]);
    assert!(ended.err.contains("grant 1: command touch a …"), "{}", ended.err);
    follow(&mut garden, &["['touch', 'a', 'c']"]);
    garden.expect(0, &["resume"]);
    assert_eq!(answered_by(&garden), ["command", "grant"]);
}

/// covers: 11.14
#[test]
fn a_grant_counts_from_the_next_command_of_its_run_on() {
    if !holds() {
        return;
    }
    let garden =
        garden(&["'echo one-$MY_PLACE'", "'echo two-$MY_PLACE; echo new > AGENTS.md'", "'echo three-$MY_PLACE'"]);
    let mut run = RUN.to_vec();
    run.push("--plain");
    let mut command = garden.command(&run);
    command.env("MY_PLACE", "valley");
    let mut terminal = at_terminal(command);
    terminal.expect("[y] yes").unwrap();
    terminal.send_line("y").unwrap();
    terminal.expect("[y] yes").unwrap();
    let name = garden.facts().iter().find_map(|fact| fact["run"].as_str().map(str::to_owned)).unwrap();
    garden.expect(0, &["grants", "add", "protected", "AGENTS.md"]);
    garden.expect(0, &["grants", "add", "--run", &name, "--task", "try", "variable", "MY_PLACE"]);
    let listed = garden.expect(0, &["grants"]).out;
    assert!(listed.contains("variable MY_PLACE, in ") && listed.contains(&format!("run {name}, task try")), "{listed}");
    terminal.send_line("y").unwrap();
    terminal.expect("[y] yes").unwrap();
    garden.expect(0, &["grants", "revoke", "2"]);
    terminal.send_line("y").unwrap();
    rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0);
    let told = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(told.contains("one-\n") && told.contains("two-valley") && told.contains("three-\n"), "{told}");
    assert_eq!(std::fs::read_to_string(garden.path("AGENTS.md")).unwrap(), "new\n");
}

/// covers: 11.14
#[test]
fn grants_let_commands_do_more_and_are_listed_with_where_they_come_from() {
    if !holds() {
        return;
    }
    let garden = garden(&["'echo $MY_PLACE; cat ../beside/note; echo kept > ../cache/file'"]);
    let beside = |name: &str| garden.project().parent().unwrap().join(name);
    for name in ["beside", "cache", "home"] {
        std::fs::create_dir_all(beside(name)).unwrap();
    }
    std::fs::write(beside("beside").join("note"), "a note\n").unwrap();
    std::fs::write(garden.home().join("config.toml"), "[tools]\nhosts = ['crates.io']\n").unwrap();
    garden.expect(0, &["grants", "add", "variable", "MY_PLACE"]);
    garden.expect(0, &["grants", "add", "read", "../beside"]);
    garden.expect(0, &["grants", "add", "write", beside("cache").to_str().unwrap(), "--for", "8h"]);
    garden.expect(0, &["grants", "add", "host", "*.npmjs.org", "--everywhere", "--for", "1ns"]);
    let mut command = garden.command(&["run", "--sheet", "work.md", "--approval", "never"]);
    assert!(command.env("MY_PLACE", "the valley").output().unwrap().status.success());
    let told = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(told.contains("the valley") && told.contains("a note"), "{told}");
    assert_eq!(std::fs::read_to_string(beside("cache").join("file")).unwrap(), "kept\n");

    let listed = garden.expect(0, &["grants"]).out;
    for words in [
        "1  variable MY_PLACE, in ",
        "cache, in ",
        "UTC",
        "host *.npmjs.org, everywhere, ended ",
        "host crates.io, everywhere (setting tools.hosts, ",
    ] {
        assert!(listed.contains(words), "{words} is missing: {listed}");
    }
    let values = json_lines(&garden.expect(0, &["grants", "--json"]).out);
    let ended: Vec<&Value> = values.iter().filter(|value| value["ended"] == true).collect();
    assert_eq!((values.len(), ended.len()), (5, 1));
    assert_eq!(ended[0]["what"]["host"], "*.npmjs.org");
    let file = garden.home().join("state/grants.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

/// covers: 11.14
#[test]
fn what_cannot_be_granted_is_refused_with_a_reason() {
    let garden = TestProject::bare();
    std::fs::create_dir_all(garden.home()).unwrap();
    let home = garden.home();
    let home = home.to_str().unwrap();
    for (arguments, words) in [
        (&["add", "host", "https://crates.io/"][..], "is not a host"),
        (&["add", "host", "crates.io; rm"], "is not a host"),
        (&["add", "write", home], "can't be allowed to write to"),
        (&["add", "write", "/"], "can't be allowed to write to"),
        (&["add", "read", "not-there"], "can't use"),
        (&["add", "protected", ".callsheet/config.toml"], "can't be allowed to change"),
        (&["add", "protected", "."], "can't be allowed to change"),
        (&["add", "protected", "../AGENTS.md"], "can't be allowed to change"),
        (&["add", "variable", "A", "--run", "lost-run"], "there are no runs"),
        (&["add", "variable", "A=b"], "is not the name of a variable"),
        (&["add", "variable", "OPENAI_API_KEY"], "contains the key of a provider"),
        (&["revoke", "7"], "there is no grant 7"),
    ] {
        let ended = garden.expect(2, &[&["grants"], arguments].concat());
        assert!(ended.err.contains(words), "{arguments:?}: {}", ended.err);
    }
    assert!(garden.expect(0, &["grants"]).err.contains("nothing is granted"));
    std::fs::create_dir_all(garden.home().join("state")).unwrap();
    std::fs::write(garden.home().join("state/grants.json"), "[{").unwrap();
    for arguments in [&["grants"][..], &["grants", "add", "host", "crates.io"]] {
        let ended = garden.expect(1, arguments);
        assert!(ended.err.contains("no grant is valid"), "{}", ended.err);
    }
    assert_eq!(std::fs::read_to_string(garden.home().join("state/grants.json")).unwrap(), "[{");
}

/// covers: 11.14
#[test]
fn one_answer_allows_the_script_of_all_items_of_a_map_and_no_other_script() {
    if !holds() {
        return;
    }
    let garden = TestProject::bare();
    garden.write(
        ".callsheet/templates/files.yaml",
        "template: files\nabout: Make files\ninputs:\n  names: {type: \"string[]\"}\ntasks:\n  - made:\n      each: name in names\n      at_once: 2\n      run: [touch, \"{{name}}\"]\n  - last:\n      run: [touch, last]\n",
    );
    garden.expect(0, &["trust", "--yes"]);
    let asked = garden.expect(3, &["template", "run", "files", r#"names=["a", "b", "c", "d", "e"]"#]);
    assert!(!garden.path("a").exists(), "{}", asked.err);
    let ended = garden.expect(3, &["approve", "--always", "--resume"]);
    assert!(ended.err.contains("grant 1: script by "), "{}", ended.err);
    for name in ["a", "b", "c", "d", "e"] {
        assert!(garden.path(name).exists(), "{name}: {}", ended.err);
    }
    assert!(!garden.path("last").exists(), "another script asks by itself");
    let listed = garden.expect(0, &["grants"]).out;
    assert!(listed.contains("script, in ") && listed.contains(", run "), "{listed}");
    garden.expect(0, &["approve", "--resume"]);
    assert!(garden.path("last").exists());
}

/// covers: 11.14
#[test]
fn one_answer_approves_all_changes_of_a_task_and_its_items() {
    let change = |name: &str| {
        format!(
            "[[rule]]\nprompt = \"words in {name}\"\ntext = \"## Change details\\n- **file_path** {name}\\n```\\nOld.\\n```\\n```\\nNew.\\n```\\n## Result summary\\nFixed.\"\n"
        )
    };
    let files = ["notes/a.md", "notes/b.md", "notes/c.md", "notes/AGENTS.md"];
    let garden = TestProject::scripted(&files.map(change).concat());
    files.iter().for_each(|file| garden.write(file, "Old.\n"));
    garden.write(
        "work.md",
        "## Goals / summary\nFixed.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Fix\n- **What is needed** Fix the words in {file}.\n- **Skill** edit_document\n- **For each** file in [Notes](notes/)\n- **Expected output** A change.\n",
    );
    let asked = garden.expect(3, &["run", "--sheet", "work.md", "--approval", "before-apply", "--set", "jobs=1"]);
    assert!(asked.err.contains("The same for all later changes of these tasks"), "{}", asked.err);
    let runs = json_lines(&garden.expect(0, &["runs", "--json"]).out);
    let run = runs[0]["run"].as_str().unwrap();
    let refused = garden.expect(2, &["approve", run, "fix", "--always=2"]);
    assert!(refused.err.contains("has no such words"), "{}", refused.err);
    let ended = garden.expect(3, &["approve", run, "fix/notes-a-md", "--always", "--resume"]);
    assert!(ended.err.contains("grant 1: changes ** by fix/notes-a-md in this run"), "{}", ended.err);
    assert_eq!(garden.read("notes/b.md"), "Old.\n");
    garden.expect(0, &["grants", "add", "changes", "**", "--run", run, "--task", "fix"]);
    let ended = garden.expect(3, &["resume"]);
    assert!(ended.err.contains("grant 2 allows these changes, so you are not asked: notes/c.md"), "{}", ended.err);
    assert_eq!([garden.read("notes/b.md"), garden.read("notes/c.md")], ["New.\n", "New.\n"], "{}", ended.err);
    // A change of what models are told waits for an answer of its own.
    assert_eq!(garden.read("notes/AGENTS.md"), "Old.\n", "{}", ended.err);
    garden.expect(0, &["approve", "--resume"]);
    assert_eq!(garden.read("notes/AGENTS.md"), "New.\n");
}

/// covers: 11.14
#[test]
fn patterns_of_changes_are_checked_and_a_script_needs_its_task() {
    let garden = TestProject::bare();
    garden.expect(0, &["grants", "add", "changes", "docs/**/*.md"]);
    for (words, told) in [
        (&["changes", "/etc/*"][..], "is no path below the project"),
        (&["changes", "a[b"], "is no pattern of files"),
        (&["script"], "a script is allowed for one task of a run"),
    ] {
        let refused = garden.expect(2, &[&["grants", "add"], words].concat());
        assert!(refused.err.contains(told), "{}", refused.err);
    }
}

/// A grant of a script at one call of a template does not cover another call of it.
///
/// covers: 11.14
#[test]
fn a_script_that_is_allowed_at_one_call_asks_at_another() {
    if !holds() {
        return;
    }
    let garden = TestProject::bare();
    let two = "template: two\nabout: Twice\ninputs: {other:}\ntasks:\n  - first: {call: one, with: {file: a}}\n  - second: {call: one, with: {file: \"{{other}}\"}}\n";
    garden.write(
        ".callsheet/templates/one.yaml",
        "template: one\nabout: Once\ninputs: {file:}\nrun: [touch, \"{{file}}\"]\n",
    );
    garden.write(".callsheet/templates/two.yaml", two);
    garden.expect(0, &["trust", "--yes"]);
    garden.expect(3, &["template", "run", "two", "other=b"]);
    let ended = garden.expect(3, &["approve", "--always", "--resume"]);
    assert!(garden.path("a").exists() && !garden.path("b").exists(), "{}", ended.err);
}
