//! A change set is kept in part: by number from another process, or hunk by hunk at a terminal (spec 11.4).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{Ended, TestProject};
use crate::support::terminal::{at_terminal, exit_code, rest};
use expectrl::Expect;

const RUN: [&str; 6] = ["run", "--skill", "write_document", "bring the rota up to date", "--approval", "before-apply"];

/// A garden with a file of Windows line endings whose last line has none; hunks 3 and 4 of the change are in it.
fn garden() -> TestProject {
    let garden = TestProject::with("hunks");
    garden.write("rota.md", rota());
    garden
}

fn rota() -> String {
    let lines: Vec<String> =
        (1..=30).map(|week| format!("week {week}: {}", if week < 10 { "Ana" } else { "Ben" })).collect();
    lines.join("\r\n")
}

fn answer_of(garden: &TestProject) -> serde_json::Value {
    let facts = garden.facts();
    facts.into_iter().rev().find(|fact| fact["event"] == "gate_answered").expect("an answer")["answer"].clone()
}

fn shows(ended: &Ended, texts: &[&str]) {
    for text in texts {
        assert!(ended.out.contains(text), "{text} is not in:\n{}", ended.out);
    }
}

/// Somebody writes other lines of a file while its change waits.
///
/// covers: 11.4, 3.10
#[test]
fn a_part_is_kept_beside_an_unrelated_edit_of_the_file() {
    let garden = garden();
    garden.expect(3, &RUN);
    garden.write("rota.md", rota().replace("week 12: Ben", "week 12: Dora"));
    garden.expect(0, &["approve", "--hunks", "3"]);
    garden.expect(0, &["resume"]);
    let rota = garden.read("rota.md");
    assert!(rota.contains("week 12: Dora") && rota.contains("week 3: Ana and Ben") && rota.contains("week 24: Ben"));
    garden.expect(0, &["undo"]);
    assert!(garden.read("rota.md").contains("week 12: Dora"), "what somebody else wrote stays");
}

/// Somebody writes lines that the gate shows, beside those that change: the gate shows the file as it is now.
///
/// covers: 11.4, 3.10
#[test]
fn a_gate_shows_the_file_as_it_is_now() {
    let garden = garden();
    garden.expect(3, &RUN);
    garden.write("rota.md", rota().replace("week 5: Ana", "week 5: Dora"));
    garden.expect(0, &["approve", "--hunks", "3"]);
    let again = garden.expect(3, &["resume"]);
    assert!(again.err.contains("here is the change adapted to it"), "{}", again.err);
    shows(&garden.expect(0, &["show"]), &["week 5: Dora"]);
    garden.expect(0, &["approve", "--hunks", "3", "--resume"]);
    let rota = garden.read("rota.md");
    assert!(rota.contains("week 5: Dora") && rota.contains("week 3: Ana and Ben") && rota.contains("week 24: Ben"));
}

/// Somebody writes the very lines that change: the gate says what to do, and an approval makes nothing of the old change.
///
/// covers: 11.4, 3.10
#[test]
fn a_change_that_no_longer_fits_says_what_to_do() {
    let garden = garden();
    garden.expect(3, &RUN);
    let written = rota().replace("week 3: Ana", "week 3: Eve");
    garden.write("rota.md", &written);
    garden.expect(0, &["approve", "--hunks", "3"]);
    let again = garden.expect(3, &["resume"]);
    assert!(again.err.contains("approve it to have the task make it again"), "{}", again.err);
    garden.call(&["approve", "--resume"]);
    assert_eq!((garden.count("changes_rejected"), garden.read("rota.md")), (1, written));
}

/// covers: 11.8
#[test]
fn a_saved_answer_is_shown() {
    let garden = garden();
    garden.expect(3, &RUN);
    assert!(!garden.expect(0, &["show"]).out.contains("Your answer is saved"));
    garden.expect(0, &["approve", "--hunks", "3"]);
    shows(&garden.expect(0, &["show"]), &["Your answer is saved. It takes effect with:"]);
    garden.expect(0, &["resume"]);
    assert!(!garden.expect(0, &["show"]).out.contains("Your answer is saved"));
}

/// covers: 11.4, 3.10, 11.8
#[test]
fn a_part_is_kept_from_another_process_and_undone_byte_for_byte() {
    let garden = garden();
    let before = garden.files();
    garden.expect(3, &RUN);
    let shown = garden.expect(0, &["show"]);
    shows(
        &shown,
        &["--hunks 1", "hunk 1\n", "hunk 2\n", "hunk 3\n", "hunk 4\n", "--- a/minutes.md", "+++ b/notes/swaps.md"],
    );
    let json: serde_json::Value = serde_json::from_str(&garden.expect(0, &["show", "--json"]).out).unwrap();
    assert_eq!(json["waits"][0]["hunks"].as_array().unwrap().len(), 4);
    assert_eq!(json["waits"][0]["hunks"][0]["kind"], "deletes");

    let refused = garden.expect(2, &["approve", "--hunks", "2,5"]);
    assert!(refused.err.contains("there is no hunk 5; the change has 4"), "{}", refused.err);
    garden.expect(2, &["approve", "--hunks", "0"]);
    garden.expect(2, &["approve", "--hunks", "1", "--all"]);
    garden.expect(0, &["approve", "--hunks", "2-3", "--because", "Ben is away"]);
    assert_eq!(garden.files(), before, "nothing is made before the run goes on");
    garden.expect(0, &["resume"]);
    let swaps = garden.path("notes/swaps.md");
    assert_eq!(garden.read("rota.md"), rota().replace("week 3: Ana", "week 3: Ana and Ben"));
    assert!(swaps.exists() && garden.path("minutes.md").exists());

    let part = &answer_of(&garden)["part"];
    assert_eq!(part["kept"]["files"].as_array().unwrap().len(), 2);
    let told = part["refused"]["told"].as_str().unwrap();
    assert!(told.contains("the deletion of minutes.md") && told.contains("lines 24-24 of rota.md"), "{told}");
    assert!(told.contains("Ben is away"));
    // Whoever reads the result hears of it.
    assert!(garden.run_file("report.md").contains("lines 24-24 of rota.md"));
    let task = garden.expect(0, &["show", "--task", "write-document-1"]);
    shows(&task, &["+week 24: Cem", "The user kept only a part"]);
    assert!(garden.run_file("tasks/write-document-1.md").contains("the deletion of minutes.md"));
    let diff = garden.run_file("changes/write-document-1.diff");
    assert!(diff.contains("Ana and Ben") && !diff.contains("Cem\r\n+") && !diff.contains("+week 24: Cem"), "{diff}");

    garden.expect(0, &["undo"]);
    assert_eq!(garden.files(), before, "not a byte is left of it");
}

/// covers: 11.4, 3.10, 11.8 an edited hunk from another process
#[test]
fn an_edited_hunk_is_given_from_another_process() {
    let garden = garden();
    let before = garden.files();
    garden.expect(3, &RUN);
    shows(&garden.expect(0, &["show"]), &["--edit 1=FILE"]);
    let hunk = garden.expect(0, &["show", "--hunk", "4"]).out;
    assert!(hunk.contains("\n+week 24: Cem\n") && hunk.starts_with("# "), "{hunk}");
    garden.expect(2, &["show", "--hunk", "5"]);
    let file = garden.home().with_file_name("hunk.diff");
    let edit = format!("4={}", file.display());
    std::fs::write(&file, hunk.replace("+week 24: Cem\n", "+week 24: Ana\n+week 24 b: Cem\n")).unwrap();
    garden.expect(0, &["approve", "--hunks", "1-3", "--edit", &edit, "--because", "Ana stays"]);
    assert_eq!(garden.files(), before, "nothing is made before the run goes on");
    garden.expect(0, &["resume"]);
    let wanted = rota()
        .replace("week 3: Ana", "week 3: Ana and Ben")
        .replace("week 24: Ben\r\n", "week 24: Ana\r\nweek 24 b: Cem\r\n");
    assert_eq!(garden.read("rota.md"), wanted);
    assert!(!garden.path("minutes.md").exists());
    let told = answer_of(&garden)["part"]["refused"]["told"].as_str().unwrap().to_owned();
    assert!(told.contains("(written in another way by the user)") && told.contains("Ana stays"), "{told}");
    garden.expect(0, &["undo"]);
    assert_eq!(garden.files(), before);
}

/// covers: 11.4 an edited hunk that does not fit
#[test]
fn an_edited_hunk_that_does_not_fit_is_refused_at_once() {
    let garden = garden();
    let before = garden.files();
    garden.expect(3, &RUN);
    let file = garden.home().with_file_name("hunk.diff");
    let edit = format!("3={}", file.display());
    let hunk = garden.expect(0, &["show", "--hunk", "3"]).out;
    for (text, said) in
        [(hunk.replace("\n week", "\n month"), "hunk 3: line"), ("# nothing\n".to_owned(), "does not contain a hunk")]
    {
        std::fs::write(&file, text).unwrap();
        let refused = garden.expect(2, &["approve", "--edit", &edit]);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    std::fs::write(&file, hunk.replace("Ana and Ben", "Ben and Ana")).unwrap();
    let twice = garden.expect(2, &["approve", "--edit", &edit, "--edit", &edit]);
    assert!(twice.err.contains("names hunk 3 twice"), "{}", twice.err);
    for wrong in
        [&["--edit", "3=no such file"][..], &["--edit", "9=x"], &["--edit", "three=x"], &["--edit", &edit, "--all"]]
    {
        garden.expect(2, &[&["approve"], wrong].concat());
    }
    // What is refused leaves no answer behind, and an edit alone keeps the rest as it is.
    assert_eq!((garden.files(), garden.count("gate_answered")), (before, 0));
    garden.expect(0, &["approve", "--edit", &edit]);
    garden.expect(0, &["resume"]);
    assert!(garden.read("rota.md").contains("week 3: Ben and Ana") && garden.read("rota.md").contains("week 24: Cem"));
}

/// covers: 11.4, 2.11
#[test]
fn the_iteration_hears_what_was_refused() {
    let garden = garden();
    garden.expect(3, &[&RUN[..], &["--set", "iterate=always"]].concat());
    garden.expect(0, &["approve", "--hunks", "1"]);
    garden.expect(0, &["resume"]);
    let prompt = garden.expect(0, &["show", "--prompt", "2"]);
    shows(&prompt, &["The user kept only a part of these changes", "lines 3-3 of rota.md"]);
}

/// covers: 11.4, 11.7
#[test]
fn all_hunks_are_a_plain_yes() {
    let garden = garden();
    garden.expect(3, &RUN);
    garden.expect(0, &["approve", "--hunks", "1,2,3,4"]);
    garden.expect(0, &["resume"]);
    assert_eq!(answer_of(&garden), "listed");
    assert!(!garden.path("minutes.md").exists());
    assert!(!garden.run_file("report.md").contains("kept only a part"));
}

/// covers: 11.4, 3.10
#[test]
fn a_part_that_does_not_fit_any_more_is_told_and_the_gate_asks_again() {
    let garden = garden();
    garden.expect(3, &RUN);
    garden.expect(0, &["approve", "--hunks", "3"]);
    let newer = rota().replace("week 3:", "WEEK 3:");
    garden.write("rota.md", &newer);
    let ended = garden.expect(3, &["resume"]);
    assert!(ended.err.contains("the approval is still open") && ended.err.contains("rota.md"), "{}", ended.err);
    assert_eq!((garden.read("rota.md"), garden.count("gate_answered")), (newer.clone(), 0));
    // A part without that file still fits.
    garden.expect(0, &["approve", "--hunks", "1"]);
    garden.expect(0, &["resume"]);
    assert_eq!(garden.read("rota.md"), newer);
    assert!(!garden.path("minutes.md").exists());
    let refused = garden.expect(2, &["approve", "--hunks", "1"]);
    assert!(
        refused.err.contains("is not waiting for approval") || refused.err.contains("no waiting run"),
        "{}",
        refused.err
    );
}

/// covers: 11.4
#[test]
fn hunks_answer_no_other_gate() {
    let garden = garden();
    garden.expect(3, &RUN[..4]);
    let refused = garden.expect(2, &["approve", "--hunks", "1"]);
    assert!(refused.err.contains("no pending change with hunks"), "{}", refused.err);
}

/// A conversation that changes two places of a file, then gives this reply.
fn conversation(last: &str) -> TestProject {
    let edit = "calls = [{ name = \"read_file\", arguments = { path = \"rota.md\" } }]";
    let text = rota().replace("week 3: Ana", "week 3: Ana and Ben").replace("week 24: Ben", "week 24: Cem");
    let write = format!(
        "calls = [{{ name = \"write_file\", arguments = {{ path = \"rota.md\", content = {}, overwrite = true }} }}]",
        serde_json::to_string(&text).unwrap()
    );
    let replies: String = [edit, &write, last].iter().map(|reply| format!("[[rule.reply]]\n{reply}\n")).collect();
    let garden = TestProject::scripted(&format!("[[rule]]\nphase = \"execute\"\n{replies}"));
    garden.write("rota.md", rota());
    garden.write(
        ".callsheet/skills/keep_notes.md",
        "---\nname: keep_notes\ndescription: Keeps notes. Use it for notes.\ntools: [read_file, write_file]\nmode: loop\n---\nSay which.\n---\nKeep them.\n",
    );
    garden
}

const KEPT: &str = "text = '''\n## Result summary\nKept.\n'''";

/// covers: 11.4, 10.7
#[test]
fn a_conversation_is_told_which_hunks_of_its_call_were_refused() {
    let garden = conversation(KEPT);
    garden.expect(3, &["run", "--skill", "keep_notes", "keep the rota", "--approval", "before-apply"]);
    garden.expect(0, &["approve", "--hunks", "1", "--because", "not week 24"]);
    garden.expect(0, &["resume"]);
    assert!(garden.read("rota.md").contains("week 3: Ana and Ben") && garden.read("rota.md").contains("week 24: Ben"));
    let prompt = garden.expect(0, &["show", "--prompt", "3"]).out;
    let (_, told) = prompt.split_once("The user kept only a part of the changes").expect("the model is told");
    let (made, refused) = told.split_once("These were refused").unwrap();
    assert!(made.contains("+week 3: Ana and Ben") && !made.contains("+week 24"), "{told}");
    assert!(refused.contains("+week 24: Cem") && !refused.contains("+week 3") && refused.contains("not week 24"));
    assert!(garden.run_file("report.md").contains("kept only a part"), "the result tells it, too");
}

/// covers: 11.4, 10.7, 3.10
#[test]
fn what_was_refused_of_a_change_is_told_though_the_rest_was_taken_back() {
    let mut garden = conversation(KEPT);
    garden.expect(3, &["run", "--skill", "keep_notes", "keep the rota", "--approval", "before-apply"]);
    garden.expect(0, &["approve", "--hunks", "1", "--because", "not week 24"]);
    // A script begins anew with each process.
    let script = |replies: &[&str]| {
        let replies: String = replies.iter().map(|reply| format!("[[rule.reply]]\n{reply}\n")).collect();
        format!("[[rule]]\nphase = \"execute\"\n{replies}")
    };
    garden.follow_text(&script(&["fault = { kind = \"configuration\", message = \"away\" }"]));
    garden.expect(1, &["resume"]);
    garden.expect(0, &["undo"]);
    let look = "calls = [{ name = \"read_file\", arguments = { path = \"rota.md\" } }]";
    garden.follow_text(&script(&[look, KEPT]));
    garden.expect(0, &["resume"]);
    let prompt = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(prompt.contains("the user took them back since") && prompt.contains("not week 24"), "{prompt}");
}

/// covers: 11.4, 11.5
#[test]
fn hunks_are_reviewed_and_edited_at_the_terminal() {
    let garden = garden();
    let before = garden.files();
    let editor = garden.home().with_file_name("editor");
    std::fs::write(&editor, "#!/bin/sh\nsed -i -e 's/^+week 24: Cem.*/+week 24: Ana\\n+week 24 b: Cem/' \"$1\"\n")
        .unwrap();
    let mut command = garden.command(&RUN);
    command.env("VISUAL", format!("sh {}", editor.display())).env("NO_COLOR", "1");
    let mut terminal = at_terminal(command);
    terminal.expect("[h] hunk by hunk").unwrap();
    terminal.send_line("h").unwrap();
    terminal.expect("Hunk 1 of 4: ").unwrap();
    terminal.send_line("y").unwrap();
    terminal.expect("Hunk 2 of 4: ").unwrap();
    terminal.send_line("b").unwrap();
    terminal.expect("Hunk 1 of 4, kept so far: ").unwrap();
    terminal.send_line("q").unwrap();
    terminal.expect("[h] hunk by hunk").unwrap();
    terminal.send_line("h").unwrap();
    terminal.expect("Hunk 1 of 4: ").unwrap();
    terminal.send_line("n").unwrap();
    terminal.expect("Hunk 2 of 4: ").unwrap();
    terminal.send_line("what").unwrap();
    terminal.expect("Please answer with one of the letters").unwrap();
    terminal.expect("Hunk 2 of 4: ").unwrap();
    terminal.send_line("y").unwrap();
    terminal.expect("Hunk 3 of 4: ").unwrap();
    terminal.send_line("y").unwrap();
    terminal.expect("Hunk 4 of 4: ").unwrap();
    terminal.send_line("e").unwrap();
    terminal.expect("3 of 4 hunks kept, 1 of them edited").unwrap();
    terminal.send_line("as we said").unwrap();
    let said = rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0, "{said}");
    let wanted = rota()
        .replace("week 3: Ana", "week 3: Ana and Ben")
        .replace("week 24: Ben\r\n", "week 24: Ana\r\nweek 24 b: Cem\r\n");
    assert_eq!(garden.read("rota.md"), wanted);
    assert!(garden.path("minutes.md").exists() && garden.path("notes/swaps.md").exists());
    let told = answer_of(&garden)["part"]["refused"]["told"].as_str().unwrap().to_owned();
    assert!(told.contains("(written in another way by the user)") && told.contains("as we said"), "{told}");
    garden.expect(0, &["undo"]);
    assert_eq!(garden.files(), before);
}

/// covers: 11.4, 11.7
#[test]
fn nothing_kept_denies_the_task_and_a_wrong_edit_asks_again() {
    let garden = garden();
    let before = garden.files();
    let editor = garden.home().with_file_name("editor");
    std::fs::write(&editor, "#!/bin/sh\nsed -i -e 's/^ week/ month/' \"$1\"\n").unwrap();
    let mut command = garden.command(&RUN);
    command.env("VISUAL", format!("sh {}", editor.display())).env("NO_COLOR", "1");
    let mut terminal = at_terminal(command);
    terminal.expect("[h] hunk by hunk").unwrap();
    terminal.send_line("h").unwrap();
    for answer in ["n", "n", "e"] {
        terminal.expect(" of 4: ").unwrap();
        terminal.send_line(answer).unwrap();
    }
    terminal.expect("Hunk 4 of 4: ").unwrap();
    terminal.send_line("a").unwrap();
    terminal.expect("2 of 4 hunks kept, 1 of them edited").unwrap();
    terminal.send_line("").unwrap();
    terminal.expect("can't apply the edited change").unwrap();
    terminal.expect("hunk 3: line").unwrap();
    terminal.expect("[h] hunk by hunk").unwrap();
    assert_eq!(garden.files(), before);
    terminal.send_line("h").unwrap();
    terminal.expect("Hunk 1 of 4: ").unwrap();
    terminal.send_line("d").unwrap();
    terminal.expect("0 of 4 hunks kept").unwrap();
    terminal.send_line("the old rota is right").unwrap();
    rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 5);
    assert_eq!(garden.files(), before);
    assert!(garden.run_file("report.md").contains("the old rota is right"));
}

/// covers: 11.4, 11.5
#[test]
fn the_rest_is_what_has_no_verdict_yet() {
    let garden = garden();
    let mut command = garden.command(&RUN);
    command.env("NO_COLOR", "1");
    let mut terminal = at_terminal(command);
    terminal.expect("[h] hunk by hunk").unwrap();
    terminal.send_line("h").unwrap();
    for answer in ["y", "y", "n", "b"] {
        terminal.expect(" of 4").unwrap();
        terminal.send_line(answer).unwrap();
    }
    terminal.expect("Hunk 3 of 4, rejected so far: ").unwrap();
    terminal.send_line("b").unwrap();
    terminal.expect("Hunk 2 of 4, kept so far: ").unwrap();
    terminal.send_line("a").unwrap();
    terminal.expect("3 of 4 hunks kept").unwrap();
    terminal.send_line("").unwrap();
    rest(&mut terminal);
    assert!(garden.read("rota.md").contains("week 3: Ana\r\n"), "the third stays refused");
    assert!(garden.read("rota.md").contains("week 24: Cem"));
}
