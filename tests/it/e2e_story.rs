//! One run from its request to its last follow-up, steered by a person in between. Each step is a process of its own, so
//! that what it goes on with can only come from the record.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;
use crate::support::terminal::{at_terminal, rest};
use expectrl::Expect;

/// What a follow-up of the notes needs: one more reader.
const MORE: &str = r#"
[[rule]]
phase = "continue"
text = '''
## Goals / summary
Say what the pump needs, too.

**plan complete**
## Tasks
### Task section 1
- **Name** Read Pump 1
- **What is needed** What the pump needs.
- **Skill** read_files
- **References** [Who](#read-water-1-results) [Rota](rota.md)
- **Expected output** A part.
'''

[[rule]]
phase = "execute"
text = '''
## Result summary
The pump needs a seal.
'''
"#;

fn run_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

/// Each task of the list with its state.
fn stands(garden: &TestProject, tasks: &[&str]) {
    let shown = garden.expect(0, &["show"]).out;
    for task in tasks {
        let (slug, state) = task.split_once(' ').unwrap();
        let line = shown.lines().find(|line| line.contains(&format!("[{slug}]")));
        assert!(line.is_some_and(|line| line.trim_end().ends_with(state)), "{task} is not in:\n{shown}");
    }
}

fn edit(garden: &TestProject, old: &str, new: &str) {
    let text = garden.run_file("sheet.md");
    assert!(text.contains(old), "{old} is missing: {text}");
    std::fs::write(garden.run_folder().join("sheet.md"), text.replacen(old, new, 1)).unwrap();
}

/// Model calls that executed a task.
fn executed(garden: &TestProject, task: &str) -> usize {
    garden.asked().iter().filter(|key| key.contains("execute") && key.contains(task)).count()
}

/// covers: 2.17, 2.18 retry, 2.18 drop, 11.5, 11.7, 11.8, 2.11, 2.15 incomplete, 2.15 complete
#[test]
fn a_run_is_denied_retried_dropped_and_continued_in_processes_of_their_own() {
    let mut garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date"]);
    let run = run_of(&garden);
    stands(&garden, &["read-water-1 done", "write-rota-1 ready", "write-thanks-1 ready"]);

    // Denial: one of two writers, with words; the other still waits.
    garden.expect(0, &["deny", &run, "write-thanks-1", "--because", "nobody is to be thanked yet"]);
    garden.expect(3, &["resume", &run]);
    stands(&garden, &["write-rota-1 ready", "write-thanks-1 denied"]);
    garden.expect(0, &["approve", &run]);
    garden.expect(3, &["resume", &run]);
    assert!(!garden.path("rota.md").exists(), "its change waits for an answer of its own");
    garden.expect(0, &["approve", &run]);
    let ended = garden.expect(5, &["resume", &run]);
    assert!(ended.err.contains("nobody is to be thanked yet"), "{}", ended.err);
    stands(&garden, &["write-rota-1 done", "write-thanks-1 denied"]);
    assert!(garden.path("rota.md").exists() && !garden.path("thanks.md").exists());

    // Retry: the denied task asks again. Drop: the person changes their mind.
    garden.expect(3, &["retry", &run, "write-thanks-1"]);
    stands(&garden, &["write-thanks-1 ready"]);
    garden.expect(0, &["drop", &run, "write-thanks-1"]);
    garden.expect(0, &["resume", &run]);
    stands(&garden, &["write-rota-1 done", "write-thanks-1 dropped"]);

    // Continuation: what is done stays done and can be referred to.
    garden.follow_text(MORE);
    let ended = garden.expect(0, &["continue", &run, "What does the pump need?"]);
    assert!(ended.out.contains("The pump needs a seal."), "{}", ended.out);
    stands(&garden, &["read-pump-1 done"]);
    let once = ["read-water-1", "write-rota-1", "read-pump-1"];
    assert_eq!(once.map(|task| executed(&garden, task)), [1, 1, 1], "nothing is done twice");
    assert_eq!(executed(&garden, "write-thanks-1"), 0);
    let sheet = garden.run_file("sheet.md");
    assert!(sheet.contains("- **State** done") && sheet.contains("- **Name** Read Pump 1"), "{sheet}");
    assert!(garden.run_file("report.md").contains("What does the pump need?"));
}

/// covers: 5.10, 2.18 before resume, 9.2, 3.4
#[test]
fn a_person_marks_what_is_no_longer_relevant_in_the_sheet() {
    let garden = TestProject::with("steered");
    garden.expect(3, &["run", "bring the notes up to date", "--set", "iterate=always"]);
    let run = run_of(&garden);
    let mark = "## No longer relevant\n- [](#read-water-1-results)\n\n";
    let text = garden.run_file("sheet.md");
    std::fs::write(garden.run_folder().join("sheet.md"), format!("{text}{mark}")).unwrap();
    let ended = garden.expect(3, &["resume", &run]);
    assert!(ended.err.contains("0 changed, 0 removed, other marks"), "{}", ended.err);
    assert!(garden.run_file("sheet.md").contains(mark), "{}", garden.run_file("sheet.md"));
    let lists = garden.count("list_adopted");
    garden.expect(3, &["resume", &run]);
    assert_eq!(garden.count("list_adopted"), lists, "its own rendering is no edit");
    // A mark is taken back by deleting it; here another one takes its place.
    edit(&garden, "- [](#read-water-1-results)\n", "- [](water.md)\n");
    garden.expect(3, &["resume", &run]);
    assert!(garden.run_file("sheet.md").ends_with("## No longer relevant\n- [](water.md)\n\n"));
    edit(&garden, "- [](water.md)\n", "- [](water.md)\n- [](#read-water-1-results)\n");
    garden.expect(0, &["resume", &run, "--headless", "approve"]);
    let number = garden.asked().iter().position(|key| key.contains("iterate")).unwrap() + 1;
    let prompt = garden.expect(0, &["show", "--prompt", &number.to_string()]).out;
    let (_, completed) = prompt.split_once("### Completed task output 1").unwrap();
    let output = completed.lines().find(|line| line.contains("**Output**")).unwrap();
    assert!(output.contains("No longer relevant; still readable as #read-water-1-results"), "{output}");
    assert!(!output.contains("Ana looks after"), "{output}");
}

/// covers: 2.18 edit, 2.18 in a round, 4.8
#[test]
fn a_broken_edit_in_a_round_changes_nothing() {
    let garden = TestProject::with("question");
    garden.write(
        ".callsheet/skills/ask_first.md",
        "---\nname: ask_first\ndescription: Ask a person before answering.\ntools: [ask_user]\nmode: loop\n---\nSay what is unclear.\n---\nAsk, then answer.\n",
    );
    let mut command = garden.command(&["run", "water the bed", "--skill", "ask_first", "--set", "iterate=always"]);
    command.env("NO_COLOR", "1");
    let mut terminal = at_terminal(command);
    terminal.expect("Which bed do you mean?").unwrap();
    let task =
        "### Task section 1\n- **Name** Read Plan 1\n- **What is needed** Spring.\n- **Skill** swim_in_the_lake\n";
    edit(&garden, "## Tasks\n", &format!("## Tasks\n{task}"));
    let broken = garden.run_file("sheet.md");
    let line = broken.lines().position(|line| line.contains("swim_in_the_lake")).unwrap() + 1;
    terminal.send_line("the fourth bed").unwrap();
    let said = rest(&mut terminal);
    terminal.get_process().wait().unwrap();
    assert!(said.contains("the edited sheet has errors") && said.contains(&format!("sheet.md:{line}:")), "{said}");
    assert!(!garden.expect(0, &["show"]).out.contains("read-plan-1"), "nothing of it was taken");
    assert_eq!(garden.run_file("sheet.md"), broken, "it is kept to be mended");
}
