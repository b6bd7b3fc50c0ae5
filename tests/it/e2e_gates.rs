//! Several gates that are open at once are shown and answered together or by task (spec 11.8), and what else a person
//! says to several things with one command.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

/// A writer, and a task that reads its output.
const CHAIN: &str = "## Goals / summary\nKnow it.\n## Tasks\n### Task section 1\n- **Name** Write First\n- **What is needed** Add rota.md.\n- **Skill** write_document\n- **Expected output** A file.\n### Task section 2\n- **Name** Read Second\n- **What is needed** What is planned.\n- **Skill** read_files\n- **References** [first](#write-first-results)\n- **Expected output** A list.\n";

const RUN: [&str; 4] = ["run", "bring the notes up to date", "--approval", "before-apply"];

fn name_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

fn both_wait() -> (TestProject, String) {
    let garden = TestProject::with("steered");
    garden.expect(3, &RUN);
    let run = name_of(&garden);
    let shown = garden.expect(0, &["show"]).out;
    for task in ["write-rota-1", "write-thanks-1"] {
        assert!(shown.contains(&format!("callsheet approve {run} {task}")), "{shown}");
    }
    assert!(shown.contains("Answer all 2 at once"), "{shown}");
    assert!(shown.contains("+# Rota") && shown.contains("+# Thanks"), "{shown}");
    (garden, run)
}

/// covers: 11.8 several gates
#[test]
fn changes_that_wait_together_are_approved_at_once() {
    let (garden, run) = both_wait();
    let noted = garden.expect(0, &["approve"]);
    assert!(noted.err.contains("saved 2 answers") && noted.err.contains(&format!("callsheet resume {run}")));
    garden.expect(0, &["resume"]);
    assert!(garden.path("rota.md").exists() && garden.path("thanks.md").exists());
}

/// covers: 11.8 several gates, 11.7
#[test]
fn of_changes_that_wait_together_each_is_answered_by_its_task() {
    let (garden, run) = both_wait();
    let refused = garden.expect(2, &["approve", &run, "read-water-1"]);
    assert!(refused.err.contains("pending: ") && refused.err.contains("write-thanks-1"), "{}", refused.err);
    let refused = garden.expect(2, &["approve", &run, "--hunks", "1"]);
    assert!(refused.err.contains("2 pending changes") && refused.err.contains("SLUG --hunks"), "{}", refused.err);
    let refused = garden.expect(2, &["show", &run, "--hunk", "1"]);
    assert!(refused.err.contains("--task SLUG"), "{}", refused.err);
    let hunk = garden.expect(0, &["show", &run, "--task", "write-thanks-1", "--hunk", "1"]).out;
    assert!(hunk.contains("# Thanks"), "{hunk}");
    garden.expect(0, &["deny", &run, "write-thanks-1", "--because", "nobody helped"]);
    garden.expect(0, &["approve", &run, "write-rota-1", "--hunks", "1"]);
    garden.expect(5, &["resume"]);
    assert!(garden.path("rota.md").exists() && !garden.path("thanks.md").exists());
}

/// covers: 11.8 several gates
#[test]
fn changes_that_wait_together_are_denied_at_once() {
    let (garden, _) = both_wait();
    garden.expect(0, &["deny", "--because", "not today"]);
    garden.expect(5, &["resume"]);
    assert!(!garden.path("rota.md").exists() && !garden.path("thanks.md").exists());
}

/// covers: 2.18 drop
#[test]
fn a_chain_is_dropped_in_any_order() {
    for together in [true, false] {
        let garden = TestProject::with("steered");
        garden.write("work.md", CHAIN);
        garden.expect(3, &["run", "--sheet", "work.md"]);
        let run = name_of(&garden);
        if together {
            garden.expect(0, &["drop", &run, "write-first", "read-second"]);
        } else {
            garden.expect(0, &["drop", &run, "write-first"]);
            garden.expect(0, &["drop", &run, "read-second"]);
        }
        let ended = garden.call(&["resume"]);
        let shown = garden.expect(0, &["show"]).out;
        for task in ["write-first", "read-second"] {
            assert!(shown.contains(&format!("[{task}]")), "{shown}");
        }
        assert_eq!(shown.matches(" dropped\n").count(), 2, "{shown}\n{}", ended.err);
    }
}

/// covers: 2.2
#[test]
fn a_sheet_says_what_it_is_for_or_is_given_a_request() {
    let garden = TestProject::with("answer");
    garden.write("list.md", "## Tasks\n- **What is needed** Who waters.\n- **Expected output** A name.\n");
    let refused = garden.expect(2, &["run", "--sheet", "list.md"]);
    assert!(refused.err.contains("Goals / summary"), "{}", refused.err);
    let checked = garden.expect(2, &["sheet", "check", "list.md"]);
    assert!(checked.out.contains("error goals-missing"), "{}", checked.out);
    assert!(garden.call(&["runs"]).out.is_empty(), "nothing was begun");
    garden.expect(0, &["run", "--sheet", "list.md", "who waters?"]);
}

/// covers: 11.8, 2.18 before resume
#[test]
fn an_answer_counts_once_though_a_broken_sheet_stops_the_resume() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-run"]);
    garden.expect(0, &["approve"]);
    let sheet = garden.run_file("sheet.md");
    let file = garden.run_folder().join("sheet.md");
    std::fs::write(&file, sheet.replace("**Skill** write_document", "**Skill** swim")).unwrap();
    garden.expect(2, &["resume"]);
    std::fs::write(&file, sheet).unwrap();
    let ended = garden.expect(0, &["resume"]);
    assert!(!ended.err.contains("was removed"), "{}", ended.err);
    assert_eq!(garden.count("gate_answered"), 1);
}

/// covers: 11.8
#[test]
fn a_slip_in_headless_is_refused() {
    let garden = TestProject::with("writer");
    let refused = garden.expect(2, &["run", "bring the notes up to date", "--headless", "aprove"]);
    assert!(refused.err.contains("Did you mean approve?"), "{}", refused.err);
}

/// covers: 11.9
#[cfg(target_os = "linux")]
#[test]
fn a_stderr_that_nobody_reads_loses_no_answer() {
    let garden = TestProject::with("answer");
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = garden.command(&["run", "who waters?"]).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!output.stdout.is_empty());
    let refused = garden.command(&["show", "nope"]).stderr(full()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// covers: 12.6
#[test]
fn a_cost_is_a_number() {
    let garden = TestProject::with("answer");
    for cost in ["nan", "inf", "-1"] {
        let refused = garden.expect(2, &["run", "who waters?", &format!("--set=limits.max_cost_usd={cost}")]);
        assert!(refused.err.contains("must be a number, 0 or more"), "{}", refused.err);
    }
}

#[test]
fn json_is_all_that_is_printed_with_json() {
    let garden = TestProject::with("answer");
    garden.expect(0, &["run", "who waters?"]);
    for (what, field) in
        [(&["--plan"][..], "/text"), (&["--task", "read-water-1"], "/summary"), (&["--call", "1"], "/reply/text")]
    {
        let shown = garden.expect(0, &[&["show", "--json"], what].concat()).out;
        let json: serde_json::Value = serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"));
        let text = json.pointer(field).and_then(serde_json::Value::as_str);
        assert!(text.is_some_and(|text| !text.is_empty()), "{shown}");
    }
}

/// Where the state folder cannot be written, nothing is begun.
///
/// covers: 2.18
#[test]
fn no_run_begins_without_a_place_for_its_record() {
    let garden = TestProject::with("writer");
    std::fs::create_dir_all(garden.home().join("state")).unwrap();
    let in_the_way = garden.home().join("state/projects");
    std::fs::write(&in_the_way, "").unwrap();
    let failed = garden.call(&["run", "bring the notes up to date"]);
    assert_eq!(failed.code, 1, "{}", failed.err);
    assert!(failed.err.contains("state/projects") && !garden.path(".callsheet/runs").exists(), "{}", failed.err);
    std::fs::remove_file(in_the_way).unwrap();
    garden.expect(3, &["run", "bring the notes up to date"]);
    garden.expect(0, &["approve"]);
}

/// covers: 2.2, 13 run names
#[test]
fn runs_that_begin_in_the_same_second_get_names_of_their_own() {
    let garden = TestProject::with("follow_up");
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = garden.command(&["run", "who waters?"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let runs = garden.expect(0, &["runs", "--json"]).out;
    assert_eq!(runs.lines().count(), 4, "{runs}");
}

/// Three writers, which one gate asks about.
fn three() -> TestProject {
    let task = |name: &str| {
        format!(
            "- **Name** {name}\n- **What is needed** Write {name}.\n- **Skill** write_document\n- **References** [Water](water.md)\n- **Expected output** A file.\n\n"
        )
    };
    let plan: String = ["One", "Two", "Three"].into_iter().map(task).collect();
    let writes = "## Result summary\n[made](made-$1.md)\n\n## Change details\n- **file_path** made-$1.md\n- **complete_file** true\n```markdown\nMade.\n```\n";
    TestProject::scripted(&format!(
        "[[rule]]\nphase = \"plan\"\ntext = '''\n## Goals / summary\nWrite.\n\n## Tasks\n### Task section 1\n{plan}'''\n\
         [[rule]]\nphase = \"iterate\"\ntext = '''\n## Tasks\n'''\n\
         [[rule]]\nlabel = '^execute (\\w+)'\nexpand = true\ntext = '''\n{writes}'''\n"
    ))
}

/// Writers that each change the first and the last line of a file of their own.
fn two_hunks_each(names: &[&str]) -> TestProject {
    let task = |name: &&str| {
        format!(
            "- **Name** {name}\n- **What is needed** Write.\n- **Skill** write_document\n- **References** [F]({name}.md)\n- **Expected output** A file.\n\n"
        )
    };
    let plan: String = names.iter().map(task).collect();
    let change = |old: &str, new: &str| {
        format!("\n## Change details\n- **file_path** $1.md\n```text\n{old}\n```\n```text\n{new}\n```\n")
    };
    let writes = format!("## Result summary\nmade\n{}{}", change("first", "FIRST"), change("last", "LAST"));
    let garden = TestProject::scripted(&format!(
        "[[rule]]\nphase = \"plan\"\ntext = '''\n## Goals / summary\nWrite.\n\n## Tasks\n### Task section 1\n{plan}'''\n\
         [[rule]]\nphase = \"iterate\"\ntext = '''\n## Tasks\n'''\n\
         [[rule]]\nlabel = '^execute (\\w+)'\nexpand = true\ntext = '''\n{writes}'''\n"
    ));
    let lines: String = (0..20).map(|line| format!("line {line}\n")).collect();
    for name in names {
        garden.write(&format!("{name}.md"), format!("first\n{lines}last\n"));
    }
    garden
}

/// covers: 11.5, 11.7, 11.8
#[test]
fn what_was_said_of_named_tasks_stands_whatever_is_said_of_the_rest() {
    let garden = three();
    garden.expect(3, &["run", "write three", "--approval", "before-run", "--set", "refine=never"]);
    let run = name_of(&garden);
    garden.expect(0, &["deny", &run, "one", "--because", "the first is old"]);
    garden.expect(0, &["deny", &run, "two", "--because", "the second is wrong"]);
    garden.expect(0, &["approve"]);
    garden.expect(5, &["resume"]);
    assert!(garden.path("made-three.md").exists());
    assert!(!garden.path("made-one.md").exists() && !garden.path("made-two.md").exists());
    let report = garden.run_file("report.md");
    assert!(report.contains("One was denied: the first is old"), "{report}");
    assert!(report.contains("Two was denied: the second is wrong"), "{report}");
}

/// covers: 11.5, 11.8
#[test]
fn of_two_words_on_one_task_the_later_counts() {
    let garden = three();
    garden.expect(3, &["run", "write three", "--approval", "before-run", "--set", "refine=never"]);
    let run = name_of(&garden);
    garden.expect(0, &["approve"]);
    garden.expect(0, &["deny", &run, "one", "--because", "wait"]);
    garden.expect(0, &["deny", &run, "two"]);
    garden.expect(0, &["approve", &run, "one"]);
    garden.expect(5, &["resume"]);
    assert!(garden.path("made-one.md").exists() && garden.path("made-three.md").exists());
    assert!(!garden.path("made-two.md").exists());
}

/// covers: 11.5, 11.8 what is said of the rest is said of no change that was refused by its task
#[test]
fn a_refused_change_stays_refused_when_the_rest_is_approved() {
    let garden = three();
    garden.expect(3, &["run", "write three", "--approval", "before-apply", "--set", "refine=never"]);
    let run = name_of(&garden);
    garden.expect(0, &["deny", &run, "one", "--because", "the first is old"]);
    garden.expect(0, &["approve"]);
    garden.expect(0, &["deny", &run, "two", "--because", "the second is wrong"]);
    garden.expect(5, &["resume"]);
    assert!(garden.path("made-three.md").exists());
    assert!(!garden.path("made-one.md").exists() && !garden.path("made-two.md").exists());
    let report = garden.run_file("report.md");
    assert!(report.contains("One was denied: the first is old"), "{report}");
    assert!(report.contains("Two was denied: the second is wrong"), "{report}");
}

/// covers: 11.4, 11.5 refused hunks stay refused; of two words on one change the later counts
#[test]
fn refused_hunks_stay_refused_when_the_rest_is_approved() {
    let garden = two_hunks_each(&["one", "two"]);
    garden.expect(3, &["run", "write", "--approval", "before-apply", "--set", "refine=never"]);
    let run = name_of(&garden);
    let named = ["approve", &run, "one", "--hunks"];
    garden.expect(0, &[&named[..], &["2"]].concat());
    garden.expect(0, &[&named[..], &["1", "--because", "no second"]].concat());
    garden.expect(0, &["approve", &run]);
    garden.expect(0, &["resume"]);
    assert!(garden.read("one.md").contains("FIRST") && !garden.read("one.md").contains("LAST"));
    assert!(garden.read("two.md").contains("FIRST") && garden.read("two.md").contains("LAST"));
    assert!(garden.run_file("report.md").contains("no second"));
}

/// covers: 11.5 there is no rest where one thing alone waits
#[test]
fn of_two_words_on_the_only_change_that_waits_the_later_counts() {
    let garden = two_hunks_each(&["two"]);
    garden.expect(3, &["run", "write", "--approval", "before-apply", "--set", "refine=never"]);
    let run = name_of(&garden);
    garden.expect(0, &["deny", &run, "two"]);
    garden.expect(0, &["approve", &run, "two", "--hunks", "1"]);
    garden.expect(0, &["approve"]);
    garden.expect(0, &["resume"]);
    assert!(garden.read("two.md").contains("FIRST") && garden.read("two.md").contains("LAST"));
}

/// Whoever reads only JSON misses nothing that the text says.
#[test]
fn json_says_what_the_text_says() {
    let parse = |text: &str| -> Vec<serde_json::Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    };
    let garden = TestProject::with("writer");
    let before = garden.files();
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply", "--json"]);
    let noted = parse(&garden.expect(0, &["approve", "--json"]).out);
    assert!(noted[0]["notice"].as_str().unwrap().contains("callsheet resume"), "{noted:?}");
    garden.expect(0, &["resume"]);
    let shown = parse(&garden.expect(0, &["show", "--json"]).out).remove(0);
    assert_eq!(shown["request"], "bring the notes up to date");
    assert_eq!((&shown["tasks"][0]["task"], &shown["tasks"][0]["state"]), (&"write-water-1".into(), &"done".into()));
    assert_eq!(shown["tasks"][0]["changed"], serde_json::json!(["minutes.md", "notes/rota.md", "water.md"]));
    assert!(shown["calls"].as_array().unwrap().iter().all(|call| call["model"].is_string()), "{shown}");
    let undone = parse(&garden.expect(0, &["undo", "--json"]).out).remove(0);
    let (restored, deleted) = (&undone["restored"], &undone["deleted"]);
    assert!(restored.as_array().unwrap().contains(&"water.md".into()), "{undone}");
    assert_eq!(deleted, &serde_json::json!(["notes/rota.md"]));
    assert_eq!(garden.files(), before);
    let again = parse(&garden.expect(0, &["undo", "--json"]).out).remove(0);
    assert_eq!((&again["restored"], &again["deleted"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert!(garden.expect(0, &["show"]).out.contains("(changes reverted)"));
    assert!(garden.run_file("report.md").contains(", undone"));
}

#[test]
fn a_plan_says_where_it_is_and_a_wrong_file_costs_no_call() {
    let garden = TestProject::with("answer");
    let refused = garden.expect(2, &["plan", "who waters?", "--output", "nowhere/plan.md"]);
    assert!(refused.err.contains("its folder does not exist"), "{}", refused.err);
    garden.expect(2, &["plan", "who waters?", "--output", "."]);
    assert!(!garden.has_store(), "nothing was begun");
    let planned = garden.expect(0, &["plan", "who waters?", "--output", "planned.md", "--json"]).out;
    let last: serde_json::Value = serde_json::from_str(planned.lines().last().unwrap()).unwrap();
    assert_eq!((&last["result"], &last["file"]), (&"planned".into(), &"planned.md".into()));
    let none = TestProject::scripted("[default]\ntext = 'no'\n");
    let failed = none.expect(4, &["plan", "who waters?", "--json"]).out;
    let last: serde_json::Value = serde_json::from_str(failed.lines().last().unwrap()).unwrap();
    assert_eq!(last["result"], "plan_failed", "{failed}");
}

/// covers: 10.8
#[test]
fn a_waiting_run_says_why_its_tasks_are_not_done() {
    let garden = TestProject::with("steered");
    garden.write("work.md", CHAIN);
    garden.expect(3, &["run", "--sheet", "work.md"]);
    let run = name_of(&garden);
    let asks =
        format!("write-first waits for your answer to approval 1: callsheet approve {run} write-first --resume\n");
    let waits = "read-second waits for write-first (waits for your answer to approval 1)\n";
    assert_eq!(garden.expect(0, &["show", "--why"]).out, format!("{asks}{waits}"));
    assert_eq!(garden.expect(0, &["show", &run, "--why", "read-second"]).out, format!("{waits}{asks}"));
    let shown = json_lines(&garden.expect(0, &["show", "--json", "--why", "write-first"]).out);
    assert_eq!(shown[0]["task"], "write-first", "{shown:?}");
    assert_eq!(shown[0]["why"], "gate", "{shown:?}");
    assert_eq!(shown[0]["gate"]["n"], 1, "{shown:?}");
    let refused = garden.expect(2, &["show", &run, "--why", "read-secnd"]);
    assert!(refused.err.contains("read-second"), "{}", refused.err);
}
