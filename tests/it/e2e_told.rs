//! What is told once, and failures for programs: prompt files that are used, limits that are near, errors as JSON.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

/// Every line of the newest run's facts of one kind.
fn facts(garden: &TestProject, event: &str) -> Vec<serde_json::Value> {
    garden.facts().into_iter().filter(|fact| fact["event"] == event).collect()
}

/// covers: 8.1
#[test]
fn the_prompt_files_that_a_run_uses_are_recorded_once() {
    let garden = TestProject::with("steps");
    garden.expect(0, &["run", "read all"]);
    let used = facts(&garden, "prompts_used");
    let names: Vec<String> =
        used.iter().flat_map(|fact| fact["prompts"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()).collect();
    assert_eq!(names, ["task_creation_initial", "task_execution"], "each used one, once: {used:?}");
    assert_eq!(used[0]["prompts"]["task_creation_initial"]["source"], "bundled");
    assert_eq!(used[0]["prompts"]["task_creation_initial"]["hash"].as_str().unwrap().len(), 64);
}

/// covers: 8.1
#[test]
fn a_resumed_run_says_that_its_prompts_changed() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    let resumed = garden.expect(3, &["resume"]);
    assert!(!resumed.err.contains("has changed since"), "nothing changed: {}", resumed.err);
    let bundled = crate::support::root().join("crates/callsheet-format/prompts/task_execution_write.md");
    let own = std::fs::read_to_string(bundled).unwrap().replacen(
        "<!-- callsheet:user -->",
        "Be kind.\n<!-- callsheet:user -->",
        1,
    );
    garden.write(".callsheet/prompts/task_execution_write.md", own);
    let resumed = garden.expect(3, &["resume"]);
    assert!(resumed.err.contains("prompt task_execution_write changed since"), "{}", resumed.err);
    assert!(resumed.err.contains("note: using prompt task_execution_write from"), "{}", resumed.err);
    let again = garden.expect(3, &["resume"]);
    assert!(!again.err.contains("has changed since"), "it was said before: {}", again.err);
    let used = facts(&garden, "prompts_used");
    let hashes: Vec<&str> =
        used.iter().filter_map(|fact| fact["prompts"]["task_execution_write"]["hash"].as_str()).collect();
    assert_eq!(hashes.len(), 2, "{used:?}");
    assert_ne!(hashes[0], hashes[1]);
}

/// A limit of which four fifths are used is told in every view, and not again by a resume.
/// covers: 12.6
#[test]
fn a_limit_that_is_near_is_told_once() {
    let garden = TestProject::with("writer");
    let said = |text: &str| text.matches("limit max_calls: 2 of 2 used").count();
    let ended = garden
        .expect(3, &["run", "bring the notes up to date", "--set", "limits.max_calls=2", "--approval", "before-apply"]);
    assert_eq!(said(&ended.err), 1, "{}", ended.err);
    let ended = garden.expect(3, &["resume"]);
    assert_eq!(said(&ended.err), 0, "{}", ended.err);
    assert_eq!(facts(&garden, "limit_near").len(), 1);
    assert_eq!(said(&garden.expect(0, &["show", "--timeline"]).out), 1);
    let ended = garden.expect(
        3,
        &["run", "bring the notes up to date", "--set", "limits.max_calls=2", "--approval", "before-apply", "--json"],
    );
    let told: Vec<_> = json_lines(&ended.out).into_iter().filter(|line| line["event"] == "limit_near").collect();
    assert_eq!(told.len(), 1, "{}", ended.out);
    assert_eq!((told[0]["used"].as_f64(), told[0]["max"].as_f64()), (Some(2.0), Some(2.0)));
    let ended = garden
        .expect(3, &["run", "bring the notes up to date", "--set", "limits.max_calls=3", "--approval", "before-apply"]);
    assert_eq!(ended.err.matches("limit max_calls").count(), 0, "two thirds are not near: {}", ended.err);
}

/// A failure before a run starts is one JSON object on stdout, and words on stderr.
#[test]
fn a_failure_is_json_too() {
    let mut garden = TestProject::with("answer");
    garden.write("bad.md", "## Tasks\n- **Name** A\n");
    let check = |garden: &TestProject, code: i32, name: &str, words: &str, arguments: &[&str]| {
        let ended = garden.expect(code, arguments);
        let lines = json_lines(&ended.out);
        assert_eq!(lines.len(), 1, "{arguments:?}: {}", ended.out);
        let error = &lines[0];
        assert_eq!(error["type"], "error", "{error}");
        assert_eq!(error["code"], name, "{error}");
        assert_eq!(error["exit"], code, "{error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
        assert!(error["advice"].is_string(), "{error}");
        assert!(ended.err.contains(words), "{}", ended.err);
    };
    check(&garden, 2, "usage", "request is empty", &["run", " ", "--json"]);
    check(&garden, 2, "usage", "can't read the sheet nowhere.md", &["run", "--sheet", "nowhere.md", "--json"]);
    check(&garden, 2, "usage", "--no-such-flag", &["run", "x", "--no-such-flag", "--json"]);
    check(&garden, 2, "usage", "no runs", &["resume", "--json"]);
    garden.forget_model();
    garden.write(".callsheet/config.toml", "jobs = \"many\"\n");
    check(&garden, 1, "internal", "jobs", &["runs", "--json"]);
}

const PAIR: &str = "## Goals / summary\nSay it.\n## Tasks\n### Task section 1\n- **Name** Say\n- **What is needed** What is there.\n- **Skill** read_files\n- **References** [Water](water.md) [Plan](plan.md)\n- **Expected output** A line.\n";

/// covers: 3.12, 12 merge by model
#[test]
fn a_merge_that_falls_back_to_code_is_told() {
    let garden = TestProject::scripted(
        "[[rule]]\nphase = 'merge'\ntext = '## Result summary'\n[default]\ntext = '''\n## Result summary\nA part.\n'''\n",
    );
    let skill = std::fs::read_to_string(crate::support::root().join("skills/read_files.md")).unwrap();
    garden.write(
        ".callsheet/skills/read_files.md",
        skill.replacen("---\nname", "---\nmerge: model\nexecution: per-reference\nname", 1),
    );
    garden.write("work.md", PAIR);
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    assert!(ended.err.contains("so code merged its runs"), "{}", ended.err);
    assert!(ended.err.contains("1 retried"), "the second one repeats the first: {}", ended.err);
    assert!(garden.run_file("report.md").contains("Merged by code"));
}

/// covers: 12.3
#[test]
fn a_prompt_that_never_fits_fails_with_that_reason() {
    let garden = TestProject::scripted("[[rule]]\nfault = { kind = 'overflow', message = 'too many tokens' }\n");
    garden.write("work.md", PAIR.replace(" [Plan](plan.md)", ""));
    let ended = garden.expect(5, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    let said = ended.err.lines().find(|line| line.contains("Say failed")).unwrap_or_default().to_owned();
    assert!(said.contains("does not fit") && said.contains("too many tokens"), "{}", ended.err);
}

/// covers: 8.1
#[test]
fn a_broken_prompt_file_is_told_before_any_call() {
    let garden = TestProject::with("answer");
    garden.write(".callsheet/prompts/task_execution.md", "no separator");
    let ended = garden.expect(1, &["run", "who waters?"]);
    assert!(ended.err.contains(".callsheet/prompts/task_execution.md"), "{}", ended.err);
    assert!(!ended.err.contains("the model refused"), "{}", ended.err);
}

/// covers: 2.17
#[test]
fn a_follow_up_that_gives_way_is_named() {
    let mut garden = TestProject::with("answer");
    garden.expect(0, &["run", "who waters?"]);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    garden.follow_text("[[rule]]\nfault = { kind = 'communication', message = 'away' }\n");
    garden.expect(7, &["continue", &run, "What of the bees?"]);
    garden.follow_text("[default]\ntext = '''\n## Goals / summary\nNo more.\n\n**plan complete**\n## Tasks\n'''\n");
    let ended = garden.expect(0, &["continue", &run, "What of the wasps?"]);
    assert!(ended.err.contains("replaces an earlier one that was never planned: What of the bees?"), "{}", ended.err);
}

/// What only a dropped task could have brought back is not advised to be done again.
/// covers: 2.18 drop
#[test]
fn what_a_dropped_task_takes_with_it_is_not_to_be_retried() {
    let garden = TestProject::scripted("[default]\ntext = '''\n## Result summary\nIt is there.\n'''\n");
    let reader = |n: u32, name: &str, of: &str| {
        format!(
            "### Task section {n}\n- **Name** {name}\n- **What is needed** What is there.\n- **Skill** read_files\n- **References** {of}\n- **Expected output** A line.\n"
        )
    };
    let sheet = [
        reader(1, "W", "[Water](water.md)").replace("read_files\n", "read_files\n- **Requires user approval**\n"),
        reader(2, "X", "[](#w-results)"),
        reader(3, "Y", "[](#x-results)"),
    ];
    garden.write("work.md", format!("## Goals / summary\nSay it.\n## Tasks\n{}", sheet.concat()));
    garden.expect(3, &["run", "--sheet", "work.md"]);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    garden.expect(0, &["drop", &run, "w"]);
    let ended = garden.expect(5, &["resume", &run, "--set", "iterate=never"]);
    assert!(ended.err.contains("X could not run, because it depends on W, which was removed"), "{}", ended.err);
    assert!(!ended.err.contains("callsheet retry"), "{}", ended.err);
}

/// Whoever goes on from what a task did hears that a person took it back.
///
/// covers: 3.10, 2.17, 5.6
#[test]
fn an_undo_is_told_to_the_continuation_and_to_tasks_that_read_the_output() {
    let change = "## Result summary\nI changed [water](water.md).\n\n## Change details\n- **file_path** new.md\n- **complete_file** true\n```markdown\nNew.\n```\n";
    let more = "## Goals / summary\nLook.\n\n## Tasks\n### Task section 1\n- **Name** Look\n- **What is needed** Look at it.\n- **Skill** read_files\n- **References** [w](#write-document-1-results)\n- **Expected output** Words.\n";
    let mut garden = TestProject::scripted(&format!("[[rule]]\nphase = \"execute\"\ntext = '''\n{change}'''\n"));
    garden.expect(0, &["run", "--skill", "write_document", "write it", "--approval", "never"]);
    garden.expect(0, &["undo"]);
    let json: serde_json::Value = serde_json::from_str(&garden.expect(0, &["show", "--json"]).out).unwrap();
    assert_eq!(json["tasks"][0]["changed"], serde_json::json!([]));
    assert_eq!(json["tasks"][0]["taken_back"], serde_json::json!(["new.md"]));
    garden.follow_text(&format!(
        "[[rule]]\nphase = \"continue\"\ntext = '''\n{more}'''\n[[rule]]\nphase = \"execute\"\ntext = '''\n## Result summary\nSeen.\n'''\n[[rule]]\nphase = \"iterate\"\ntext = '''\n## Tasks\n'''\n"
    ));
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    garden.expect(0, &["continue", &run, "look at it"]);
    for call in ["2", "3"] {
        let prompt = garden.expect(0, &["show", "--prompt", call]).out;
        assert!(prompt.contains("these files do not hold them: new.md"), "{call}: {prompt}");
    }
}

/// What a person says at a gate is told in the report in a fence of its own, whatever it looks like.
///
/// covers: 4.7
#[test]
fn words_of_a_denial_are_no_structure_of_the_report() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-run"]);
    let words = "no\n## Cost\n```x\nnothing";
    garden.expect(0, &["deny", "--because", words]);
    garden.expect(5, &["resume"]);
    let report = garden.run_file("report.md");
    assert_eq!(report.lines().filter(|line| *line == "## Cost").count(), 1, "{report}");
    assert!(report.contains("was denied: no\n\n  ~~~~text\n") && report.contains("\n  ## Cost\n  ```x\n"), "{report}");
}

/// A byte order mark and the line endings of other systems are no words.
///
/// covers: 5.1
#[test]
fn a_byte_order_mark_before_the_description_and_the_request_is_left_out() {
    let garden = TestProject::with("steps");
    garden.write("AGENTS.md", "\u{feff}# A garden\r\nTwelve neighbours.\r\n");
    let mut command = garden.command(&["run", "-"]);
    let mut running = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut running.stdin.take().unwrap(), "\u{feff}read all".as_bytes()).unwrap();
    assert!(running.wait().unwrap().success());
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("# A garden\nTwelve") && prompt.contains("read all"), "{prompt}");
    assert!(!prompt.contains(['\u{feff}', '\r']), "{prompt}");
}
