//! Messages that name what is wrong and a next step that works.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const SHEET: &str = "## Goals / summary\nDone.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Look\n\
    - **What is needed** Look at a.md.\n- **Skill** look_here\n- **References** [A](a.md)\n- **Expected output** A line.\n";

/// A skill that waits for trust is not called missing.
///
/// covers: 7.7, 12.7
#[test]
fn an_untrusted_skill_is_not_called_missing() {
    let garden = TestProject::scripted("[default]\ntext = \"Fine.\"\n");
    garden.write("a.md", "A.\n");
    garden.write("work.md", SHEET);
    let skill = "---\ndescription: Looks.\ntools: run_command\n---\n# Look\n## Instructions\nLook.\n";
    garden.plant(".callsheet/skills/look_here.md", skill);
    let checked = garden.expect(2, &["sheet", "check", "work.md"]);
    assert!(
        checked.out.contains("the skill \"look_here\" of this project exists but is not trusted yet"),
        "{}",
        checked.out
    );
    assert!(checked.out.contains("callsheet trust"), "{}", checked.out);
}

/// A report whose form its file name does not say is not written.
///
/// covers: 14.6
#[test]
fn a_report_with_an_unknown_extension_is_refused() {
    let garden = TestProject::scripted("[default]\ntext = \"Fine.\"\n");
    garden.write("a.md", "A.\n");
    garden.write("work.md", SHEET.replace("look_here", "read_files"));
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let refused = garden.expect(2, &["report", "-o", "out.pdf"]);
    assert!(refused.err.contains("no form of a report is called .pdf"), "{}", refused.err);
    assert!(!garden.path("out.pdf").exists());
    garden.expect(0, &["report", "-o", "out.pdf", "--format", "html"]);
}

/// Commands in advice are for the project that the command named.
///
/// covers: 11.23
#[test]
fn advice_names_the_project() {
    let garden = TestProject::scripted("[default]\ntext = \"Fine.\"\n");
    garden.write("a.md", "A.\n");
    garden.write("work.md", SHEET.replace("look_here", "read_files"));
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let refused = garden.expect(2, &["-C", ".", "fork", "nope"]);
    assert!(refused.err.contains("list all runs: callsheet -C . runs; name a run"), "{}", refused.err);
    let refused = garden.expect(2, &["-C", ".", "--json", "fork", "nope"]);
    assert!(refused.out.contains(r#""advice":"list all runs: callsheet -C . runs; name a run"#), "{}", refused.out);
    let made = garden.expect(0, &["-C", ".", "sheet", "new", "a sheet.md"]);
    assert!(made.err.contains("callsheet -C . sheet check 'a sheet.md'"), "{}", made.err);
}

/// A text where a template takes a list, and a table that is not UTF-8.
///
/// covers: C7
#[test]
fn a_list_of_a_template_is_given_with_a_colon() {
    let garden = TestProject::scripted("[default]\ntext = \"Fine.\"\n");
    garden.write("files.csv", "name\na\n");
    let refused = garden.expect(2, &["template", "run", "summarise_files", "files=@files.csv"]);
    assert!(refused.err.contains("give the list in the file: files:=@files.csv"), "{}", refused.err);
    garden.write("files.csv", b"name\n\xff\n");
    let refused = garden.expect(2, &["template", "run", "summarise_files", "files:=@files.csv"]);
    assert!(refused.err.contains("files.csv: line 2 is not UTF-8"), "{}", refused.err);
}

/// A failed element of a map whose failures are collected has a reason, whether or not a call was made for it.
#[test]
fn a_collected_failure_has_a_reason() {
    let garden = TestProject::scripted("[[rule]]\nprompt = \"Rate b\"\ntext = \"\"\n[default]\ntext = \"Good.\"\n");
    let template = "template: rate_all\nabout: Rate each\ninputs: {names: array}\nreturns: array\neach: name in names\non_error: collect\nask: Rate {{name}}.\n";
    garden.write(".callsheet/templates/rate_all.yaml", template);
    let ended = garden.call(&["template", "run", "rate_all", "names:=[\"a\",\"b\"]"]);
    let part = "rate-all-2";
    assert!(ended.err.contains(part), "{} {}", ended.out, ended.err);
    let why = garden.expect(0, &["show", "--why"]).out;
    assert!(why.contains(&format!("{part} failed (")), "{why}");
    let shown = garden.expect(0, &["show", "--task", part]).out;
    assert!(shown.contains("Failed: "), "{shown}");
    let listed = garden.expect(0, &["runs"]).out;
    assert!(listed.contains("names:="), "{listed}");
}

/// A wrong name of a run or a task is answered with the names that may be meant, by every command.
///
/// covers: 11.23
#[test]
fn a_misspelt_run_or_task_is_answered_with_those_that_may_be_meant() {
    let garden = TestProject::scripted("[default]\ntext = \"Fine.\"\n");
    garden.write("a.md", "A.\n");
    garden.write("work.md", SHEET.replace("look_here", "read_files"));
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    let wrong = run.replace("work", "wrok");
    for command in ["show", "retry", "undo", "resume", "cancel", "approve"] {
        let refused = garden.expect(2, &[command, &wrong]);
        assert!(refused.err.contains(&format!("Did you mean {run}")), "{command}: {}", refused.err);
    }
    let tasks: [&[&str]; 6] =
        [&["retry"], &["drop"], &["undo"], &["show", "--task"], &["show", "--why"], &["fork", "--at"]];
    for words in tasks {
        let (command, flags) = words.split_first().unwrap();
        let all: Vec<&str> = [*command, run.as_str()].into_iter().chain(flags.iter().copied()).chain(["lok"]).collect();
        let refused = garden.expect(2, &all);
        let wanted = format!("run {run} has no task lok\n  do: Did you mean look?");
        assert!(refused.err.contains(&wanted), "{all:?}: {}", refused.err);
    }
}
