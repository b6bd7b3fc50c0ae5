//! Reviews of results, through the built binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

const SHEET: &str = "## Goals / summary\nKnow who.\n## Tasks\n### Task section 1\n- **Name** Read Water 1\n\
    - **What is needed** Who looks after the barrels and the pump.\n- **Skill** read_files\n- **References** [Water](water.md)\n\
    - **Expected output** Two names.\n";

/// The phases of the model calls that were begun.
fn phases(garden: &TestProject) -> Vec<String> {
    let facts = garden.facts();
    let asked = facts.iter().filter_map(|fact| fact["effect"].get("ask"));
    asked.map(|key| key["phase"].as_str().unwrap().to_owned()).collect()
}

/// The review sees the prompt of the execution as it was sent, the reply and the question; a `no` has the task done once more
/// with the reviewer's sentence.
/// covers: 10.9, 12.6 review, review-missing
#[test]
fn a_result_that_lacks_something_is_done_once_more() {
    let garden = TestProject::with("review");
    garden.write("work.md", SHEET);
    let ended = garden.expect(0, &["run", "--sheet", "work.md", "--set", "review=always", "--plain"]);
    assert_eq!(ended.out, "Ana looks after the barrels, Ben after the pump.\n");
    assert!(ended.err.contains("review read-water-1: a review of the result says what is missing"), "{}", ended.err);
    assert_eq!(phases(&garden), ["execute", "review", "execute"]);
    let first = garden.expect(0, &["show", "--prompt", "1"]).out;
    let review = garden.expect(0, &["show", "--prompt", "2"]).out;
    let (prompt, rest) = review.split_once("==== assistant\n").expect("the reply");
    assert_eq!(prompt, first, "the prompt is what the model has in its cache");
    assert!(rest.starts_with("## Result summary\nAna looks after the barrels.\n"), "{rest}");
    assert!(rest.contains("==== user\nThat was the result of the task."), "{rest}");
    let second = garden.expect(0, &["show", "--prompt", "3"]).out;
    assert!(second.contains("says what is missing: who looks after the pump"), "{second}");
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("review read-water-1 attempt 1: a review of the result says"), "{shown}");
    let report = garden.run_file("report.md");
    assert!(report.contains("Reviewed, and done once more, because of: who looks after the pump"), "{report}");
    let json = garden.expect(0, &["show", "--json"]).out;
    let task = &json_lines(&json)[0]["tasks"][0];
    assert_eq!(task["reviews"][0]["missing"], "who looks after the pump", "{task}");
}

/// A key of the task is stronger than the flag; a verdict that cannot be read counts as yes, and is told.
/// covers: 10.9, 3.3, review-unreadable
#[test]
fn a_task_says_itself_whether_it_is_reviewed() {
    const MODEL: &str =
        "[[rule]]\nphase = \"execute\"\ntext = \"Ana.\"\n[[rule]]\nphase = \"review\"\ntext = \"It is fine.\"\n";
    let garden = TestProject::scripted(MODEL);
    garden.write("never.md", format!("{SHEET}- **Review** never\n"));
    garden.expect(0, &["run", "--sheet", "never.md", "--set", "review=always"]);
    assert_eq!(phases(&garden), ["execute"]);
    assert!(garden.run_file("sheet.md").contains("- **Review** never\n"));
    let garden = TestProject::scripted(MODEL);
    garden.write("always.md", format!("{SHEET}- **Review** always\n"));
    let ended = garden.expect(0, &["run", "--sheet", "always.md"]);
    assert_eq!(ended.out, "Ana.\n");
    assert_eq!(phases(&garden), ["execute", "review"]);
    let report = garden.run_file("report.md");
    assert!(report.contains("Warning: not reviewed (the review gives no verdict)"), "{report}");
}

/// What keeps a result from being reviewed is told in the last words too; a value of `Review` that is none is named, and a skill
/// with such a value says why it is left out.
/// covers: 10.9, unknown-key, 7.3
#[test]
fn a_review_that_does_not_come_is_told() {
    const MODEL: &str = "[[rule]]\nphase = \"execute\"\ntext = \"Ana.\"\n";
    let garden = TestProject::scripted(MODEL);
    garden.write("work.md", SHEET);
    let ended = garden.expect(
        0,
        &[
            "run",
            "--sheet",
            "work.md",
            "--set",
            "review=always",
            "--set",
            "limits.max_calls=1",
            "--set",
            "iterate=never",
        ],
    );
    assert!(
        ended.err.contains("read-water-1: Warning: not reviewed (the limit max_calls is reached)"),
        "{}",
        ended.err
    );
    garden.write("odd.md", format!("{SHEET}- **Review** sometimes\n"));
    let checked = garden.expect(0, &["sheet", "check", "odd.md"]);
    assert!(checked.out.contains("\"sometimes\" is not a valid value of Review"), "{}", checked.out);
    let skill = "---\nname: look\ndescription: Looks.\nreview: sometimes\n---\nRefine.\n---\nDo it.\n";
    garden.write(".callsheet/skills/look.md", skill);
    let ended = garden.expect(2, &["run", "--skill", "look", "who waters"]);
    assert!(ended.err.contains("look.md:4: \"review\" has the wrong type"), "{}", ended.err);
}
