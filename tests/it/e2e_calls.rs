//! Calls that cannot start, calls that fail, and material that does not fit one prompt: none of it is silently done.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const WORK: &str = "## Goals / summary\nTry.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Try\n\
    - **What is needed** Make a file.\n- **Skill** run_checks\n";
const DONE: &str = "[[rule]]\nphase = \"execute\"\ntext = '''\n## Result summary\nIt is made.\n'''\n";

/// A refinement for each call.
fn garden(calls: &[&str]) -> TestProject {
    let reply = |arguments: &&str| {
        format!(
            "[[rule.reply]]\ntext = '''\n## Task\n- **What is needed** Make a file.\n## Tool Calls\n```json\n\
             {{\"name\": \"run_command\", \"id\": \"c1\", \"arguments\": {arguments}}}\n```\n'''\n"
        )
    };
    let replies: String = calls.iter().map(reply).collect();
    let garden = TestProject::scripted(&format!("[[rule]]\nphase = \"refine\"\n{replies}{DONE}"));
    garden.write("work.md", WORK);
    garden
}

/// covers: 10.4, json-coerced
#[test]
fn a_text_is_a_line_for_the_shell_and_a_list_a_program_whatever_the_key() {
    for arguments in [
        r#"{"command": "echo a > made && true"}"#,
        r#"{"cmd": "touch made"}"#,
        r#"{"argv": ["touch", "made"]}"#,
        r#"{"command": ["touch", "made"], "shell": false}"#,
        r#"{"command": "touch made", "shell": true}"#,
    ] {
        let garden = garden(&[arguments]);
        garden.expect(0, &["run", "--sheet", "work.md", "--approval", "never"]);
        assert!(garden.path("made").exists(), "{arguments}");
        assert_eq!(garden.asked().len(), 2, "{arguments}");
    }
}

/// covers: 10.4, tool-arguments
#[test]
fn a_command_that_cannot_start_goes_back_to_refinement_before_any_gate() {
    for arguments in [
        r#"{"command": ["no-such-program-here", "x"]}"#,
        r#"{"command": ["touch made"]}"#,
        r#"{"command": "  "}"#,
        r#"{"command": []}"#,
        "{}",
        r#"{"argv": ["touch"], "command": "touch made"}"#,
    ] {
        let garden = garden(&[arguments, r#"{"command": ["touch", "made"]}"#]);
        let ended = garden.expect(3, &["run", "--sheet", "work.md"]);
        assert_eq!(garden.count("reply_refused"), 1, "{arguments}: {}", ended.err);
        garden.expect(3, &["approve", "--resume"]);
        assert!(!garden.path("made").exists());
        garden.expect(0, &["approve", "--resume"]);
        assert!(garden.path("made").exists(), "{arguments}");
    }
}

/// covers: 10.4, call-failed
#[test]
fn a_task_whose_calls_all_failed_is_refined_once_more_and_then_fails_with_what_they_said() {
    let wrong = r#"{"command": ["./not-there"]}"#;
    let garden = garden(&[wrong, r#"{"command": ["touch", "made"]}"#]);
    garden.expect(0, &["run", "--sheet", "work.md", "--approval", "never"]);
    assert!(garden.path("made").exists());
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("the call run_command ./not-there failed"), "{prompt}");

    let garden = self::garden(&[wrong, r#"{"command": ["./not-there-either"]}"#]);
    let ended = garden.expect(5, &["run", "--sheet", "work.md", "--approval", "never", "--set", "iterate=never"]);
    assert!(ended.err.contains("all its calls failed: run_command ./not-there-either"), "{}", ended.err);
    assert!(ended.err.contains("no such program"), "{}", ended.err);
    assert_eq!(garden.asked().len(), 2, "nothing is there to be judged");
}

/// Six files of about 6,000 tokens.
fn large(script: &str) -> TestProject {
    let garden = TestProject::scripted(script);
    let mut references = String::new();
    for number in 1..=6 {
        let line = format!("the value of record {number} is {number}00 and nothing else\n");
        garden.write(&format!("notes/n{number}.md"), line.repeat(24_000 / line.len()));
        references.push_str(&format!(" [N{number}](notes/n{number}.md)"));
    }
    garden.write(
        "work.md",
        format!(
            "## Goals / summary\nCompare.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Compare\n\
             - **What is needed** Which record has the largest value?\n- **Skill** answer_from_documents\n- **References**{references}\n"
        ),
    );
    garden
}

const PART: &str = "[[rule]]\nphase = \"execute\"\ntext = '''\n## Result summary\nThis part has one value.\n'''\n";

/// covers: 10.1, 3.12
#[test]
fn what_does_not_fit_one_prompt_is_put_together_by_one_more_call() {
    let garden = large(&format!(
        "{PART}[[rule]]\nphase = \"merge\"\ntext = '''\n## Result summary\nRecord six has the largest value.\n'''\n"
    ));
    let checked = garden.expect(0, &["sheet", "check", "work.md"]);
    assert!(checked.err.contains("; 7 calls,") || checked.out.contains("; 7 calls,"), "{}{}", checked.out, checked.err);
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    assert_eq!(ended.out.trim(), "Record six has the largest value.");
    assert_eq!(garden.asked().len(), 7);
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("This is part ") && prompt.contains(" of 6 of the material"), "{prompt}");
}

/// covers: 3.12
#[test]
fn parts_that_nothing_put_together_say_so_in_the_answer() {
    let merge = "[[rule]]\nphase = \"merge\"\ntext = '''\n## Result summary\n\n## Table\nNone.\n'''\n";
    let garden = large(&format!("{PART}{merge}"));
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    assert!(ended.out.starts_with("Each part below was read alone"), "{}", ended.out);
}

/// covers: 2.15
#[test]
fn a_prompt_that_alone_costs_more_than_the_limit_is_not_sent() {
    let garden = garden(&[r#"{"command": ["touch", "made"]}"#]);
    std::fs::create_dir_all(garden.home()).unwrap();
    let prices = "[providers.scripted]\nprice_input = 1000\nprice_output = 1000\n";
    std::fs::write(garden.home().join("config.toml"), prices).unwrap();
    let run = ["run", "--sheet", "work.md", "--approval", "never", "--set", "limits.max_cost_usd=0.05"];
    let ended = garden.expect(6, &run);
    assert!(ended.err.contains("max_cost"), "{}", ended.err);
    assert_eq!(garden.count("reply_received"), 0);
    garden.expect(0, &["resume", "--set", "limits.max_cost_usd=100"]);
    assert!(garden.path("made").exists());
}

/// What all runs of a project may cost within a day holds over several runs, and a run of a later day is not held by it.
///
/// covers: 12.10
#[test]
fn the_limit_of_a_day_holds_over_runs() {
    let garden = TestProject::scripted(
        "[default]\ntext = \"## Result summary\\nRead.\\n\\n## Result\\nFine.\"\nusage = { input = 100, output = 20, cost_usd = 0.04 }\n",
    );
    fn run(words: &str) -> [&str; 8] {
        let skill = "answer_from_documents";
        ["run", words, "--skill", skill, "--set", "limits.day_cost_usd=0.1", "--set", "plan=never"]
    }
    let first = garden.expect(0, &run("who waters?"));
    assert!(first.err.contains("this run may cost 0.10 US dollars more"), "{}", first.err);
    let second = garden.expect(0, &run("who mows?"));
    assert!(second.err.contains("this run may cost 0.06 US dollars more"), "{}", second.err);
    // A fork shares what was paid already.
    let newest = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    garden.expect(0, &["fork", &newest]);
    garden.expect(0, &run("who sows?"));
    let refused = garden.expect(6, &run("who digs?"));
    assert!(refused.err.contains("have spent or reserved 0.12 US dollars"), "{}", refused.err);
    assert!(refused.err.contains("raise limits.day_cost_usd"), "{}", refused.err);
}

/// A run that the limit of a day stops names that limit, and a resume keeps the run's own limit beside it.
///
/// covers: 12.10
#[test]
fn the_advice_after_the_limit_of_a_day_names_it() {
    let garden = TestProject::scripted(
        "[default]\ntext = \"## Result summary\\nRead.\"\nusage = { input = 100, output = 20, cost_usd = 0.04 }\n",
    );
    let task = |name: &str| {
        format!(
            "### Task section\n- **Name** {name}\n- **What is needed** Read {name}.\n- **Expected output** A line.\n\n"
        )
    };
    let tasks: String = ["One", "Two", "Three", "Four"].map(task).concat();
    garden.write("work.md", format!("## Goals / summary\nRead.\n\n**plan complete**\n## Tasks\n{tasks}"));
    let run = ["run", "--sheet", "work.md", "--set", "limits.day_cost_usd=0.05", "--set", "limits.max_cost_usd=0.09"];
    let ended = garden.expect(6, &run);
    assert!(ended.err.contains("day_cost_usd is used up"), "{}", ended.err);
    assert!(ended.err.contains("limit day_cost_usd: ") && !ended.err.contains("limit max_cost_usd"), "{}", ended.err);
    assert!(ended.err.contains("--set limits.day_cost_usd=N"), "{}", ended.err);
    let why = garden.expect(0, &["show", "--why"]).out;
    assert!(why.contains("--set limits.day_cost_usd=N"), "{why}");
    let ended = garden.expect(6, &["resume", "--set", "limits.day_cost_usd=9"]);
    assert!(ended.err.contains("--set limits.max_cost_usd=N"), "the run's own limit still holds: {}", ended.err);
    garden.expect(0, &["resume", "--set", "limits.day_cost_usd=9", "--set", "limits.max_cost_usd=9"]);
}
