//! A person steers runs of the built binary: follow-ups, tasks again or not at all, edits of the sheet. Each step is a
//! process of its own, so everything passes through the record.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::PathBuf;

use crate::support::garden::{TestProject, is_harmless};
use crate::support::terminal::{at_terminal, exit_code, rest};
use expectrl::Expect;

fn name_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

fn sheet_of(garden: &TestProject) -> PathBuf {
    garden.run_folder().join("sheet.md")
}

/// Replaces words of the run's sheet, each of which must be there.
fn edit(garden: &TestProject, changes: &[(&str, &str)]) {
    let mut text = garden.run_file("sheet.md");
    for (old, new) in changes {
        assert!(text.contains(old), "{old} is missing: {text}");
        text = text.replacen(old, new, 1);
    }
    std::fs::write(sheet_of(garden), text).unwrap();
}

/// Each task with its state, as `show` has them.
fn states(garden: &TestProject) -> Vec<String> {
    let shown = garden.expect(0, &["show"]).out;
    let lines = shown.lines().filter(|line| line.starts_with("  ") && line.contains('['));
    lines
        .map(|line| {
            let slug = line.split(['[', ']']).nth(1).unwrap();
            format!("{slug} {}", line.split_whitespace().last().unwrap())
        })
        .collect()
}

/// covers: 2.17, 3.6, 5.1, 2.14
#[test]
fn a_follow_up_builds_on_what_is_done() {
    let garden = TestProject::with("follow_up");
    garden.expect(0, &["run", "who waters?"]);
    let run = name_of(&garden);
    let ended = garden.expect(0, &["continue", &run, "# The pump\nWhat does it need?"]);
    assert_eq!(ended.out, "The pump needs a seal.\n");
    assert!(ended.err.contains("follow-up: # The pump"), "{}", ended.err);
    assert!(ended.err.contains("model calls: 5, 1 wasted"), "{}", ended.err);
    assert_eq!(garden.count("run_continued"), 1);
    let prompt = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(prompt.contains("## New follow-up\n\n```text\n# The pump\nWhat does it need?\n```"), "{prompt}");
    assert!(prompt.contains("Ana looks after the barrels."), "{prompt}");
    assert!(prompt.contains("## Previous proposal"), "the refused list is shown: {prompt}");
    let worked = garden.expect(0, &["show", "--prompt", "5"]).out;
    assert!(worked.contains("### Asked - #the-pump"), "its heading is a reference: {worked}");
    let report = garden.run_file("report.md");
    assert!(report.contains("## Follow-ups") && report.contains("What does it need?"), "{report}");

    let ended = garden.expect(0, &["continue", &run, "Thank everybody."]);
    assert!(ended.out.contains("The pump needs a seal."), "nothing was to be done: {}", ended.out);
    let prompt = garden.expect(0, &["show", "--prompt", "6"]).out;
    assert!(prompt.contains("## Follow-ups"), "{prompt}");
    assert_eq!(garden.asked().iter().filter(|key| key.contains("execute")).count(), 2);
}

/// covers: 2.17, 12 continuation, 11.9, 2.15 iteration_failed
#[test]
fn a_follow_up_that_never_becomes_a_list_changes_nothing() {
    let mut garden = TestProject::with("follow_up");
    garden.expect(0, &["run", "who waters?"]);
    let (run, sheet) = (name_of(&garden), garden.run_file("sheet.md"));
    garden.follow("no_follow_up");
    let ended = garden.expect(4, &["continue", &run, "# The pump\nWhat does it need?"]);
    assert!(ended.err.contains("after 5 attempts"), "{}", ended.err);
    assert_eq!(garden.run_file("sheet.md"), sheet);
    assert!(!garden.run_file("report.md").contains("## Follow-ups"));
    garden.follow("follow_up");
    let ended = garden.expect(0, &["resume", &run]);
    assert_eq!(ended.out, "The pump needs a seal.\n");
    assert!(garden.run_file("report.md").contains("# The pump"));
    let empty = garden.expect(2, &["continue", &run, "  "]);
    assert!(empty.err.contains("empty"), "{}", empty.err);
}

/// covers: 2.17
#[test]
fn only_a_run_that_has_ended_is_followed_up() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let facts = garden.facts().len();
    let ended = garden.expect(2, &["continue", &name_of(&garden), "And thank everybody."]);
    assert!(ended.err.contains("has not ended") && ended.err.contains("callsheet approve"), "{}", ended.err);
    assert_eq!(garden.facts().len(), facts);
}

/// covers: 2.18 retry, 2.10 failed to planned, 2.10 blocked to planned
#[test]
fn a_failed_task_is_done_again_with_what_it_blocked() {
    let mut garden = TestProject::with("fails");
    let ended = garden.expect(5, &["run", "who waters, and how?"]);
    let run = name_of(&garden);
    assert!(ended.err.contains(&format!("callsheet retry {run} read-water-1 read-water-2")), "{}", ended.err);
    assert_eq!(states(&garden), ["read-water-1 failed", "read-water-2 blocked"]);
    let facts = garden.facts().len();
    let refused = garden.expect(2, &["retry", &run, "read-water-7"]);
    assert!(refused.err.contains("read-water-1"), "{}", refused.err);
    assert_eq!(garden.facts().len(), facts, "what is refused is not recorded");
    garden.follow("steered");
    garden.expect(0, &["retry", &run, "read-water-1", "read-water-2"]);
    assert_eq!(states(&garden), ["read-water-1 done", "read-water-2 done"]);
}

/// covers: 2.18 retry, 11.7, 2.10 denied to planned
#[test]
fn a_denied_task_that_is_done_again_asks_again() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let run = name_of(&garden);
    garden.expect(0, &["deny", "--because", "not today"]);
    garden.expect(5, &["resume"]);
    assert_eq!(states(&garden), ["write-water-1 denied"]);
    garden.expect(3, &["retry", &run, "write-water-1"]);
    assert!(garden.path("minutes.md").exists(), "it waits for approval again");
    garden.expect(0, &["approve"]);
    garden.expect(0, &["resume", "--headless", "approve"]);
    assert_eq!(states(&garden), ["write-water-1 done"]);
}

/// covers: 2.18 drop, 2.10 dropped
#[test]
fn a_task_that_waits_is_taken_off_the_list() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let run = name_of(&garden);
    let refused = garden.expect(2, &["drop", &run, "read-water-1"]);
    assert!(refused.err.contains("is done"), "{}", refused.err);
    let noted = garden.expect(0, &["drop", &run, "write-thanks-1"]);
    assert!(noted.err.contains("callsheet resume"), "{}", noted.err);
    garden.expect(3, &["resume"]);
    assert_eq!(states(&garden), ["read-water-1 done", "write-rota-1 ready", "write-thanks-1 dropped"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("1 task wants to change something"), "{shown}");
    assert!(shown.contains("Removed\n  - Write Thanks 1 [write-thanks-1]"), "{shown}");
    garden.expect(0, &["resume", "--headless", "approve"]);
    assert!(garden.path("rota.md").exists() && !garden.path("thanks.md").exists());
    garden.expect(0, &["retry", &run, "write-thanks-1", "--headless", "approve"]);
    assert!(garden.path("thanks.md").exists(), "a removed task comes back by a retry");
}

/// covers: 2.18 edit, 2.18 before resume, 6.4, 11.6, 2.10 dropped
#[test]
fn an_edit_before_a_resume_adds_changes_and_removes_tasks() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    garden.expect(0, &["approve"]);
    let thanks = garden.run_file("sheet.md");
    let thanks = thanks.split_once("- **Name** Write Thanks 1").unwrap().1.to_owned();
    edit(
        &garden,
        &[
            (&format!("- **Name** Write Thanks 1{thanks}"), ""),
            ("Add rota.md with two people a week.", "Add rota.md with three people a week."),
            (
                "### Task section 1\n",
                "### Task section 1\n- **What is needed** What is planned for spring.\n- **Skill** read_files\n- **References** [Plan](plan.md)\n- **Expected output** A list.\n### Task section 2\n",
            ),
        ],
    );
    let ended = garden.expect(3, &["resume"]);
    assert!(ended.err.contains("1 task added, 1 changed, 1 removed"), "{}", ended.err);
    assert_eq!(
        states(&garden),
        ["read-water-1 done", "read-files-1 done", "write-rota-1 ready", "write-thanks-1 dropped"]
    );
    let facts = garden.facts();
    assert!(facts.iter().any(|fact| fact["event"] == "list_adopted" && fact["origin"]["edit"].is_string()));
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("three people a week"), "the changed task waits for approval again: {shown}");
    assert!(!garden.path("rota.md").exists());
    let sheet = garden.run_file("sheet.md");
    assert!(sheet.contains("three people"), "{sheet}");
    let barrels = "What is needed** Who looks after the barrels.";
    edit(&garden, &[(barrels, "What is needed** Something else entirely.")]);
    let ended = garden.expect(3, &["resume"]);
    let sheet = garden.run_file("sheet.md");
    assert!(
        sheet.contains(barrels) && sheet.contains("Something else entirely."),
        "a new task beside the finished one"
    );
    assert!(ended.err.contains("done-changed") && ended.err.contains("1 task added"), "{}", ended.err);
    garden.expect(0, &["resume", "--headless", "approve"]);
    assert!(garden.path("rota.md").exists() && !garden.path("thanks.md").exists());
    let read = garden.asked().iter().filter(|key| key.contains("execute") && key.contains("\"read-water-1\"")).count();
    assert_eq!(read, 1, "nothing finished is done again");
}

/// covers: 2.18 edit, 11.9
#[test]
fn an_edit_of_a_finished_run_is_done() {
    let garden = TestProject::with("steered");
    garden.expect(0, &["run", "bring the notes up to date", "--headless", "approve"]);
    let again = garden.expect(0, &["resume", &name_of(&garden)]);
    assert!(!again.out.is_empty() && again.err.contains("Complete"), "its answer again: {}", again.err);
    edit(
        &garden,
        &[(
            "## Tasks\n",
            "## Tasks\n### Task section 1\n- **Name** Read Plan 1\n- **What is needed** Spring.\n- **Skill** read_files\n- **References** [Plan](plan.md)\n- **Expected output** A list.\n",
        )],
    );
    garden.expect(0, &["resume", &name_of(&garden)]);
    assert!(states(&garden).contains(&"read-plan-1 done".to_owned()));
}

/// covers: 2.18 edit, 4.8
#[test]
fn a_broken_edit_is_refused_with_its_place_and_changes_nothing() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let (facts, before) = (garden.facts().len(), states(&garden));
    edit(&garden, &[("**Skill** write_document", "**Skill** swim_in_the_lake")]);
    let broken = garden.run_file("sheet.md");
    let at = broken.lines().position(|line| line.contains("swim_in_the_lake")).unwrap() + 1;
    let ended = garden.expect(2, &["resume"]);
    assert!(ended.err.contains(&format!("sheet.md:{at}:")), "line {at}: {}", ended.err);
    assert!(ended.err.contains("skill-unknown") && ended.err.contains("write_document"), "{}", ended.err);
    assert!(is_harmless(&ended.err));
    assert_eq!((garden.facts().len(), states(&garden)), (facts, before.clone()));
    assert_eq!(garden.run_file("sheet.md"), broken, "the edit is kept for mending");
    std::fs::remove_file(sheet_of(&garden)).unwrap();
    garden.expect(3, &["resume"]);
    assert_eq!(states(&garden), before);
    assert!(garden.run_file("sheet.md").contains("write_document"));
}

/// The host wrote the sheet of an earlier moment, and it lists nothing but what is done by now.
/// covers: 2.18 edit, 10.6
#[test]
fn a_sheet_of_an_earlier_moment_says_nothing_new_of_what_is_done() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let early = garden.run_file("sheet.md");
    garden.expect(0, &["resume", "--headless", "approve"]);
    let (late, before) = (garden.run_file("sheet.md"), states(&garden));
    assert_ne!(late, early);
    std::fs::write(sheet_of(&garden), early).unwrap();
    garden.expect(0, &["resume", &name_of(&garden)]);
    assert_eq!((states(&garden), garden.run_file("sheet.md")), (before, late));
    let facts = garden.facts();
    assert!(facts.iter().any(|fact| fact["event"] == "sheet_rendered"));
    assert!(!facts.iter().any(|fact| fact["origin"]["edit"].is_string()), "no task is listed again");
}

/// A host that was killed before it wrote what it had recorded leaves the text of before, which is nobody's edit.
/// covers: 2.18 edit, 10.6
#[test]
fn a_sheet_that_was_not_written_over_is_stale() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let early = garden.run_file("sheet.md");
    garden.expect(0, &["drop", &name_of(&garden), "write-thanks-1"]);
    // The file cannot be written, so it stays what it was.
    let folder = garden.run_folder();
    let moved = folder.with_file_name("elsewhere");
    std::fs::rename(&folder, &moved).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    garden.call(&["resume"]);
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&moved, &folder).unwrap();
    assert_eq!(garden.run_file("sheet.md"), early);
    garden.expect(3, &["resume"]);
    assert!(states(&garden).contains(&"write-thanks-1 dropped".to_owned()), "{:?}", states(&garden));
    assert!(garden.run_file("sheet.md").contains("- **State** removed\n"));
}

/// covers: 2.18 edit
#[test]
fn an_edit_back_to_an_earlier_wording_is_an_edit() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-run"]);
    for (old, new) in [("thanks.md", "nothing.md"), ("nothing.md", "thanks.md"), ("thanks.md", "nothing.md")] {
        edit(&garden, &[(&format!("Add {old}."), &format!("Add {new}."))]);
        let ended = garden.expect(3, &["resume"]);
        assert!(ended.err.contains("Edit detected: 0 tasks added, 1 changed, 0 removed"), "{}", ended.err);
        assert!(garden.run_file("sheet.md").contains(&format!("Add {new}.")));
        let shown = garden.expect(0, &["show"]).out;
        assert!(shown.contains(&format!("needed: Add {new}.")), "{shown}");
    }
}

/// covers: 2.18 edit, 2.18 at the gate
#[test]
fn an_edit_back_at_an_open_gate_is_an_edit() {
    let garden = TestProject::with("steered");
    let mut terminal = at_terminal(garden.command(&["run", "bring them up to date", "--approval", "before-run"]));
    terminal.expect("needed: Add thanks.md.").unwrap();
    terminal.expect("[e] edit the sheet").unwrap();
    for (old, new) in [("thanks.md", "nothing.md"), ("nothing.md", "thanks.md")] {
        edit(&garden, &[(&format!("Add {old}."), &format!("Add {new}."))]);
        terminal.expect(format!("needed: Add {new}.")).unwrap();
        terminal.expect("[e] edit the sheet").unwrap();
    }
    terminal.send_line("y").unwrap();
    rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0);
    assert!(garden.run_file("sheet.md").contains("Add thanks.md."));
}

/// The advice of `drop`: put back as it was, it is a new task.
/// covers: 2.18 edit, 2.18 drop
#[test]
fn a_dropped_task_that_is_put_back_as_it_was_is_done() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let (run, early) = (name_of(&garden), garden.run_file("sheet.md"));
    garden.expect(0, &["drop", &run, "write-thanks-1"]);
    garden.expect(0, &["drop", &run, "write-rota-1"]);
    garden.expect(0, &["resume"]);
    assert!(!garden.path("thanks.md").exists());
    let refused = garden.expect(2, &["drop", &run, "write-thanks-1"]);
    assert!(refused.err.contains("is not in the plan any more"), "{}", refused.err);
    std::fs::write(sheet_of(&garden), early).unwrap();
    let ended = garden.expect(0, &["resume", &run, "--headless", "approve"]);
    assert!(ended.err.contains("2 tasks added"), "{}", ended.err);
    assert!(garden.path("thanks.md").exists() && garden.path("rota.md").exists());
}

/// covers: 2.18 edit, 3.4, 10.6
#[test]
fn an_edit_with_words_that_are_no_task_is_refused_and_kept() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let (before, sheet) = (states(&garden), garden.run_file("sheet.md"));
    for (edited, told) in [
        (sheet.replace("### Task section 1\n", "### Task section 1\n- Read the plan as well\n\n"), "need-missing"),
        (format!("{sheet}\nAnd thank Ana.\n"), "need-missing"),
        (format!("{sheet}\n- And thank Ben.\n"), "need-missing"),
        (format!("Thank them both.\n\n{sheet}"), "text-unread"),
        (sheet.replacen("### Task section 1\n", "### Task section 1\n<!--\n", 1) + "-->\n", "task-boundary"),
    ] {
        assert_ne!(edited, sheet);
        std::fs::write(sheet_of(&garden), &edited).unwrap();
        let ended = garden.expect(2, &["resume", "--headless", "approve"]);
        assert!(ended.err.contains(&format!("error {told}")) && ended.err.contains("sheet.md:"), "{}", ended.err);
        assert_eq!((garden.run_file("sheet.md"), states(&garden)), (edited, before.clone()));
    }
    // Whatever reading makes of it, words are kept.
    let output = "- **Output** Ana looks after the barrels.\n";
    std::fs::write(sheet_of(&garden), sheet.replace(output, &format!("{output}  and thank Cem\n"))).unwrap();
    garden.expect(3, &["resume"]);
    assert_eq!((garden.run_file("sheet.md"), states(&garden)), (sheet, before));
    assert!(garden.run_file("sheet.edited-1.md").contains("and thank Cem"));
}

/// covers: 2.18 retry, 7.5
#[test]
fn a_task_that_is_done_again_follows_its_skill_as_it_is_now() {
    let script =
        |said: &str| format!("[[rule]]\nphase = \"execute\"\ntext = \"{said}\"\n[default]\ntext = \"## Tasks\"\n");
    let mut garden = TestProject::scripted(&script("## Result summary"));
    let skill = |body: &str| format!("description: x\nwrites: false\n---\n{body}\n");
    garden.write(".callsheet/skills/look.md", skill("Look with the left eye."));
    garden.expect(5, &["run", "--skill", "look", "what is there?"]);
    let run = name_of(&garden);
    let same = garden.expect(5, &["retry", &run, "look-1"]);
    assert!(!same.err.contains("has changed"), "{}", same.err);
    garden.write(".callsheet/skills/look.md", skill("Look with the right eye."));
    garden.follow_text(&script("## Result summary\\nA door."));
    let ended = garden.expect(0, &["retry", &run, "look-1"]);
    assert!(ended.err.contains("the skill look has changed"), "{}", ended.err);
    let asked = garden.asked().iter().rposition(|key| key.contains("execute")).unwrap() + 1;
    let prompt = garden.expect(0, &["show", "--prompt", &asked.to_string()]).out;
    assert!(prompt.contains("right eye") && !prompt.contains("left eye"), "{prompt}");
}

/// What was approved could not be made, since the file is another one: the gate that asks again says why.
/// covers: 3.10, stale-lines
#[test]
fn approved_changes_that_could_not_be_made_are_told() {
    let change = "- **file_path** water.md\n- **start_line** 1\n- **end_line** 1\n```markdown\n# Rain\n```\n";
    let garden = TestProject::scripted(&format!(
        "[[rule]]\nphase = \"execute\"\ntext = \"\"\"\n## Result summary\nDone.\n## Change details\n{change}\"\"\"\n\
         [default]\ntext = \"## Tasks\"\n"
    ));
    garden.write(
        "work.md",
        "## Goals / summary\nRain.\n## Tasks\n- **Name** Write\n- **What is needed** A title.\n\
         - **Skill** write_document\n- **References** [w](water.md)\n- **Expected output** A title.\n",
    );
    garden.expect(3, &["run", "--sheet", "work.md", "--approval", "before-apply"]);
    let other = format!("Something new.\n{}", garden.read("water.md"));
    garden.write("water.md", &other);
    garden.expect(0, &["approve"]);
    let ended = garden.expect(3, &["resume"]);
    assert!(ended.err.contains("can't apply its changes") && ended.err.contains("stale-lines"), "{}", ended.err);
    assert_eq!(garden.read("water.md"), other);
    for arguments in [&["show"][..], &["show", "--task", "write"]] {
        let shown = garden.expect(0, arguments).out;
        assert!(shown.contains("accepted, but its changes could not be applied (stale-lines)"), "{shown}");
    }
    let shown = crate::support::garden::json_lines(&garden.expect(0, &["show", "--json"]).out).remove(0);
    assert_eq!(shown["calls"][0]["not_made"][0]["code"], "stale-lines");
}

/// covers: 2.18 edit, 2.18 at the gate, 11.5 edit
#[test]
fn the_editor_of_a_person_opens_at_the_gate_and_the_gate_asks_again() {
    let garden = TestProject::with("steered");
    let editor = garden.home().with_file_name("editor");
    std::fs::write(&editor, "#!/bin/sh\nsed -i \"s/$2/$3/\" \"$4\"\n").unwrap();
    let mut command = garden.command(&["run", "bring the notes up to date", "--approval", "before-run"]);
    command.env("VISUAL", format!("sh {} -- thanks.md many-thanks.md", editor.display()));
    let mut terminal = at_terminal(command);
    terminal.expect("[e] edit the sheet").unwrap();
    terminal.send_line("e").unwrap();
    terminal.expect("0 tasks added, 1 changed, 0 removed").unwrap();
    terminal.expect("needed: Add many-thanks.md.").unwrap();
    terminal.expect("[e] edit the sheet").unwrap();
    // A change from elsewhere is seen while the gate waits; a broken one is told and changes nothing.
    edit(&garden, &[("Add many-thanks.md.", "Add very-many-thanks.md.")]);
    terminal.expect("needed: Add very-many-thanks.md.").unwrap();
    terminal.expect("[e] edit the sheet").unwrap();
    edit(&garden, &[("**Skill** write_document", "**Skill** swim_in_the_lake")]);
    terminal.expect("skill-unknown").unwrap();
    terminal.send_line("y").unwrap();
    rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 3);
    assert!(!garden.path("rota.md").exists(), "what a broken edit touches does not start");
    assert!(garden.run_file("sheet.md").contains("swim_in_the_lake"), "nobody's words are lost");
}

/// covers: 2.18 edit, 2.18 in a round, 2.13
#[test]
fn an_edit_in_a_round_joins_it() {
    let garden = TestProject::with("question");
    garden.write(
        ".callsheet/skills/ask_first.md",
        "---\nname: ask_first\ndescription: Ask a person before answering.\ntools: [ask_user]\nmode: loop\n---\nSay what is unclear.\n---\nAsk, then answer.\n",
    );
    let mut command = garden.command(&["run", "water the bed", "--skill", "ask_first", "--set", "iterate=always"]);
    command.env("NO_COLOR", "1");
    let mut terminal = at_terminal(command);
    terminal.expect("Which bed do you mean?").unwrap();
    edit(
        &garden,
        &[(
            "## Tasks\n",
            "## Tasks\n### Task section 1\n- **Name** Read Plan 1\n- **What is needed** Spring.\n- **References** [Plan](plan.md)\n- **Expected output** A list.\n",
        )],
    );
    terminal.expect("1 task added").unwrap();
    terminal.send_line("the fourth bed").unwrap();
    rest(&mut terminal);
    terminal.get_process().wait().unwrap();
    assert!(states(&garden).contains(&"read-plan-1 done".to_owned()), "{:?}", states(&garden));
}

/// While a task runs and nothing asks, an edit counts at once, and what is wrong with one is told once.
/// covers: 2.18 edit, 2.18 in a round
#[test]
fn an_edit_while_a_task_runs_counts_at_once() {
    let garden = TestProject::scripted(
        "[[rule]]\nphase = \"execute\"\nuntil = \"edited\"\ntext = \"## Result summary\\nBlue.\"\n\
         [default]\ntext = \"## Tasks\"\n",
    );
    let list = "## Tasks\n- **What is needed** The colour of the door.\n- **Expected output** One word.\n";
    garden.write("list.md", format!("## Goals / summary\nKnow the house.\n{list}"));
    let mut terminal = at_terminal(garden.command(&["run", "--sheet", "list.md", "--plain"]));
    terminal.expect("list: 1 step, 1 task").unwrap();
    while !garden.path(".callsheet/runs").is_dir() || !sheet_of(&garden).is_file() {
        std::thread::yield_now();
    }
    let line = "- **Expected output** One word.";
    edit(&garden, &[(line, "- **Expected output** One word.\n- **Skill** swim_in_the_lake")]);
    let said = terminal.expect("swim_in_the_lake").unwrap();
    assert!(String::from_utf8_lossy(said.before()).contains("the edited sheet has errors"));
    let added = "\n### Task section 2\n- **What is needed** The colour of the fence.\n- **Expected output** One word.";
    edit(&garden, &[("\n- **Skill** swim_in_the_lake", added)]);
    terminal.expect("1 task added").unwrap();
    std::fs::write(garden.project().with_file_name("edited"), "").unwrap();
    let said = rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0, "{said}");
    assert!(!said.contains("tasks added") && !said.contains("has errors"), "{said}");
    assert_eq!(states(&garden).len(), 2, "{:?}", states(&garden));
}

/// A process that drives a run takes higher limits, and nothing else, from a resume in another terminal.
/// covers: 2.15 limit_reached
#[test]
fn a_limit_of_a_run_at_work_is_raised_by_a_command() {
    let garden = TestProject::scripted(
        "[[rule]]\nphase = \"execute\"\nuntil = \"raised\"\ntext = \"## Result summary\\nBlue.\"\n",
    );
    let task = |what: &str| format!("- **What is needed** The colour of {what}.\n- **Expected output** One word.\n");
    let list = format!(
        "## Goals / summary\nColours.\n## Tasks\n{}\n### Task section 2\n{}",
        task("the door"),
        task("the fence")
    );
    garden.write("list.md", list);
    let run = [
        "run",
        "--sheet",
        "list.md",
        "--plain",
        "--set",
        "refine=never",
        "--set",
        "iterate=never",
        "--set",
        "limits.max_calls=1",
    ];
    let mut terminal = at_terminal(garden.command(&run));
    terminal.expect("2 tasks").unwrap();
    let said = garden.expect(1, &["resume"]).err;
    assert!(said.contains("is running it") && said.contains("--set limits.max_calls=N"), "{said}");
    let said = garden.expect(2, &["resume", "--set", "limits.max_calls=1"]).err;
    assert!(said.contains("max_calls is 1 now"), "{said}");
    let said = garden.expect(2, &["resume", "--set", "limits.max_calls=2", "--set", "jobs=3"]).err;
    assert!(said.contains("--set jobs cannot change it now"), "{said}");
    let said = garden.expect(2, &["resume", "--set", "limits.max_calls=2", "--set", "limits.max_tokens=9000"]).err;
    assert!(said.contains("has no limit max_tokens"), "{said}");
    let said = garden.expect(0, &["resume", "--set", "limits.max_calls=2"]).err;
    assert!(said.contains("sent max_calls 2 to"), "{said}");
    terminal.expect("limit max_calls: raised to 2").unwrap();
    std::fs::write(garden.project().with_file_name("raised"), "").unwrap();
    let said = rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0, "{said}");
    assert_eq!(garden.count("limit_raised"), 1);
}

/// A writer whose change waits at its gate has not begun: it follows the edit, and asks for what it does then.
/// covers: 2.18 edit, 2.10 running
#[test]
fn a_task_that_waits_at_its_gate_follows_an_edit() {
    let garden = TestProject::with("writer");
    let mut terminal = at_terminal(garden.command(&["run", "bring the notes up to date"]));
    terminal.expect("[y] yes").unwrap();
    terminal.send_line("y").unwrap();
    terminal.expect("wants to make these changes").unwrap();
    terminal.expect("[y] yes").unwrap();
    edit(&garden, &[("delete minutes.md.", "keep minutes.md.")]);
    terminal.expect("wants to change something").unwrap();
    terminal.expect("[y] yes").unwrap();
    terminal.send_line("s").unwrap();
    rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 130);
    assert!(garden.path("minutes.md").exists(), "what was shown before the edit is not made");
    assert!(garden.run_file("sheet.md").contains("keep minutes.md."));
}

/// covers: 2.12 carried, 2.14 row 5
#[test]
fn files_that_a_summary_links_to_are_carried_to_the_next_task() {
    let garden = TestProject::with("carried");
    let ended = garden.expect(0, &["run", "what is done before spring?"]);
    assert_eq!(ended.out, "The fence is repaired.\n");
    assert!(ended.err.contains("model calls: 3, none wasted"), "{}", ended.err);
    let sheet = garden.run_file("sheet.md");
    assert_eq!(sheet.matches("**References**").count(), 2, "{sheet}");
    assert!(
        !sheet.contains("**References** [Found](#read-water-1-results) "),
        "it is never written to the sheet: {sheet}"
    );
}

/// covers: 11.5
#[test]
fn answers_left_one_after_another_all_count() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "go", "--approval", "before-run", "--set", "iterate=never"]);
    let run = garden.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    garden.expect(0, &["approve", &run, "write-thanks-1"]);
    garden.expect(0, &["deny", &run, "write-rota-1"]);
    garden.expect(5, &["resume"]);
    assert!(garden.path("thanks.md").exists() && !garden.path("rota.md").exists());
}

/// covers: 11.5
#[test]
fn of_two_answers_to_one_question_the_later_one_counts() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "go", "--approval", "before-run", "--set", "iterate=never"]);
    let run = garden.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    garden.expect(0, &["approve", &run]);
    garden.expect(0, &["deny", &run]);
    garden.expect(5, &["resume"]);
    assert!(!garden.path("thanks.md").exists() && !garden.path("rota.md").exists());
}
