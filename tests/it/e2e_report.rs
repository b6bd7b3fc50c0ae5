//! Reports, money and time, `sheet`, and `show` for programs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

const PRICES: &str = "[providers.scripted]\nprice_input = 100.0\nprice_output = 1000.0\n";

/// A run that wrote three files, with an answer of a person between two processes.
fn written() -> TestProject {
    let garden = TestProject::with("writer");
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), PRICES).unwrap();
    garden.expect(3, &["run", "Bring the <b>notes</b> up to date", "--approval", "before-apply"]);
    garden.expect(0, &["approve", "--resume"]);
    garden
}

#[test]
fn a_report_tells_what_was_asked_answered_changed_and_paid() {
    let garden = written();
    let file = garden.expect(0, &["report", "-o", "out.html"]);
    assert_eq!(file.out, "out.html\n");
    let html = garden.read("out.html");
    let order = [
        "What was asked",
        ">Answer<",
        ">Changes<",
        ">Cost and time<",
        ">Timeline<",
        ">Tasks<",
        ">Repairs and failures<",
    ];
    let places: Vec<usize> = order.iter().map(|words| html.find(words).expect(words)).collect();
    assert!(places.is_sorted(), "{places:?}");
    for words in [
        "&lt;b&gt;notes&lt;/b&gt;",
        "approved</span> by a command",
        "+Barrel 2 is mended.",
        "<svg",
        "critical",
        "waiting for you",
        "$",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!(
        !html.contains("<script") && !html.contains("<b>notes") && !html.contains("src="),
        "nothing is loaded or run"
    );
    let refused = garden.expect(2, &["report", "-o", "out.html"]);
    assert!(refused.err.contains("--force"), "{}", refused.err);
    garden.expect(0, &["report", "-o", "out.html", "--force"]);
    garden.expect(0, &["report", "-o", "out.md"]);
    assert!(garden.read("out.md").starts_with("# Report\n"));
    let printed = garden.expect(0, &["report", "-o", "-", "--format", "md"]).out;
    assert_eq!(printed, garden.read("out.md"));
}

/// A garden whose only task has this result.
fn answered(result: &str) -> TestProject {
    let garden = TestProject::scripted(&format!("[[rule]]\nphase = 'execute'\ntext = '''\n{result}'''\n"));
    garden.write("work.md", "## Goals / summary\nTry.\n## Tasks\n### Task section 1\n- **Name** Look\n- **What is needed** The level.\n- **References** [Water](water.md)\n- **Expected output** A level.\n");
    garden
}

const LOOK: &[&str] = &["run", "--sheet", "work.md", "--set", "iterate=never"];

/// covers: 2.15
#[test]
fn an_open_fence_in_a_result_ends_with_it() {
    let garden = answered("## Result summary\n```text\nthe barrel is dry\n");
    let ended = garden.expect(0, LOOK);
    assert!(!ended.err.contains("Whole result"), "{}", ended.err);
    garden.expect(0, &["report", "-o", "out.md"]);
    let text = garden.read("out.md");
    assert!(text.contains("```text\nthe barrel is dry\n```\n"), "{text}");
}

/// covers: 2.15
#[test]
fn the_whole_result_is_named_if_the_answer_is_only_its_summary() {
    let garden = answered(
        "## Result summary\nSee below.\n\n## Findings\nThe barrel behind the shed is dry, and the other one leaks at its foot.\n",
    );
    let ended = garden.expect(0, LOOK);
    assert_eq!(ended.out, "See below.\n");
    let told = ended.err.lines().find_map(|line| line.strip_prefix("Whole result: callsheet ")).expect(&ended.err);
    let words: Vec<&str> = told.split(' ').collect();
    assert!(garden.expect(0, &words).out.contains("leaks at its foot"), "{told}");
    assert!(garden.run_file("report.md").contains("See below.\n\nWhole result: tasks/look.md\n"));
    assert!(garden.run_file("tasks/look.md").contains("leaks at its foot"));
}

/// One clock and one price for every view of a run.
#[test]
fn what_a_run_cost_is_the_same_everywhere() {
    let garden = written();
    let shown = json_lines(&garden.expect(0, &["show", "--json"]).out).remove(0);
    let usd = shown["summary"]["cost_usd"].as_f64().unwrap();
    let calls: f64 =
        shown["calls"].as_array().unwrap().iter().map(|call| call["usage"]["cost_usd"].as_f64().unwrap()).sum();
    assert!(usd > 0.0 && (usd - calls).abs() < 1e-9, "{usd} {calls}");
    let words = callsheet_core::view::dollars(usd);
    assert!(garden.expect(0, &["runs"]).out.contains(&words));
    assert_eq!(json_lines(&garden.expect(0, &["runs", "--json"]).out)[0]["cost_usd"].as_f64(), Some(usd));
    assert!(garden.expect(0, &["show"]).out.contains(&format!("- cost: {words}\n")));
    assert!(garden.expect(0, &["report", "-o", "-"]).out.contains(&words));
    let time = &shown["summary"]["time"];
    assert!(time["you_ms"].as_u64().unwrap() > 0, "between the two processes it waited for a person: {time}");
    let ended = garden.expect(0, &["resume", shown["run"].as_str().unwrap()]);
    assert!(
        ended.err.contains(&format!("- cost: {words}\n")) && ended.err.contains("waiting for you"),
        "{}",
        ended.err
    );
}

#[test]
fn a_resume_says_what_it_saves() {
    let garden = TestProject::with("writer");
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), PRICES).unwrap();
    garden.expect(3, &["run", "Bring the notes up to date", "--approval", "before-apply"]);
    let resumed = garden.expect(0, &["approve", "--resume"]).err;
    let calls = garden.count("reply_received");
    assert!(resumed.contains("resumed: reuses ") && resumed.contains("; saved $") && calls > 0, "{resumed}");
}

#[test]
fn a_sheet_is_begun_checked_and_estimated() {
    let garden = TestProject::bare();
    garden.write("README.md", "# Garden\n");
    garden.expect(0, &["sheet", "new"]);
    let again = garden.expect(2, &["sheet", "new"]);
    assert!(again.err.contains("sheet.md exists"), "{}", again.err);
    let checked = garden.expect(0, &["sheet", "check", "sheet.md"]);
    assert_eq!(checked.out, "", "the template has no issues");
    assert!(
        checked.err.contains("no issues; 2 tasks in 2 sections, none changes files; 2 calls, about "),
        "{}",
        checked.err
    );
    assert!(checked.err.contains("; reads 0 files\n"), "{}", checked.err);
    garden.write("sheet.md", garden.read("sheet.md").replace("(project_description)", "(README.md)"));
    let summary = json_lines(&garden.expect(0, &["sheet", "check", "sheet.md", "--json"]).out).pop().unwrap();
    assert_eq!((&summary["summary"]["tasks"], &summary["summary"]["reads"][0]), (&2.into(), &"README.md".into()));
    garden.write("odd.md", garden.read("sheet.md").replace("read_files", "read_fils"));
    let odd = garden.expect(2, &["sheet", "check", "odd.md"]);
    assert!(odd.out.contains("\"read_fils\" does not exist") && odd.out.contains("Allowed: read_files"), "{}", odd.out);
    let paid = garden.expect(0, &["sheet", "check", "sheet.md", "--model", "openai/gpt-5-mini"]);
    assert!(paid.err.contains(", $0.00"), "{}", paid.err);
    assert!(garden.expect(2, &["sheet", "check", "none.md"]).err.contains("sheet new none.md"));
}

/// Every form of `show` is for programs too.
#[test]
fn every_form_of_show_has_fields() {
    let garden = written();
    let show = |form: &[&str]| json_lines(&garden.expect(0, &[&["show", "--json"], form].concat()).out).remove(0);
    let task = show(&["--task", "write-water-1"]);
    assert_eq!(task["read"][0]["reference"], "water.md");
    assert!(task["changes"][0]["diff"].as_str().unwrap().contains("+Barrel 2 is mended."));
    assert_eq!(task["definition"]["slug"], "write-water-1");
    let call = show(&["--call", "1"]);
    assert!(call["prompt"]["system"].is_string() && call["reply"]["text"].is_string() && call["repairs"].is_array());
    assert_eq!(show(&["--plan"])["sections"][0][0]["slug"], "write-water-1");
    let bar = show(&["--timeline"]);
    assert!(bar["kind"].is_string() && bar["critical"].is_boolean(), "{bar}");
    let text = garden.expect(0, &["show", "--task", "write-water-1"]).out;
    assert!(text.contains("Read\n  water.md (Water)\n  minutes.md (Minutes)\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "a pipe gets plain text");
}
