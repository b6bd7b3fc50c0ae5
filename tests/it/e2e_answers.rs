//! What a person gets out of runs, and how they go on with one: the answer, gates without a terminal, follow-ups that are
//! taken back, plans.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{Ended, TestProject, json_lines};

fn name_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

/// Runs a command from the folder above the project, which it names.
fn from_above(garden: &TestProject, arguments: &[&str]) -> Ended {
    let arguments = [arguments, &["-C", "garden"]].concat();
    Ended::from(garden.command(&arguments).current_dir(garden.project().parent().unwrap()).output().unwrap())
}

/// covers: 11.8, 11.9 exit 3
#[test]
fn a_write_without_a_terminal_is_three_commands() {
    let garden = TestProject::with("writer");
    let first = from_above(&garden, &["run", "bring the notes up to date"]);
    let run = name_of(&garden);
    let command = format!("Answer: callsheet -C garden approve {run} --resume\n");
    assert_eq!((first.code, first.out.as_str()), (3, ""), "{}", first.err);
    assert!(first.err.contains("1 task wants to change something") && first.err.contains(&command), "{}", first.err);
    let second = from_above(&garden, &["approve", &run, "--resume"]);
    assert_eq!((second.code, second.out.as_str()), (3, ""), "{}", second.err);
    assert!(second.err.contains("+Barrel 2 is mended.") && second.err.contains(&command), "{}", second.err);
    assert!(garden.path("minutes.md").exists());
    let third = from_above(&garden, &["approve", &run, "--resume"]);
    assert_eq!(third.code, 0, "{}", third.err);
    // The link leads to the file from where the person stands.
    assert_eq!(third.out, "The notes on [water](garden/water.md) are up to date.\n");
    assert!(!garden.path("minutes.md").exists());
}

/// covers: 11.8
#[test]
fn a_denial_goes_on_as_well_and_each_gate_has_its_command() {
    let garden = TestProject::with("steered");
    let waiting = garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    let run = name_of(&garden);
    let command = format!("callsheet approve {run} write-thanks-1 --resume\n");
    assert!(waiting.err.contains(&command), "{}", waiting.err);
    let waiting = garden.expect(3, &["approve", &run, "write-thanks-1", "--resume", "--json"]).out;
    let last = json_lines(&waiting).pop().unwrap();
    assert_eq!((&last["result"], &last["answer"]), (&"approval_required".into(), &"".into()));
    assert_eq!(last["next"][0], format!("callsheet approve {run} --resume"));
    garden.expect(5, &["deny", &run, "--because", "not today", "--resume"]);
    assert!(garden.path("thanks.md").exists() && !garden.path("rota.md").exists());
}

/// covers: 2.15, 3.8
#[test]
fn a_complete_run_says_its_answer_again_with_links_to_files_that_are_there() {
    let plan = std::fs::read_to_string(crate::support::root().join("tests/fixtures/e2e/answer.toml")).unwrap();
    let (plan, _) = plan.split_once("[[rule]]\nphase = \"execute\"").unwrap();
    let garden = TestProject::scripted(&format!(
        "{plan}[[rule]]\nphase = \"execute\"\ntext = '''\n## Result summary\nAna; see [water](water.md) and [gone](gone.md).\n\
         ## Details\n- **Filename** list.md\n```markdown\nAna\n```\n'''\n"
    ));
    let first = garden.expect(0, &["run", "who waters?"]);
    let run = name_of(&garden);
    assert!(first.out.contains("see [water](water.md) and gone."), "{}", first.out);
    let file = first.out.split("[list.md](").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
    assert_eq!(garden.read(file).trim(), "Ana");
    let facts = garden.facts().len();
    assert_eq!(garden.expect(0, &["resume", &run]).out, first.out);
    assert_eq!(garden.facts().len(), facts, "nothing is done for it");
}

/// covers: 2.17, 2.18 retry
#[test]
fn a_follow_up_without_a_list_holds_up_nothing_and_is_taken_back() {
    let mut garden = TestProject::with("fails");
    garden.expect(5, &["run", "who waters, and how?"]);
    let run = name_of(&garden);
    garden.expect(2, &["continue", &run, "--withdraw"]);
    garden.follow("no_follow_up");
    let failed = garden.expect(4, &["continue", &run, "What does the pump need?"]);
    assert_eq!(failed.out, "");
    assert!(failed.err.contains(&format!("callsheet continue {run} --withdraw")), "{}", failed.err);
    garden.follow("steered");
    let done = garden.expect(0, &["retry", &run, "read-water-1", "read-water-2"]);
    assert!(done.out.contains("Ana") && done.err.contains("The follow-up has no task list yet"), "{}", done.err);
    garden.follow("no_follow_up");
    // It is all that is left, and an output advised it.
    garden.expect(4, &["resume"]);
    garden.expect(0, &["continue", &run, "--withdraw"]);
    assert!(garden.expect(0, &["runs"]).out.contains("  complete  "));
    assert_eq!(garden.expect(0, &["resume", &run]).out, done.out);
    garden.expect(2, &["resume"]);
}

/// covers: 2.15 planned, 2.15 plan_failed, 2.18
#[test]
fn a_run_that_was_told_to_be_resumed_is_found_and_a_plan_is_run_by_its_name() {
    let mut garden = TestProject::with("never_a_plan");
    let failed = garden.expect(4, &["run", "who waters?"]);
    assert!(failed.err.contains("callsheet resume"), "{}", failed.err);
    garden.follow("answer");
    garden.expect(0, &["resume"]);
    garden.expect(0, &["plan", "who waters?", "-o", "-"]);
    assert_eq!(garden.facts().last().unwrap()["outcome"], "planned");
    garden.expect(2, &["resume"]);
    let planned = json_lines(&garden.expect(0, &["runs", "--json"]).out).remove(0);
    assert_eq!(planned["outcome"], "planned");
    let ended = garden.expect(0, &["resume", planned["run"].as_str().unwrap()]);
    assert_eq!(ended.out, "Ana looks after the barrels.\n");
}
