//! Checks of changes on a copy of the project, through the built binary.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

const SHEET: &str = "## Goals / summary\nA new week.\n## Tasks\n### Task section 1\n- **Name** Write\n\
    - **What is needed** Write notes/week.md, for week 40.\n- **Skill** edit_code\n- **References** [Water](water.md)\n\
    - **Expected output** The week.\n";

/// A writer that makes `notes/week.md`, with one text after the other.
fn garden(texts: &[&str]) -> TestProject {
    let reply = |text: &&str| {
        format!(
            "[[rule.reply]]\ntext = '''\n## Change details\n- **file_path** notes/week.md\n- **complete_file** true\n```\n{text}\n```\n\
             ## Result summary\nThere it is.\n'''\n"
        )
    };
    let replies: String = texts.iter().map(reply).collect();
    let garden = TestProject::scripted(&format!("[[rule]]\nphase = 'execute'\n{replies}"));
    garden.write("work.md", SHEET);
    let config = "iterate = 'never'\n[checks]\ntest = [\"sh\", \"-c\", \"echo looked; echo spoiled > water.md; grep -q Ana notes/week.md\"]\n";
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    garden
}

const RUN: [&str; 5] = ["run", "--sheet", "work.md", "--approval", "before-apply"];

/// covers: 10.10, 11.4
#[test]
fn changes_that_pass_come_to_the_gate_and_the_check_touches_nothing() {
    let garden = garden(&["week 40: Ana"]);
    let before = garden.files();
    let ended = garden.expect(3, &RUN);
    assert!(ended.err.contains("the check test passed"), "{}", ended.err);
    assert_eq!(garden.files(), before, "it ran on a copy");
    let shown = garden.expect(0, &["show"]);
    assert!(shown.out.contains("The check test passed on a copy"), "{}", shown.out);
    let json: serde_json::Value = serde_json::from_str(&garden.expect(0, &["show", "--json"]).out).unwrap();
    assert!(json.to_string().contains(r#""check":{"name":"test","end":"passed","output":"looked"}"#), "{json}");
    garden.expect(0, &["approve", "--resume"]);
    assert_eq!(garden.read("notes/week.md"), "week 40: Ana\n");
    assert_eq!(garden.count("changes_checked"), 1);
}

/// covers: 10.10, check-failed
#[test]
fn a_failed_check_is_told_once() {
    let garden = garden(&["week 40: Ben", "week 40: Ana"]);
    garden.expect(3, &RUN);
    let second = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(second.contains("the check \"test\" failed") && second.contains("```text\nlooked\n```"), "{second}");
    let ends: Vec<String> =
        garden.facts().iter().filter_map(|fact| fact["check"]["end"].as_str().map(str::to_owned)).collect();
    assert_eq!(ends, ["failed", "passed"]);
}

/// covers: 10.10, 14.6
#[test]
fn a_check_that_fails_twice_is_left_to_the_person() {
    let garden = garden(&["week 40: Ben", "week 40: Cem"]);
    garden.expect(3, &RUN);
    assert_eq!(garden.count("reply_received"), 2);
    let shown = garden.expect(0, &["show"]);
    assert!(shown.out.contains("The check test FAILED") && shown.out.contains("  | looked\n"), "{}", shown.out);
    garden.expect(5, &["deny", "--resume"]);
    assert!(!garden.path("notes/week.md").exists());
    let junit = garden.expect(0, &["report", "--format", "junit", "-o", "-"]).out;
    assert!(junit.contains("tests=\"2\" failures=\"2\" errors=\"0\" skipped=\"0\""), "{junit}");
    let task = junit.lines().find(|line| line.contains("name=\"write\"")).unwrap();
    assert!(!task.contains("time=\"0.000\""), "{junit}");
    let failed = "message=\"the check test failed\">looked</failure></testcase>";
    assert!(junit.contains("name=\"write: test\"") && junit.contains(failed), "{junit}");
    let sarif = json_lines(&garden.expect(0, &["report", "--format", "sarif", "-o", "-"]).out);
    let rules: Vec<_> = sarif[0]["runs"][0]["results"].as_array().unwrap().iter().map(|one| &one["ruleId"]).collect();
    assert_eq!(rules, ["task-failed", "check-failed"]);
    let results = sarif[0]["runs"][0]["results"].as_array().unwrap();
    let place = |result: &serde_json::Value| {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap().to_owned()
    };
    let sheets = results.iter().filter(|result| place(result).ends_with("/sheet.md"));
    assert_eq!(sheets.count(), 2, "nothing was changed, so the sheet of the run is the place: {results:?}");
}

/// covers: 10.10, 14.6, 2.15
#[test]
fn a_failed_check_without_a_gate_is_named_at_the_end_and_in_every_report() {
    let garden = garden(&["week 40: Ben", "week 40: Cem"]);
    let config = "iterate = 'never'\n[checks]\ntest = ['sh', '-c', 'printf \"\\033[31mbad\"; exit 1']\n";
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    let ended = garden.expect(0, &["run", "--sheet", "work.md", "--approval", "never"]);
    let told = "write: the check test failed, and its changes remain";
    let last = ended.err.split("Complete").last().unwrap();
    assert!(last.contains(told), "{}", ended.err);
    assert!(garden.run_file("report.md").contains(&format!("## Checks that did not pass\n\n- {told}\n")));
    let sarif = json_lines(&garden.expect(0, &["report", "--format", "sarif", "-o", "-"]).out);
    let result = &sarif[0]["runs"][0]["results"][0];
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "notes/week.md", "{result}");
    let text = result["message"]["text"].as_str().unwrap();
    assert!(text.contains("\u{241b}[31mbad") && !text.contains('\u{1b}'), "{text}");
    garden.expect(0, &["undo"]);
    let undone = garden.expect(0, &["report", "-o", "-", "--format", "md"]).out;
    assert!(!undone.contains("Checks that did not pass"), "{undone}");
}

/// A project cannot set a command by itself.
/// covers: 10.10, 12.7
#[test]
fn the_check_of_a_project_that_is_not_trusted_does_not_run() {
    let garden = garden(&["week 40: Ben"]);
    std::fs::remove_file(garden.home().join("config.toml")).unwrap();
    garden.plant(".callsheet/config.toml", "[checks]\ntest = \"touch checked\"\n");
    let ended = garden.expect(3, &RUN);
    assert!(ended.err.contains("ignored: checks.test"), "{}", ended.err);
    assert_eq!(garden.count("changes_checked"), 0);
    garden.expect(0, &["trust", "--yes"]);
    garden.expect(3, &RUN);
    let facts = garden.facts();
    assert!(facts.iter().any(|fact| fact["check"]["end"] == "passed") && !garden.path("checked").exists());
}

/// covers: 10.10
#[test]
fn a_check_that_cannot_start_goes_to_the_gate() {
    let garden = garden(&["week 40: Ana"]);
    std::fs::write(garden.home().join("config.toml"), "[checks]\ntest = \"no-such-program-here\"\n").unwrap();
    garden.expect(3, &RUN);
    let shown = garden.expect(0, &["show"]);
    assert!(shown.out.contains("The check test did not run") && shown.out.contains("no such program"), "{}", shown.out);
    let gates = json_lines(&garden.expect(0, &["show", "--json"]).out);
    assert!(gates[0].to_string().contains(r#""end":"not_run""#), "{gates:?}");
}
