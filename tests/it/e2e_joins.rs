//! Answers that a model writes from several results, and what of results stands in nothing that was read, through the built
//! binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{Ended, TestProject, json_lines};

const REQUEST: &str = "Who waters, and what does the pump need?";

const ANSWER: &str =
    "Ana looks after the [barrels](water.md); the pump needs a seal for 4711 euros. \"Ask Ben about it first\".";

/// covers: 2.15, 3.14, 12.6 join, 8.7 task_join
#[test]
fn several_results_become_one_answer_and_stay_visible() {
    let garden = TestProject::with("join");
    let ended = garden.expect(0, &["run", REQUEST, "--plain"]);
    assert_eq!(ended.out, format!("{ANSWER}\n"));
    assert!(garden.asked().last().unwrap().contains("\"join\""), "{:?}", garden.asked());
    let marks = "not found in what it read: \"Ask Ben about it first\", 4711\n";
    assert!(ended.err.contains(marks), "{}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(
        prompt.contains(REQUEST) && prompt.contains("### Read Water 2\n\n```markdown\n## Result summary"),
        "{prompt}"
    );

    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains(&format!("\n{ANSWER}\n")), "{shown}");
    assert!(
        shown.contains("Single results\n\nRead Water 1\nAna looks after the barrels; see [water](water.md)."),
        "{shown}"
    );
    let report = garden.run_file("report.md");
    assert!(report.contains(&format!("## Answer\n\n{ANSWER}\n\nWarning: {marks}")), "{report}");
    assert!(report.contains("### Read Water 2\n\nThe pump needs a new seal"), "{report}");

    let json = json_lines(&garden.expect(0, &["show", "--json"]).out).remove(0);
    assert_eq!((&json["answer"], &json["join"]["joined"]), (&ANSWER.into(), &true.into()));
    assert_eq!(json["join"]["unsupported"], serde_json::json!(["\"Ask Ben about it first\"", "4711"]));
    assert_eq!(json["results"][0]["unsupported"], serde_json::json!([]));
    let own = ["`pump_needs()`", "\"before the spring of next year\"", "4711"];
    assert_eq!(json["results"][1]["unsupported"], serde_json::json!(own));
    assert_eq!(json["tasks"][1]["unsupported"], serde_json::json!(own));
    let facts = garden.facts().len();
    let run = garden.run_folder();
    let again = garden.expect(0, &["resume", run.file_name().unwrap().to_str().unwrap()]);
    assert_eq!(again.out, ended.out);
    assert_eq!(garden.facts().len(), facts, "it is not joined again");
}

/// Without a joined answer results stand as a list: nobody wants one, they exceed a prompt, or the model gives none.
/// covers: 2.15, 12.6 join
#[test]
fn results_that_are_not_joined_stand_as_a_list() {
    let list = "Read Water 1\nAna looks after the barrels;";
    let garden = TestProject::with("join");
    let never = garden.expect(0, &["run", REQUEST, "--set", "join=never"]);
    assert!(never.out.starts_with(list) && !never.err.contains("no answer was written"), "{}{}", never.out, never.err);
    assert!(garden.asked().iter().all(|key| !key.contains("\"join\"")), "{:?}", garden.asked());

    let garden = TestProject::with("join");
    let small = Ended::from(garden.command(&["run", REQUEST]).env("CALLSHEET_BUDGET_PROMPT", "30").output().unwrap());
    assert!(small.code == 0 && small.out.starts_with(list), "{}", small.err);
    assert!(small.err.contains("no answer was written from the results: "), "{}", small.err);
    let report = garden.run_file("report.md");
    assert!(report.contains("Warning: no answer was written from the results ("), "{report}");

    let script = std::fs::read_to_string(crate::support::root().join("tests/fixtures/e2e/join.toml")).unwrap();
    let (script, _) = script.split_once("[[rule]]\nphase = \"join\"").unwrap();
    let garden = TestProject::scripted(&format!("{script}[[rule]]\nphase = \"join\"\ntext = \"<think>Hm.</think>\"\n"));
    let empty = garden.expect(0, &["run", REQUEST]);
    assert!(empty.out.starts_with(list) && empty.err.contains("no answer was written"), "{}{}", empty.out, empty.err);
    let json = json_lines(&garden.expect(0, &["show", "--json"]).out).remove(0);
    assert!(json["join"]["joined"] == false && json["join"]["failed"].is_string(), "{}", json["join"]);
}

/// A reviewer hears what the result says and never read; `auto` leaves a person's sheet alone.
/// covers: 3.14, 10.9
#[test]
fn a_review_is_told_what_was_not_found() {
    let garden = TestProject::with("join");
    let sheet = std::fs::read_to_string(crate::support::root().join("tests/fixtures/e2e/join.toml")).unwrap();
    let sheet = sheet.split("'''").nth(1).unwrap().to_owned();
    garden.write("work.md", sheet);
    let ended = garden.expect(0, &["run", "--sheet", "work.md", "--set", "review=always", "--set", "jobs=1"]);
    assert!(ended.out.starts_with("Read Water 1\n"), "{}", ended.out);
    let [first, second] = ["2", "4"].map(|call| garden.expect(0, &["show", "--prompt", call]).out);
    assert!(!first.contains("were found in nothing"), "{first}");
    let told = "- `pump_needs()`\n- \"before the spring of next year\"\n- 4711\n";
    assert!(second.contains("were found in nothing that it was given:\n\n") && second.contains(told), "{second}");
}
