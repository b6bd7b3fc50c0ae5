//! Tool conversations whose calls are refused, taken back or cut off: what may be made again, and what is told of files
//! that a task changed before it ended otherwise than done (spec 10.7).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const KEEPER: &str = "---\nname: keep_notes\ndescription: Keeps notes. Use it for notes.\ntools: [read_file, write_file]\nmode: loop\n---\nSay which.\n---\nKeep them.\n";
const READ: &str = "calls = [{ name = \"read_file\", arguments = { path = \"water.md\" } }]";
const WRITE: &str =
    "calls = [{ name = \"write_file\", arguments = { path = \"water.md\", content = \"New.\\n\", overwrite = true } }]";
const MORE: &str = "calls = [{ name = \"write_file\", arguments = { path = \"more.md\", content = \"More.\\n\" } }]";
const DONE: &str = "text = '''\n## Result summary\nKept.\n'''";
const AWAY: &str = "fault = { kind = \"configuration\", message = \"away\" }";
const RUN: [&str; 6] = ["run", "--skill", "keep_notes", "keep the notes", "--approval", "never"];

fn script(replies: &[&str]) -> String {
    let replies: String = replies.iter().map(|reply| format!("[[rule.reply]]\n{reply}\n")).collect();
    format!("[[rule]]\nphase = \"execute\"\n{replies}")
}

fn garden(replies: &[&str]) -> TestProject {
    let garden = TestProject::scripted(&script(replies));
    garden.write(".callsheet/skills/keep_notes.md", KEEPER);
    garden
}

/// covers: 10.7
#[test]
fn a_change_that_was_refused_for_what_was_not_read_is_made_once_it_is_read() {
    let garden = garden(&[WRITE, READ, WRITE, DONE]);
    garden.expect(0, &RUN);
    assert_eq!(garden.read("water.md"), "New.\n");
    let prompt = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(prompt.contains("was not shown in full") && prompt.contains("The changes were made"), "{prompt}");
    assert!(!prompt.contains("You made this same call before"), "{prompt}");
}

/// Asked for at once, with nothing learned in between, it is the same call.
///
/// covers: 10.7
#[test]
fn a_refused_change_that_is_only_repeated_is_not_made_again() {
    let garden = garden(&[WRITE, WRITE, DONE]);
    let before = garden.read("water.md");
    garden.expect(0, &RUN);
    assert_eq!(garden.read("water.md"), before);
    let prompt = garden.expect(0, &["show", "--prompt", "3"]).out;
    assert!(prompt.contains("You made this same call before"), "{prompt}");
}

/// What was only repeated stands for what it was answered from.
///
/// covers: 10.7
#[test]
fn a_refused_change_that_was_repeated_is_made_once_it_is_read() {
    let garden = garden(&[WRITE, WRITE, READ, WRITE, DONE]);
    garden.expect(0, &RUN);
    assert_eq!(garden.read("water.md"), "New.\n");
    let prompt = garden.expect(0, &["show", "--prompt", "5"]).out;
    assert_eq!(prompt.matches("You made this same call before").count(), 1, "{prompt}");
}

/// covers: 10.7, 3.10
#[test]
fn a_change_that_was_repeated_and_taken_back_may_be_made_again() {
    let mut garden = garden(&[READ, WRITE, WRITE, AWAY]);
    garden.expect(1, &RUN);
    garden.expect(0, &["undo"]);
    garden.follow_text(&script(&[WRITE, DONE]));
    garden.expect(0, &["resume", "--approval", "never"]);
    assert_eq!(garden.read("water.md"), "New.\n");
}

/// covers: 10.7, 3.10, 2.18
#[test]
fn a_change_that_was_taken_back_may_be_made_again() {
    let mut garden = garden(&[READ, WRITE, AWAY]);
    let before = garden.files();
    garden.expect(1, &RUN);
    assert_eq!(garden.read("water.md"), "New.\n");
    let report = garden.run_file("report.md");
    assert!(report.contains("its changes remain: water.md"), "{report}");
    garden.expect(0, &["undo"]);
    assert_eq!(garden.files(), before);
    let report = garden.run_file("report.md");
    assert!(!report.contains("its changes remain"), "the report knows of the undo: {report}");
    let shown = garden.expect(0, &["show", "--task", "keep-notes-1"]);
    assert!(shown.out.contains("Reverted:"), "{}", shown.out);
    garden.follow_text(&script(&[WRITE, DONE]));
    garden.expect(0, &["resume", "--approval", "never"]);
    assert_eq!(garden.read("water.md"), "New.\n");
    let prompts = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(prompts.contains("the user took them back since"), "{prompts}");
}

/// covers: 10.7, 2.9
#[test]
fn what_a_failed_conversation_changed_is_told() {
    let wrong = "text = '''\n## Result summary\n'''";
    let plan = "[[rule]]\nphase = \"iterate\"\ntext = '''\n## Tasks\n'''\n";
    let garden = TestProject::scripted(&format!("{plan}{}", script(&[MORE, wrong])));
    garden.write(".callsheet/skills/keep_notes.md", KEEPER);
    garden.expect(5, &[&RUN[..], &["--set", "iterate=always"]].concat());
    let asked = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(asked.contains("It had changed these files before; they stay changed: more.md"), "{asked}");
    assert!(garden.run_file("report.md").contains("its changes remain: more.md"), "{}", garden.run_file("report.md"));
}
