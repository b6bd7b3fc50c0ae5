//! Tasks that begin while a model is still writing their plan (spec 2.3).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::{Child, Stdio};

use crate::support::garden::{Ended, TestProject};

const PLAN: &str = "## Goals / summary\nRead all.\n\n**plan complete**\n## Tasks\n### Task section 1\n\
    - **Name** Read Water 1\n- **What is needed** Water.\n- **Skill** read_files\n- **References** [Water](water.md)\n\n\
    - **Name** Read Plan 1\n- **What is needed** Plan.\n- **Skill** read_files\n- **References** [Plan](plan.md)\n\
    ### Task section 2\n\
    - **Name** Answer From Documents 1\n- **What is needed** Both.\n- **Skill** answer_from_documents\n\
    - **References** [Water](#read-water-1-results) [Plan](#read-plan-1-results)\n\
    ### Task section 3\n\
    - **Name** Write Document 1\n- **What is needed** Add w.md.\n- **Skill** write_document\n\
    - **References** [All](#answer-from-documents-1-results)\n";
const EXECUTED: &str = "## Result summary\nAna waters on Mondays.\n";
const WRITTEN: &str = "## Result summary\nWritten.\n## Change details\n- **file_path** w.md\n- **complete_file** true\n```markdown\nMondays.\n```\n";

/// The plan is written up to the task that changes something; the rest waits for a file beside the script.
fn garden(plan: &str) -> TestProject {
    let before = PLAN.find("- **What is needed** Add w.md").unwrap();
    let garden = TestProject::scripted(&format!(
        "[[rule]]\nphase = \"plan\"\nuntil = \"go-on\"\nuntil_after = {before}\ntext = '''\n{plan}'''\n\
         [[rule]]\nlabel = \"^execute write\"\ntext = '''\n{WRITTEN}'''\n[[rule]]\nphase = \"execute\"\ntext = '''\n{EXECUTED}'''\n"
    ));
    // One slot is taken by the plan.
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), "[providers.scripted]\nslots = 4\n").unwrap();
    garden
}

/// A run whose two first sections are done, and whose plan is not finished.
fn begun(garden: &TestProject) -> Child {
    let arguments = ["run", "read all", "--approval", "never", "--iterate", "never", "--join", "never"];
    let mut command = garden.command(&arguments);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let done = |events: &str| events.matches("\"event\":\"run_finished\"").count() == 3;
    let mut looks = (0..5_000).map(|_| garden.call(&["show", "--events"]).out);
    assert!(looks.any(|events| done(&events)), "two sections are done");
    running
}

fn go_on(garden: &TestProject) {
    std::fs::write(garden.project().with_file_name("go-on"), "").unwrap();
}

/// Kinds of events in order, those of a plan and of what was executed.
fn order(garden: &TestProject) -> Vec<String> {
    let kinds = ["task_planned", "run_finished", "list_adopted", "changes_applied"];
    let kind = |fact: &serde_json::Value| fact["event"].as_str().map(str::to_owned);
    garden.facts().iter().filter_map(kind).filter(|kind| kinds.contains(&kind.as_str())).collect()
}

/// covers: 2.3
#[test]
fn readers_are_done_before_the_plan_is_and_a_writer_waits_for_it() {
    let garden = garden(PLAN);
    let running = begun(&garden);
    assert!(!garden.path("w.md").exists() && garden.count("list_adopted") == 0);
    let told = garden.expect(0, &["show"]).out;
    assert!(told.contains("answer-from-documents-1] done"), "{told}");
    go_on(&garden);
    let ended = Ended::from(running.wait_with_output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(garden.read("w.md"), "Mondays.\n");
    let expected = ["task_planned"; 3].into_iter().chain(["run_finished"; 3]).chain([
        "list_adopted",
        "run_finished",
        "changes_applied",
    ]);
    assert_eq!(sorted(order(&garden), 6), expected.collect::<Vec<_>>());
    assert_eq!(garden.asked().len(), 5, "nothing is asked twice");
    assert!(garden.run_file("sheet.md").contains("Read all."));
}

/// The first events in the order of their names: which of them comes first depends on when lines were whole.
fn sorted(mut events: Vec<String>, first: usize) -> Vec<String> {
    events[..first].sort_by_key(|event| event == "run_finished");
    events
}

/// covers: 2.3, 2.18
#[test]
fn a_kill_while_the_plan_is_written_loses_no_task_that_is_done() {
    let garden = garden(PLAN);
    let mut running = begun(&garden);
    running.kill().unwrap();
    running.wait().unwrap();
    go_on(&garden);
    let ended = garden.expect(0, &["resume"]);
    assert!(ended.err.contains("reuses 3 calls, repeats 1"), "{}", ended.err);
    assert_eq!((garden.asked().len(), garden.read("w.md").as_str()), (6, "Mondays.\n"), "the plan and the writer");
}

/// covers: 2.3
#[test]
fn nothing_begins_early_where_a_setting_says_so() {
    let garden = garden(PLAN);
    garden.write(".callsheet/config.toml", "start_early = false\n");
    go_on(&garden);
    garden.expect(0, &["run", "read all", "--approval", "never", "--iterate", "never", "--join", "never"]);
    assert_eq!((garden.count("task_planned"), garden.count("run_finished")), (0, 4));
}
