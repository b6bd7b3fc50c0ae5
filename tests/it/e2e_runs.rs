//! Whole runs of the built binary: a reader, a writer with its gates, denial, undo.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, is_harmless};

/// covers: 2.13, 2.14, 10.6
/// covers: 11.9 exit 0
#[test]
fn a_one_task_request_costs_two_calls() {
    let garden = TestProject::with("answer");
    let ended = garden.expect(0, &["run", "who waters?"]);
    assert_eq!(ended.out, "Ana looks after the barrels.\n");
    assert!(ended.err.contains("Complete"), "{}", ended.err);
    assert!(ended.err.contains("model calls: 2, none wasted"), "{}", ended.err);
    assert_eq!(garden.count("reply_received"), 2);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("[read-water-1] done"), "{shown}");
    assert!(garden.run_file("report.md").contains("Ana looks after the barrels."));
    assert!(garden.run_file("tasks/read-water-1.md").contains("## Result summary"));
    let sheet = garden.run_file("sheet.md");
    assert!(sheet.contains("who waters?") && sheet.contains("- **State** done"), "{sheet}");
    let file = garden.run_folder().join("sheet.md");
    garden.expect(0, &["sheet", "check", file.to_str().unwrap()]);
}

/// covers: 2.7, 11.2, 11.4, 11.8, 3.10
/// covers: 11.9 exit 3, 11.3
#[test]
fn nothing_changes_before_both_gates_are_answered() {
    let mut garden = TestProject::with("writer");
    let before = garden.files();
    let ended = garden.expect(3, &["run", "bring the notes up to date"]);
    assert_eq!(ended.out, "");
    assert!(ended.err.contains("callsheet approve"), "{}", ended.err);
    garden.forget_model();
    assert_eq!(garden.files(), before);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("before-run") && shown.contains("write-water-1"), "{shown}");

    garden.expect(3, &["resume"]);
    garden.expect(0, &["approve"]);
    garden.expect(3, &["resume"]);
    assert_eq!(garden.files(), before);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("before-apply"), "{shown}");
    for line in [
        "-Barrel 2 leaks at the tap.",
        "+Barrel 2 is mended.",
        "+++ b/notes/rota.md",
        "+Two people a week.",
        "--- a/minutes.md",
    ] {
        assert!(shown.contains(line), "{line} is missing: {shown}");
    }
    garden.expect(0, &["approve"]);
    let ended = garden.expect(0, &["resume"]);
    assert!(ended.err.contains("callsheet undo"), "{}", ended.err);
    assert!(garden.read("water.md").contains("Barrel 2 is mended. The pump"));
    assert_eq!(garden.read("notes/rota.md"), "# Rota\n\nTwo people a week.\n");
    assert!(!garden.path("minutes.md").exists());
    let applied = garden.run_file("changes/write-water-1.diff");
    for line in applied.lines().filter(|line| !line.is_empty()) {
        assert!(shown.contains(line), "applied, never shown: {line}");
    }
    assert_eq!(garden.count("reply_received"), 2);

    garden.expect(0, &["undo"]);
    assert_eq!(garden.files(), before);
    let again = garden.expect(0, &["undo"]);
    assert!(again.err.contains("no changes"), "{}", again.err);
}

/// covers: 3.10
#[test]
fn undo_leaves_a_file_that_somebody_changed_since() {
    let garden = TestProject::with("writer");
    garden.expect(0, &["run", "bring the notes up to date", "--headless", "approve"]);
    garden.write("water.md", "All new.\n");
    let ended = garden.expect(5, &["undo"]);
    assert!(ended.err.contains("water.md"), "{}", ended.err);
    assert_eq!(garden.read("water.md"), "All new.\n");
    assert!(garden.path("notes/rota.md").exists(), "the set is taken back as a whole or not at all");
}

/// covers: 11.7, 2.9, 11.9
#[test]
fn words_of_a_denial_reach_the_next_plan() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    garden.expect(3, &["run", "bring the notes up to date"]);
    garden.expect(0, &["deny", "--because", "the barrel leaks again"]);
    garden.expect(5, &["resume"]);
    let facts = garden.facts();
    let calls = facts.iter().filter(|fact| fact["event"] == "reply_received").count();
    let prompt = garden.expect(0, &["show", "--prompt", &calls.to_string()]).out;
    assert!(prompt.contains("the barrel leaks again"), "{prompt}");
    assert_eq!(garden.files(), before);
    assert!(garden.run_file("report.md").contains("the barrel leaks again"));
    garden.expect(2, &["approve"]);
}

/// covers: 11.8
/// covers: 11.9 exit 5
#[test]
fn headless_policies_answer_for_the_absent() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    let ended = garden.expect(5, &["run", "bring the notes up to date", "--headless", "deny"]);
    assert!(ended.err.contains("no approver present"), "{}", ended.err);
    assert_eq!(garden.files(), before);
    garden.expect(3, &["run", "bring the notes up to date", "--headless", "another-task"]);
    assert_eq!(garden.files(), before);
    garden.expect(0, &["run", "bring the notes up to date", "--headless", "write-water-1"]);
    assert_ne!(garden.files(), before);
}

/// covers: 11.5
#[test]
fn an_answer_for_a_task_that_does_not_wait_is_refused() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let run = garden.run_folder();
    let name = run.file_name().unwrap().to_str().unwrap();
    let ended = garden.expect(2, &["approve", name, "write-water-7"]);
    assert!(ended.err.contains("write-water-1"), "{}", ended.err);
    let ended = garden.expect(2, &["approve", "nothing-of-that-name"]);
    assert!(is_harmless(&ended.err));
}

/// covers: 11.19
#[test]
fn a_program_of_the_person_tells_how_a_run_rests() {
    let garden = TestProject::with("writer");
    let heard = garden.home().with_file_name("heard");
    let program = garden.home().with_file_name("tell");
    std::fs::write(&program, format!("#!/bin/sh\nprintf '%s' \"$2\" > {0}.new && mv {0}.new {0}\n", heard.display()))
        .unwrap();
    std::fs::create_dir_all(garden.home()).unwrap();
    let config = garden.home().join("config.toml");
    let former = std::fs::read_to_string(&config).unwrap_or_default();
    std::fs::write(&config, format!("notify = [\"sh\", {:?}, \"-\"]\n{former}", program.display().to_string()))
        .unwrap();
    garden.expect(3, &["run", "bring the notes up to date"]);
    crate::support::terminal::wait_for(|| heard.exists());
    let told = std::fs::read_to_string(&heard).unwrap();
    assert!(
        told.starts_with("run ") && told.contains(" of garden: ") && told.ends_with("waiting for approval"),
        "{told}"
    );
    // A project can't name a program.
    garden.write(".callsheet/config.toml", "notify = [\"touch\", \"told\"]\n");
    let ended = garden.call(&["doctor"]);
    assert!(ended.out.contains("notify") && !garden.path("told").exists(), "{}", ended.out);
}
