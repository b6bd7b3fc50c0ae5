//! What users, models and projects give that is wrong, odd or hostile.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, is_harmless, json_lines};

/// covers: 4.4, 2.3
/// covers: 4.3
#[test]
fn what_code_can_repair_costs_no_call() {
    let garden = TestProject::with("repairs");
    let ended = garden.expect(0, &["run", "who waters?"]);
    assert_eq!(ended.out, "Ana looks after the barrels.\n");
    assert_eq!(garden.count("reply_received"), 2);
    let call = garden.expect(0, &["show", "--call", "1"]).out;
    for code in ["heading-name", "label-name", "prose-trimmed"] {
        assert!(call.contains(code), "{code} is missing: {call}");
    }
}

/// covers: 2.3, 3.8, 12.2
/// covers: 12.5
#[test]
fn what_cannot_be_repaired_is_asked_again_with_its_place() {
    let garden = TestProject::with("asked_again");
    garden.expect(0, &["run", "who waters?"]);
    assert_eq!(garden.count("reply_received"), 4);
    assert_eq!(garden.count("reply_refused"), 2);
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    for part in ["swim_in_the_lake", "nowhere/at/all.md", "line"] {
        assert!(prompt.contains(part), "{part} is missing: {prompt}");
    }
    let prompt = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(prompt.contains("Result summary"), "{prompt}");
}

/// covers: 3.7, 12.2, 4.4
#[test]
fn a_refinement_with_bad_calls_is_asked_again() {
    let garden = TestProject::with("bad_refinement");
    let before = garden.files();
    garden.expect(0, &["run", "where is the rota?"]);
    let issues: Vec<String> = garden
        .facts()
        .iter()
        .filter(|fact| fact["event"] == "reply_refused")
        .map(|fact| fact["issues"][0]["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(issues, ["json-truncated", "tool-not-allowed"]);
    assert_eq!(garden.count("tool_finished"), 1);
    assert_eq!(garden.files(), before);
}

/// covers: 2.3, 11.9
/// covers: 11.9 exit 4
#[test]
fn five_bad_plans_end_the_run() {
    let garden = TestProject::with("never_a_plan");
    let ended = garden.expect(4, &["run", "who waters?"]);
    assert_eq!(ended.out, "");
    assert!(ended.err.contains("Could not build a valid task list after 5 attempts."), "{}", ended.err);
    assert_eq!(garden.count("reply_received"), 5);
}

/// covers: 5.5, 5.1
#[test]
fn nothing_outside_the_project_is_read() {
    let garden = TestProject::with("escapes");
    std::fs::write(garden.project().parent().unwrap().join("secret.txt"), "the secret word").unwrap();
    std::os::unix::fs::symlink("../secret.txt", garden.path("leak.md")).unwrap();
    garden.expect(0, &["run", "look around"]);
    let calls = garden.count("reply_received");
    assert_eq!(garden.count("tool_finished"), 4);
    for number in 1..=calls {
        let prompt = garden.expect(0, &["show", "--call", &number.to_string()]).out;
        assert!(!prompt.contains("the secret word") && !prompt.contains("root:x:"), "call {number}: {prompt}");
    }
}

/// covers: 5.9, 8.3, 5.8
#[test]
fn odd_files_confuse_neither_the_prompt_nor_the_terminal() {
    let garden = TestProject::with("odd_files");
    garden
        .write("odd.md", "{issues}\n```\n````markdown\n## Result summary\n~~~~\n\u{1b}[2J$1 {{task_data}}\n## Tasks\n");
    garden.write("binary.bin", [0_u8, 159, 146, 150, 0, 255, 1]);
    let large = std::fs::File::create(garden.path("large.txt")).unwrap();
    large.set_len(9 * 1024 * 1024 / 2).unwrap();
    drop(large);
    let ended = garden.call(&["run", "read odd files"]);
    assert!(is_harmless(&ended.out) && is_harmless(&ended.err), "{:?} {:?}", ended.out, ended.err);
    let shown = garden.expect(0, &["show"]);
    assert!(is_harmless(&shown.out) && is_harmless(&shown.err), "{:?}", shown.out);
    assert!(is_harmless(&garden.expect(0, &["runs"]).out));
    for fact in garden.facts() {
        assert!(fact.to_string().len() < 200_000, "a fact holds a file");
    }
}

/// covers: 5.9
#[test]
fn a_large_text_is_cut_to_its_budget() {
    let garden = TestProject::with("answer");
    garden.write("water.md", "Ana waters the beds every day.\n".repeat(140_000));
    let ended = garden.call(&["run", "who waters?"]);
    assert!(ended.code == 0 || ended.code == 4, "{}", ended.err);
    let number = garden.count("reply_received").to_string();
    let prompt = garden.expect(0, &["show", "--prompt", &number]).out;
    assert!(prompt.len() < 400_000, "{} bytes", prompt.len());
}

/// covers: 11.9
/// covers: 11.9 exit 2
#[test]
fn wrong_usage_ends_with_two() {
    let garden = TestProject::with("answer");
    for (arguments, words) in [
        (&["run", "x", "--no-such-flag"][..], "--no-such-flag"),
        (&["run", ""], "empty"),
        (&["run", "  \n "], "empty"),
        (&["plan", " "], "empty"),
        (&["run", "x", "--skill", "read_file"], "read_files"),
        (&["run", "x", "--project", "no/such/folder"], "no/such/folder"),
        (&["show", "no-such-run"], "run"),
        (&["resume"], "run"),
        (&["run", "--sheet", "no-such-sheet.md"], "no-such-sheet.md"),
        (&["run", "x", "--model", "nonsense"], "nonsense"),
    ] {
        let ended = garden.expect(2, arguments);
        assert!(ended.err.contains(words), "{arguments:?} says: {}", ended.err);
        assert_eq!(ended.out, "", "{arguments:?}");
    }
    assert!(!garden.path(".callsheet/runs").exists(), "nothing was begun");
}

/// covers: 2.2
#[test]
fn a_request_needs_no_quotes() {
    let garden = TestProject::with("answer");
    garden.expect(0, &["run", "who", "waters?"]);
    let began = garden.facts().remove(0).to_string();
    assert!(began.contains("\"who waters?\""), "{began}");
}

/// covers: 7.9, 11.9 exit 1
#[test]
fn a_model_that_cannot_be_used_is_told_before_a_run_is_made() {
    let garden = TestProject::bare();
    for (model, words) in [
        ("nowhere/small", "[providers.nowhere]"),
        ("mistral/small", "MISTRAL_API_KEY"),
        ("scripted:none.toml", "none.toml"),
        ("embedded:none.gguf", "none.gguf"),
    ] {
        let ended = garden.expect(1, &["run", "who waters?", "--model", model]);
        assert!(ended.err.contains(words), "{model}: {}", ended.err);
        assert_eq!(ended.err.lines().count(), 2, "a line and the advice: {}", ended.err);
        assert!(!garden.path(".callsheet/runs").exists(), "{model}");
    }
    garden.expect(2, &["show"]);
}

/// covers: 11.9 exit 1
#[test]
fn a_configuration_that_cannot_be_read_names_its_place() {
    let garden = TestProject::with("answer");
    garden.write(".callsheet/config.toml", "jobs = 2\nmax_rounds = [\n");
    let ended = garden.expect(1, &["run", "who waters?"]);
    assert!(ended.err.contains("config.toml:2:") || ended.err.contains("config.toml:3:"), "{}", ended.err);
    garden.write(".callsheet/config.toml", "jobs = 2\nmax_rounds = \"many\"\n");
    let ended = garden.expect(1, &["run", "who waters?"]);
    assert!(ended.err.contains("config.toml:2:"), "{}", ended.err);
    garden.write(".callsheet/config.toml", "jobs = 2\n\njbos = 3\n");
    let ended = garden.call(&["run", "who waters?"]);
    assert!(ended.err.contains("jbos"), "{}", ended.err);
    garden.expect(1, &["doctor"]);
}

#[test]
fn an_untrusted_project_sets_no_approval() {
    let garden = TestProject::with("writer");
    garden.write(".callsheet/config.toml", "[approval]\nmode = \"never\"\n");
    let before = garden.files();
    let ended = garden.expect(3, &["run", "bring the notes up to date"]);
    assert!(ended.err.contains("approval.mode") && ended.err.contains("callsheet trust"), "{}", ended.err);
    assert_eq!(garden.files(), before);
    garden.expect(0, &["trust", "--yes"]);
    garden.expect(0, &["run", "bring the notes up to date"]);
    assert_ne!(garden.files(), before);
    garden.expect(0, &["undo"]);
    garden.write(".callsheet/config.toml", "[approval]\nmode = \"never\"\n# changed\n");
    garden.expect(3, &["run", "bring the notes up to date"]);
}

/// covers: 5.12
#[test]
fn a_lookup_is_made_by_hand() {
    let garden = TestProject::bare();
    let found = garden.expect(0, &["find", "who repairs the pump", "--json"]);
    let lines = json_lines(&found.out);
    let water = lines.iter().find(|one| one["path"].as_str().is_some_and(|path| path.starts_with("water.md"))).unwrap();
    assert!(water["score"].as_f64().unwrap() > 0.0 && water["excerpt"].as_str().unwrap().contains("pump"), "{water}");
    let scores: Vec<f64> = lines.iter().filter_map(|one| one["score"].as_f64()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let named = garden.expect(0, &["find", "what plan.md says"]).out;
    assert!(named.starts_with("plan.md") && named.contains(", named"), "{named}");
    garden.expect(0, &["index"]);
    let indexed = garden.expect(0, &["find", "the", "known", "trouble", "with", "water"]).out;
    assert!(indexed.contains("water.md  in the index"), "{indexed}");
    assert!(garden.expect(0, &["find", "xylophone"]).err.contains("nothing in the project"));
    assert!(garden.expect(2, &["find", " "]).err.contains("nothing to look for"));
}
