//! Sheets, skills, tools and the other commands of the built binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

const SHEET: &str = "## Goals / summary\nSay who waters.\n## Tasks\n### Task section 1\n- **Name** Read Water 1\n- **What is needed** Who waters.\n- **Skill** read_files\n- **References** [Water](water.md)\n";

/// covers: 2.2, 2.14
#[test]
fn a_sheet_runs_without_a_plan_call() {
    let garden = TestProject::with("answer");
    garden.write("work.md", SHEET);
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    assert_eq!(ended.out, "Ana looks after the barrels.\n");
    assert_eq!(garden.count("reply_received"), 1);
}

/// covers: 2.2, 11.9
#[test]
fn a_sheet_with_errors_is_refused_with_lines() {
    let garden = TestProject::with("answer");
    garden.write("work.md", SHEET.replace("read_files", "swim_in_lakes").replace("water.md", "nowhere.md"));
    for arguments in [&["sheet", "check", "work.md"][..], &["run", "--sheet", "work.md"]] {
        let ended = garden.expect(2, arguments);
        let said = format!("{}{}", ended.out, ended.err);
        assert!(said.contains("swim_in_lakes") && said.contains("nowhere.md"), "{said}");
    }
    let ended = garden.expect(2, &["sheet", "check", "work.md"]);
    assert!(ended.out.contains("work.md:7:13: error skill-unknown"), "{}", ended.out);
    assert!(ended.out.contains("work.md:8:18: error file-missing"), "{}", ended.out);
    let ended = garden.expect(2, &["sheet", "check", "work.md", "--json"]);
    assert!(json_lines(&ended.out).iter().any(|issue| issue["code"] == "skill-unknown"), "{}", ended.out);
    assert!(!garden.path(".callsheet/runs").exists(), "nothing was begun");
}

/// Items, headings and prose below Tasks are no tasks; they are told, and nothing is begun without them.
/// covers: 3.4, 2.2
#[test]
fn plain_items_of_a_sheet_are_told_and_nothing_is_begun() {
    let garden = TestProject::with("answer");
    let goals = "## Goals / summary\nSay who waters.\n## Tasks\n";
    for tasks in [
        "1. Read water.md\n",
        "### Read water.md\nAnd tell.\n",
        "Read water.md, then tell.\n",
        "### Task section 1\nRead water.md.\n",
    ] {
        garden.write("work.md", format!("{goals}{tasks}"));
        let checked = garden.expect(2, &["sheet", "check", "work.md"]);
        assert!(
            checked.out.contains("error need-missing") && checked.out.contains("What is needed"),
            "{}",
            checked.out
        );
        let ended = garden.expect(2, &["run", "--sheet", "work.md"]);
        assert!(ended.err.contains("Read water.md") && ended.err.contains("nothing was started"), "{}", ended.err);
    }
    garden.write("work.md", format!("{goals}1. Read water.md\n"));
    let checked = garden.expect(2, &["sheet", "check", "work.md"]);
    assert!(checked.out.contains("work.md:4:4: error"), "{}", checked.out);
    garden.write("work.md", format!("{SHEET}\n- Look at the plan as well\n"));
    let ended = garden.expect(2, &["run", "--sheet", "work.md"]);
    assert!(ended.err.contains("Look at the plan as well"), "{}", ended.err);
    assert!(!garden.path(".callsheet/runs").exists(), "nothing was begun");
    // A store without runs is told of as one that is not there.
    assert!(garden.expect(0, &["runs"]).err.contains("no runs in "));
    for command in ["show", "undo", "resume"] {
        let ended = garden.expect(2, &[command]);
        assert!(ended.err.contains("no runs "), "{command}: {}", ended.err);
    }
}

/// What a check warns of is told as well when the sheet is run; a request given with it stands for goals in both.
/// covers: 2.2, 3.2
#[test]
fn a_sheet_is_checked_and_run_alike() {
    let garden = TestProject::with("answer");
    let sheet = SHEET.replace("- **Skill** read_files\n", "").replace("(water.md)", "(water.md) [open](current_file)");
    garden.write("work.md", sheet);
    let checked = garden.expect(0, &["sheet", "check", "work.md"]).out;
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    for code in ["warning skill-missing", "warning no-current-file", "warning expected-missing"] {
        assert!(checked.contains(code) && ended.err.contains(code), "{code}: {checked}{}", ended.err);
    }
    garden.write("aimless.md", SHEET.split_once("## Tasks").map(|(_, tasks)| format!("## Tasks{tasks}")).unwrap());
    let checked = garden.expect(2, &["sheet", "check", "aimless.md"]);
    assert!(checked.out.contains("error goals-missing"), "{}", checked.out);
    let checked = garden.expect(0, &["sheet", "check", "aimless.md", "who waters?"]);
    assert!(checked.out.contains("warning goals-missing"), "{}", checked.out);
    garden.expect(0, &["run", "--sheet", "aimless.md", "who waters?"]);
}

/// A check needs no model.
#[test]
fn a_sheet_is_checked_without_a_model() {
    let garden = TestProject::bare();
    garden.write("work.md", SHEET);
    garden.expect(0, &["sheet", "check", "work.md"]);
}

/// covers: 2.2
#[test]
fn a_planned_sheet_is_edited_and_run() {
    let garden = TestProject::with("answer");
    let planned = garden.expect(0, &["plan", "who waters?", "-o", "work.md"]);
    assert!(!planned.err.contains("cancelled"), "{}", planned.err);
    let listed = garden.expect(0, &["runs"]).out;
    assert!(listed.contains("  planned  "), "{listed}");
    assert!(garden.run_file("report.md").contains("Outcome: planned."));
    assert!(garden.expect(0, &["show"]).out.contains(": planned\n"));
    let sheet = garden.read("work.md");
    assert!(sheet.contains("- **Name** Read Water 1"), "{sheet}");
    garden.expect(2, &["plan", "who waters?", "-o", "work.md"]);
    garden.write("work.md", sheet.replace("Who looks after the barrels and the pump.", "Who mends the pump?"));
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("Who mends the pump?") && prompt.contains("who waters?"), "{prompt}");
    let ended = garden.expect(0, &["plan", "who waters?", "-o", "-"]);
    assert!(ended.out.contains("## Tasks"), "{}", ended.out);
}

/// covers: 2.2, 10.7
#[test]
fn a_loop_skill_calls_tools_until_it_has_an_answer() {
    let garden = TestProject::with("explore");
    let ended = garden.expect(0, &["run", "--skill", "explore_code", "where is the rota?"]);
    assert_eq!(ended.out.lines().next(), Some("The rota is described in [water](water.md)."));
    assert_eq!(garden.count("tool_finished"), 2);
    assert_eq!(garden.count("reply_received"), 2);
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("Watering follows a rota"), "{prompt}");
}

/// covers: 11.1, 11.4
#[test]
fn a_command_waits_for_its_gate() {
    let mut garden = TestProject::with("command");
    garden.expect(3, &["run", "--skill", "run_checks", "make a file"]);
    garden.expect(0, &["approve"]);
    garden.expect(3, &["resume"]);
    assert!(!garden.path("made-by-command").exists());
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("before-call") && shown.contains("made-by-command"), "{shown}");
    garden.expect(0, &["approve"]);
    garden.forget_model();
    garden.expect(0, &["resume"]);
    assert!(garden.path("made-by-command").exists());
    assert_eq!(garden.count("tool_finished"), 1);
}

/// covers: 2.14
#[test]
fn a_gate_that_waits_through_a_resume_stands_once_in_the_timeline() {
    let garden = TestProject::with("command");
    garden.expect(3, &["run", "--skill", "run_checks", "make a file"]);
    garden.expect(3, &["resume"]);
    let shown = garden.expect(0, &["show", "--timeline"]).out;
    let (bars, waits) = shown.split_once("What tasks waited for").unwrap();
    assert_eq!(bars.matches("gate 1").count(), 1, "{shown}");
    assert!(waits.lines().any(|wait| wait.contains("waits for your answer to approval 1 (not finished)")), "{shown}");
}

/// An answer to a run that asks nothing, or to a task that an edit took off the list, is not lost without a word.
/// covers: 11.8, 2.18
#[test]
fn an_answer_that_is_not_used_is_told() {
    let garden = TestProject::with("question");
    garden.write(
        ".callsheet/skills/ask_first.md",
        "---\nname: ask_first\ndescription: Ask a person first.\ntools: [ask_user]\nmode: loop\n---\nAsk.\n---\nAsk, then answer.\n",
    );
    garden.expect(3, &["run", "--skill", "ask_first", "water the bed"]);
    let sheet = garden.run_folder().join("sheet.md");
    let text = std::fs::read_to_string(&sheet).unwrap();
    let (before, rest) = text.split_once("### Task section 1").unwrap();
    let after = rest.find("\n## ").map_or("", |at| &rest[at + 1..]);
    std::fs::write(&sheet, format!("{before}{after}")).unwrap();
    let ended = garden.expect(0, &["resume", "--answer", "the fourth bed"]);
    assert!(ended.err.contains("the answer to ask-first-1 is not used"), "{}", ended.err);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    let ended = garden.expect(2, &["resume", &run, "--answer", "the fifth bed"]);
    assert!(ended.err.contains("asks nothing now, so the answer was not used"), "{}", ended.err);
}

/// covers: 2.15, 11.9
#[test]
fn a_question_waits_for_its_answer() {
    let mut garden = TestProject::with("question");
    garden.write(
        ".callsheet/skills/ask_first.md",
        "---\nname: ask_first\ndescription: Ask a person before answering. Use it when the request is not clear.\ntools: [ask_user]\nmode: loop\n---\nSay what is unclear.\n---\nAsk, then answer.\n",
    );
    let ended = garden.expect(3, &["run", "--skill", "ask_first", "water the bed"]);
    assert!(ended.err.contains("--answer"), "{}", ended.err);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("Which bed do you mean?"), "{shown}");
    garden.follow("question_answered");
    let ended = garden.expect(0, &["resume", "--answer", "the fourth bed"]);
    assert_eq!(ended.out, "Bed 4 it is.\n");
    assert_eq!(garden.count("question_answered"), 1);
}

#[test]
fn json_is_all_there_is_on_stdout() {
    let garden = TestProject::with("answer");
    let ended = garden.expect(0, &["run", "who waters?", "--json"]);
    let lines = json_lines(&ended.out);
    let watched: Vec<_> = lines.iter().filter(|line| line.get("event").is_some()).cloned().collect();
    assert_eq!(watched, garden.facts());
    assert_eq!(lines.last().unwrap()["result"], "complete");
    assert_eq!(lines.last().unwrap()["answer"], "Ana looks after the barrels.");
    let ended = garden.expect(0, &["runs", "--json"]);
    assert_eq!(json_lines(&ended.out).len(), 1);
    json_lines(&garden.expect(0, &["show", "--json"]).out);
    let mut doctor = garden.command(&["doctor", "--json"]);
    doctor.env("CALLSHEET_MODEL", "scripted:somewhere.toml");
    let doctor = crate::support::garden::Ended::from(doctor.output().unwrap());
    assert!(json_lines(&doctor.out).len() > 3);
    assert_eq!(doctor.code, 0, "{}", doctor.out);
    assert_eq!(garden.call(&["doctor"]).code, 1, "no model is named or found");
}

#[test]
fn completions_are_printed() {
    let garden = TestProject::bare();
    let ended = garden.expect(0, &["completions", "bash"]);
    assert!(ended.out.contains("_callsheet()") && ended.err.is_empty());
}

#[test]
fn a_recording_is_replayed_without_the_model() {
    let mut garden = TestProject::with("answer");
    let first = garden.expect(0, &["run", "who waters?", "--record", "tapes"]);
    garden.follow("never_a_plan");
    let model = format!("scripted:{}", crate::support::root().join("tests/fixtures/e2e/answer.toml").display());
    let second = garden.expect(0, &["run", "who waters?", "--replay", "tapes", "--model", &model]);
    assert_eq!(first.out, second.out);
    assert_eq!(garden.count("reply_received"), 2);
    let other = garden.call(&["run", "something else", "--replay", "tapes", "--model", &model]);
    assert_ne!(other.code, 0, "a call that was never recorded has no reply");
}

/// covers: 5.5, 5.7
#[test]
fn a_page_that_cannot_be_had_fails_its_task_before_a_model_is_asked() {
    let garden =
        TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"## Result summary\\nI know nothing.\\n\"\n");
    garden.write(
        "page.md",
        "## Original prompt\nRead the page.\n## Goals / summary\nRead.\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Read Page 1\n- **What is needed** What the page says.\n- **Skill** read_files\n- **References** [page](http://127.0.0.1:9/x)\n- **Expected output** A line.\n",
    );
    let ended = garden.expect(
        5,
        &["run", "--sheet", "page.md", "--set=allow_http=true", "--set", "iterate=never", "--set", "refine=never"],
    );
    assert!(ended.err.contains("Read Page 1 failed") && ended.err.contains("http://127.0.0.1:9/x"), "{}", ended.err);
    assert_eq!(garden.count("reply_received"), 0);
}

/// covers: 5.1, 2.2
#[test]
fn a_sheet_refers_to_the_headings_of_its_own_prompt() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"## Result summary\\nIt is old.\\n\"\n");
    garden.write(
        "own.md",
        "## Original prompt\n```text\n# The pump\nIt is old.\n```\n## Goals / summary\nRead.\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Read Pump 1\n- **What is needed** How old the pump is.\n- **Skill** read_files\n- **References** [pump](#the-pump)\n- **Expected output** A line.\n",
    );
    let ended = garden.expect(0, &["run", "--sheet", "own.md"]);
    assert!(ended.out.contains("It is old."), "{}", ended.out);
    // The text that is given with a sheet is its request, and stands in for its own.
    let given = ["run", "--sheet", "own.md", "# The well\nIt is deep."];
    garden.write("own.md", garden.read("own.md").replace("#the-pump", "#the-well"));
    garden.expect(2, &["run", "--sheet", "own.md"]);
    garden.expect(0, &["sheet", "check", "own.md", "# The well\nIt is deep."]);
    garden.expect(0, &given);
}

/// Two references, read one by one; each hands over a file of the same name.
const TWICE: &str = "## Goals / summary\nList what is named.\n## Tasks\n### Task section 1\n- **Name** List Plan\n- **What is needed** What is long.\n- **Skill** read_files\n- **References** [Water](water.md)\n### Task section 2\n- **Name** List\n- **What is needed** What is named.\n- **Skill** read_files\n- **References** [Water](water.md) [Plan](plan.md)\n### Task section 3\n- **Name** Compare\n- **What is needed** Which is longer.\n- **Skill** read_files\n- **References** [](task://list/names.csv) [](task://list/names-plan.csv)\n";

fn lists(mark: &str, content: &str) -> String {
    format!(
        "[[rule]]\nlabel = 'execute list \\(.*'\nprompt = '{mark}'\ntext = '''\n## Result summary\nListed {content}.\n\n## Details\n- **Filename** names.csv\n```csv\n{content}\n```\n'''\n\n"
    )
}

fn one_by_one(garden: &TestProject, merge: &str) {
    let skill = std::fs::read_to_string(crate::support::root().join("skills/read_files.md")).unwrap();
    let skill = skill.replacen("---\nname", &format!("---\nmerge: {merge}\nexecution: per-reference\nname"), 1);
    garden.write(".callsheet/skills/read_files.md", skill);
}

/// covers: 3.8, 3.12, 10.6
#[test]
fn files_of_one_name_that_several_runs_hand_over_are_all_kept() {
    let rest = "[default]\ntext = '''\n## Result summary\nThe second.\n'''\n";
    for merge in ["code", "model"] {
        let script = lists("Four rain barrels", "barrels") + &lists("Before spring", "beds") + rest;
        let garden = TestProject::scripted(&script);
        one_by_one(&garden, merge);
        garden.write("work.md", TWICE);
        garden.expect(0, &["run", "--sheet", "work.md"]);
        assert_eq!(garden.run_file("details/list/names.csv"), "barrels\n");
        assert_eq!(garden.run_file("details/list/names-plan.csv"), "beds\n");
        let report = garden.run_file("report.md");
        for link in ["[names.csv](task://list/names.csv)", "[names-plan.csv](task://list/names-plan.csv)"] {
            assert_eq!(report.matches(link).count(), 1, "{merge}: {link} in\n{report}");
        }
        assert!(!report.contains("ref-1"), "{merge}: {report}");
        assert!(garden.run_file("tasks/list--water.md").contains("Listed barrels."), "the run's own file");
        assert!(garden.run_file("tasks/list--plan.md").contains("Listed beds."), "the run's own file");
        assert!(garden.run_file("tasks/list-plan.md").contains("The second."), "the task of that name");
        let calls = 1..=garden.count("reply_received");
        let prompts = calls.map(|n| garden.expect(0, &["show", "--prompt", &n.to_string()]).out);
        let compared: String = prompts.filter(|prompt| prompt.contains("Which is longer.")).collect();
        assert!(compared.contains("barrels") && compared.contains("beds"), "{compared}");
    }
}

/// A garden with this many beds, and a sheet that compares them.
fn beds(count: usize, content: &str, skill: &str) -> TestProject {
    let garden = TestProject::scripted("[default]\ntext = '''\n## Result summary\nBed 3 holds no beans.\n'''\n");
    let mut links = String::new();
    for n in 1..=count {
        garden.write(&format!("bed{n}.md"), format!("This is bed number {n}.\n{content}"));
        links.push_str(&format!(" [Bed {n}](bed{n}.md)"));
    }
    garden.write(
        "work.md",
        format!(
            "## Goals / summary\nCompare.\n## Tasks\n- **Name** Compare\n- **What is needed** Which bed differs from the others.\n- **Skill** {skill}\n- **References**{links}\n- **Expected output** Its number.\n"
        ),
    );
    garden
}

/// covers: 10.1 references
#[test]
fn a_comparison_sees_all_that_it_links_in_one_call() {
    for count in [2, 6] {
        let garden = beds(count, "Beans.\n", "read_files");
        let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
        assert_eq!(garden.count("reply_received"), 1, "{}", ended.err);
        let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
        for n in 1..=count {
            assert!(prompt.contains(&format!("This is bed number {n}.")), "bed {n} of {count} in {prompt}");
        }
        assert!(!ended.err.contains("too large"), "{}", ended.err);
    }
}

/// covers: 10.1 per-reference, 5.8, over-budget
#[test]
fn what_is_too_large_for_one_prompt_is_read_one_by_one_and_that_is_told() {
    let large = "Tomatoes, beans, chard and marigolds.\n".repeat(700);
    let garden = beds(4, &large, "read_files");
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    assert!(ended.err.contains("its references are too large for one prompt"), "{}", ended.err);
    assert!(ended.err.contains("execute compare (Bed 4)"), "{}", ended.err);
    assert_eq!(garden.count("reply_received"), 5, "four parts, and one call over them");
    let report = garden.run_file("report.md");
    assert!(report.contains("Read one by one"), "{report}");
    assert!(garden.run_file("tasks/compare--bed-4.md").contains("no beans"));
    for text in [ended.out, ended.err, report, garden.expect(0, &["show", "--task", "compare"]).out] {
        assert!(!text.contains("ref-1"), "{text}");
    }

    let garden = beds(4, &large, "compare");
    garden.write(
        ".callsheet/skills/compare.md",
        "---\nname: compare\ndescription: Compares.\nexecution: together\n---\nCompare what is linked.\n",
    );
    // Who asks for one evaluation is not given several.
    let said = garden.expect(2, &["sheet", "check", "work.md"]).out;
    assert!(said.contains("over-budget"), "{said}");
}

/// covers: 10.5
#[test]
fn what_finished_of_a_failed_task_is_told_to_the_person_and_to_the_iteration() {
    let script = "[[rule]]\nlabel = 'execute list \\(.*'\nprompt = 'Before spring'\ntext = '## Result summary'\n\n"
        .to_owned()
        + &lists("Four rain barrels", "barrels")
        + "[[rule]]\nphase = 'iterate'\ntext = '''\n## Tasks\n**plan complete**\n'''\n";
    let garden = TestProject::scripted(&script);
    one_by_one(&garden, "code");
    let list = TWICE.split("### Task section ").nth(2).unwrap().replacen('2', "1", 1);
    garden.write("work.md", format!("## Goals / summary\nList.\n## Tasks\n### Task section {list}"));
    let ended = garden.call(&["run", "--sheet", "work.md", "--set", "iterate=always"]);
    assert_eq!(ended.code, 5, "{}", ended.err);
    let report = garden.run_file("report.md");
    let kept = report.split("## Finished parts of failed tasks").nth(1).unwrap_or_else(|| panic!("{report}"));
    assert!(kept.contains("### List, Water") && kept.contains("Listed barrels."), "{report}");
    assert!(kept.contains("File: details/list/names.csv"), "{report}");
    assert_eq!(garden.run_file("details/list/names.csv"), "barrels\n");
    let calls = garden.count("reply_received");
    let prompt = garden.expect(0, &["show", "--prompt", &calls.to_string()]).out;
    assert!(prompt.contains("Problems in this round") && prompt.contains("Listed barrels."), "{prompt}");
}

/// covers: 5.1
#[test]
fn a_check_knows_the_file_that_is_said_to_be_open() {
    let garden = TestProject::bare();
    garden.write("work.md", SHEET.replace("(water.md)", "(current_file)") + "- **Expected output** A name.\n");
    let ended = garden.expect(0, &["sheet", "check", "work.md"]);
    assert!(ended.out.contains("no-current-file"), "{}", ended.out);
    let ended = garden.expect(0, &["sheet", "check", "work.md", "--current-file", "water.md"]);
    assert_eq!(ended.out, "", "{}", ended.err);
}

/// covers: 2.17, 2.18 before resume
#[test]
fn a_follow_up_beside_a_broken_edit_is_to_be_said_again() {
    let garden = TestProject::with("answer");
    garden.write("work.md", SHEET);
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let sheet = garden
        .run_file("sheet.md")
        .replace("## Tasks", "## Tasks\n### Task section 1\n- **Name** X\n- **Skill** swim\n");
    std::fs::write(garden.run_folder().join("sheet.md"), sheet).unwrap();
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    let ended = garden.expect(2, &["continue", &run, "And the bees?"]);
    assert!(ended.err.contains(&format!("then: callsheet continue {run} …")), "{}", ended.err);
    let ended = garden.expect(2, &["resume", &run]);
    assert!(ended.err.contains(&format!("then: callsheet resume {run}")), "{}", ended.err);
}

/// Whoever goes on hears of all that did not come out, though an iteration has heard of it before.
///
/// covers: 2.17, 8.7
#[test]
fn a_follow_up_hears_of_what_failed() {
    let mut garden = TestProject::with("fails");
    garden.expect(5, &["run", "who waters, and how?"]);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    garden.follow_text(
        "[[rule]]\nphase = \"continue\"\ntext = '''\n## Goals / summary\nNothing more.\n\n## Tasks\n'''\n",
    );
    garden.call(&["continue", &run, "And the bees?"]);
    let calls = garden.count("reply_received");
    let prompt = garden.expect(0, &["show", "--prompt", &calls.to_string()]).out;
    assert!(prompt.contains("And the bees?"), "{prompt}");
    assert!(prompt.contains("**Read Water 1** failed") && prompt.contains("**Read Water 2**"), "{prompt}");
}

const CHECKLIST: &str =
    "# Watering\n\n- [x] Ask Ana\n- [ ] read water.md and name who waters\n- [ ] Say it in a word\n";

/// A checklist runs from top to bottom; each item gets the result of the one above it, and what is checked off is told.
/// covers: 3.15, item-done
#[test]
fn a_checklist_is_run_like_a_sheet() {
    let garden = TestProject::with("answer");
    garden.write("todo.md", CHECKLIST);
    let ended = garden.expect(0, &["run", "--sheet", "todo.md"]);
    assert_eq!(ended.out, "Ana looks after the barrels.\n");
    assert!(ended.err.contains("checked off, so not run: Ask Ana"), "{}", ended.err);
    assert_eq!(garden.count("reply_received"), 2);
    let prompt = garden.expect(0, &["show", "--call", "2"]).out;
    assert!(prompt.contains("Say it in a word") && prompt.contains("Ana looks after the barrels."), "{prompt}");
    assert!(!prompt.contains("Four rain barrels"), "the second item names no file:\n{prompt}");
    let checked = garden.expect(0, &["sheet", "check", "todo.md"]);
    assert!(checked.out.contains("todo.md:3: note item-done"), "{}", checked.out);
    garden.write("todo.md", CHECKLIST.replace("in a word", "in a word, after: the moon"));
    let ended = garden.expect(2, &["run", "--sheet", "todo.md"]);
    assert!(ended.err.contains("todo.md:5:32: error anchor-missing"), "{}", ended.err);
}

/// covers: 3.15
#[test]
fn a_checklist_and_a_sheet_are_written_as_each_other() {
    let garden = TestProject::bare();
    garden.write("todo.md", CHECKLIST);
    let sheet = garden.expect(0, &["sheet", "fmt", "todo.md", "-o", "work.md"]);
    assert!(sheet.err.contains("\"Ask Ana\", which is checked off"), "{}", sheet.err);
    let back = garden.expect(0, &["sheet", "fmt", "work.md"]);
    assert_eq!(back.out, CHECKLIST.replace("# ", "").replace("- [x] Ask Ana\n", ""));
    assert!(!back.err.contains("note"), "{}", back.err);
    assert_eq!(garden.expect(0, &["sheet", "fmt", "work.md", "--to", "sheet"]).out, garden.read("work.md"));
    assert!(garden.expect(2, &["sheet", "fmt", "todo.md", "-o", "work.md"]).err.contains("work.md exists"));
    let call = "```json\n{\"name\": \"search_text\", \"arguments\": {\"pattern\": \"pump\"}}\n```\n";
    garden.write("work.md", SHEET.replace("read_files", "find_code") + call);
    let told = garden.expect(0, &["sheet", "fmt", "work.md", "--to", "checklist"]).err;
    assert!(told.contains("does not contain Tool Calls of \"Read Water 1\""), "{told}");
}
