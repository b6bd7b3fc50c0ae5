//! Texts of an earlier moment, as a person's editor, a skill file or a changed file holds them: what is done is not done
//! again, what was dropped comes back as it was, and what does not hold any more is told.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::Stdio;

use crate::support::garden::{Ended, TestProject, json_lines};

const DONE: &str = "[[rule]]\nphase = \"execute\"\ntext = \"## Result summary\\nAna waters.\"\n";
const NOTHING_LEFT: &str = "[default]\ntext = \"## Tasks\"\n";

/// Each task in a step of its own.
fn sheet(tasks: &[String]) -> String {
    let steps: String = (1..).zip(tasks).map(|(n, task)| format!("### Task section {n}\n{task}")).collect();
    format!("## Goals / summary\nG.\n\n**plan complete**\n## Tasks\n{steps}")
}

fn task(name: &str, need: &str, skill: &str, references: &str) -> String {
    let read = if references.is_empty() { String::new() } else { format!("- **References** {references}\n") };
    format!(
        "- **Name** {name}\n- **What is needed** {need}\n- **Skill** {skill}\n{read}- **Expected output** Text.\n\n"
    )
}

/// A rule for the execution of a task.
fn executes(task: &str, reply: &str) -> String {
    format!("[[rule]]\nlabel = \"^execute {task}\"\ntext = '''\n{reply}\n'''\n")
}

fn new_file(path: &str) -> String {
    format!("## Change details\n- **file_path** {path}\n- **complete_file** true\n```markdown\nNew.\n```\n")
}

fn run_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

fn states(garden: &TestProject) -> Vec<String> {
    let shown = json_lines(&garden.expect(0, &["show", "--json"]).out).remove(0);
    let tasks = shown["tasks"].as_array().unwrap().iter();
    tasks.map(|task| format!("{} {}", task["task"].as_str().unwrap(), task["state"].as_str().unwrap())).collect()
}

/// Puts a text into the sheet of the run.
fn save(garden: &TestProject, text: &str) {
    std::fs::write(garden.run_folder().join("sheet.md"), text).unwrap();
}

/// The sheet as it is, with tasks before all others.
fn with_tasks(garden: &TestProject, tasks: &[String]) -> String {
    let steps: String = tasks.iter().map(|task| format!("### Task section 1\n{task}")).collect();
    let text = garden.run_file("sheet.md");
    assert!(text.contains("## Tasks\n"), "{text}");
    text.replacen("## Tasks\n", &format!("## Tasks\n{steps}"), 1)
}

/// covers: 2.18 edit, echo-dropped
#[test]
fn a_done_task_in_the_words_of_before_its_refinement_is_not_done_again() {
    let refined =
        "[[rule]]\nphase = \"refine\"\ntext = \"## Task\\n- **What is needed** Add w.md with one line.\\n\"\n";
    let writes = executes("w", &format!("## Result summary\nWritten.\n{}", new_file("w.md")));
    let garden = TestProject::scripted(&format!("{refined}{writes}{DONE}{NOTHING_LEFT}"));
    garden.write(".callsheet/skills/wr.md", "description: x\ntools: write_file\nrefine: always\n---\nWrite.\n");
    let first = task("W", "Add w.md.", "wr", "");
    garden.write("work.md", sheet(std::slice::from_ref(&first)));
    garden.expect(0, &["run", "--sheet", "work.md", "--approval", "never"]);
    assert!(garden.run_file("sheet.md").contains("Add w.md with one line."));
    let asked = garden.asked().len();
    // The editor was opened before the refinement: the task stands there as it was, and one is added.
    save(&garden, &with_tasks(&garden, &[first.clone(), task("Q", "What is there?", "read_files", "[w](w.md)")]));
    let ended = garden.expect(0, &["resume", &run_of(&garden), "--approval", "never"]);
    assert!(ended.err.contains("1 task added, 0 changed, 0 removed"), "{}", ended.err);
    assert!(ended.err.contains("already done, so not run again: W"), "{}", ended.err);
    assert_eq!(states(&garden), ["w done", "q done"]);
    assert!(garden.asked().iter().skip(asked).all(|key| !key.contains("\"w\"") && !key.contains("w-2")));
    // Other words are another task.
    save(&garden, &with_tasks(&garden, &[task("W", "Add v.md.", "wr", "")]));
    let ended = garden.call(&["resume", &run_of(&garden), "--approval", "never"]);
    assert!(ended.err.contains("1 task added") && ended.err.contains("done-changed"), "{}", ended.err);
    assert!(states(&garden).iter().any(|state| state.starts_with("w-2 ")));
}

fn written_and_told() -> TestProject {
    let garden = TestProject::scripted(&format!(
        "{}{DONE}{NOTHING_LEFT}",
        executes("w", &format!("## Result summary\nWritten.\n{}", new_file("w.md")))
    ));
    let tasks = [
        task("R", "Read.", "read_files", "[a](water.md)"),
        task("W", "Add w.md.", "write_document", "[a](water.md)"),
        task("Z", "Tell.", "read_files", "[w](#w-results)"),
    ];
    garden.write("work.md", sheet(&tasks));
    garden.expect(3, &["run", "--sheet", "work.md", "--approval", "before-run"]);
    assert_eq!(states(&garden), ["r done", "w ready", "z waiting"]);
    garden
}

/// What a done task was asked with decides whether an edit asks for something else: its references and its expected
/// output, too. All words of such an edit are in the plan, so its text is kept nowhere else.
///
/// covers: 2.18 edit, done-changed
#[test]
fn a_done_task_with_other_references_is_another_task() {
    let garden = written_and_told();
    let (run, shown) = (run_of(&garden), garden.run_file("sheet.md"));
    let (head, rest) = shown.split_once("[a](water.md)").unwrap();
    assert!(!head.contains("**Name** W"), "{shown}");
    save(&garden, &format!("{head}[a](water.md) [b](work.md){rest}"));
    let ended = garden.expect(3, &["resume", &run]);
    assert!(ended.err.contains("done-changed") && ended.err.contains("1 task added, 0 changed"), "{}", ended.err);
    assert!(states(&garden).contains(&"r-2 done".to_owned()), "{:?}", states(&garden));
    let shown = garden.run_file("sheet.md");
    let state = shown.find("- **State** done").unwrap();
    let (head, rest) = shown.split_at(state);
    let before = head.rfind("- **Expected output** ").unwrap();
    save(&garden, &format!("{}- **Expected output** One word.\n{rest}", &head[..before]));
    let ended = garden.expect(3, &["resume", &run]);
    assert!(ended.err.contains("done-changed") && ended.err.contains("1 task added, 0 changed"), "{}", ended.err);
    let kept = std::fs::read_dir(garden.run_folder()).unwrap().flatten().map(|file| file.file_name());
    let kept: Vec<_> = kept.filter(|name| name.to_string_lossy().starts_with("sheet.edited")).collect();
    assert!(kept.is_empty(), "{kept:?}");
}

/// covers: 2.18 edit, 6.4
#[test]
fn dropped_tasks_that_read_each_other_are_put_back() {
    let garden = written_and_told();
    let (run, early) = (run_of(&garden), garden.run_file("sheet.md"));
    let (head, _) = early.split_once("### Task section 2").unwrap();
    save(&garden, head);
    let ended = garden.expect(0, &["resume", &run]);
    assert!(ended.err.contains("0 tasks added, 0 changed, 2 removed"), "{}", ended.err);
    save(&garden, &early);
    let ended = garden.expect(3, &["resume", &run]);
    assert!(ended.err.contains("2 tasks added, 0 changed, 0 removed"), "{}", ended.err);
    assert!(!garden.path("w.md").exists(), "it asks again");
    garden.expect(0, &["resume", &run, "--headless", "approve"]);
    assert_eq!(states(&garden), ["r done", "w done", "z done"]);
    assert!(garden.path("w.md").exists());
}

/// covers: 2.18 edit, 2.18 drop, 2.18 retry
#[test]
fn what_reads_a_dropped_task_stays_editable_and_comes_back_with_it() {
    let garden = written_and_told();
    let run = run_of(&garden);
    garden.expect(0, &["drop", &run, "w"]);
    // The run rests with the gate gone: what the host renders it reads.
    save(&garden, &with_tasks(&garden, &[task("Q", "What is there?", "read_files", "[w](water.md)")]));
    let ended = garden.call(&["resume", &run]);
    assert!(ended.err.contains("1 task added") && !ended.err.contains("anchor-missing"), "{}", ended.err);
    assert_eq!(states(&garden), ["r done", "w dropped", "z blocked", "q done"]);
    // What is new may not read it.
    save(&garden, &with_tasks(&garden, &[task("P", "Tell more.", "read_files", "[w](#w-results)")]));
    let ended = garden.expect(2, &["resume", &run]);
    assert!(ended.err.contains("reference-order"), "{}", ended.err);
    std::fs::remove_file(garden.run_folder().join("sheet.md")).unwrap();
    garden.call(&["resume", &run]);
    garden.expect(3, &["retry", &run, "w"]);
    garden.expect(0, &["resume", &run, "--headless", "approve"]);
    assert_eq!(states(&garden), ["r done", "w done", "z done", "q done"]);
}

/// covers: 2.18 resume
#[test]
fn a_task_that_has_not_begun_uses_the_edited_skill() {
    let skill = |body: &str| format!("description: x\nwrites: false\n---\n{body}\n");
    let writes = executes("w", &format!("## Result summary\nWritten.\n{}", new_file("w.md")));
    let garden = TestProject::scripted(&format!("{writes}{DONE}{NOTHING_LEFT}"));
    garden.write(".callsheet/skills/look.md", skill("Look."));
    garden.write(".callsheet/skills/tell.md", skill("Tell."));
    let tasks = [
        task("R", "Read.", "look", "[a](water.md)"),
        task("W", "Add w.md.", "write_document", "[a](water.md)"),
        task("Z", "Tell.", "tell", "[w](#w-results)"),
    ];
    garden.write("work.md", sheet(&tasks));
    garden.expect(3, &["run", "--sheet", "work.md", "--approval", "before-run"]);
    assert_eq!(states(&garden), ["r done", "w ready", "z waiting"]);
    garden.write(".callsheet/skills/look.md", skill("Look elsewhere."));
    garden.write(".callsheet/skills/tell.md", skill("Tell it in other words."));
    let ended = garden.expect(0, &["resume", &run_of(&garden), "--headless", "approve"]);
    let told = "the skill tell has changed; tasks that have not started use its current version";
    assert!(ended.err.contains(told) && !ended.err.contains("the skill look"), "{}", ended.err);
    assert_eq!(states(&garden), ["r done", "w done", "z done"]);
    let prompt = garden.expect(0, &["show", "--prompt", "3"]).out;
    assert!(prompt.contains("Tell it in other words."), "{prompt}");
}

/// covers: 2.18 retry, 7.5
#[test]
fn retry_tells_every_skill_that_what_comes_back_follows() {
    let script = |said: &str| format!("{}{DONE}{NOTHING_LEFT}", executes("r", said));
    let mut garden = TestProject::scripted(&script("## Result summary"));
    let skill = |body: &str| format!("description: x\nwrites: false\n---\n{body}\n");
    let first = ".callsheet/skills/look.md";
    garden.write(first, skill("Look."));
    garden.write(".callsheet/skills/tell.md", skill("Tell."));
    garden.write(".callsheet/skills/idle.md", skill("Idle."));
    garden.write(
        "work.md",
        sheet(&[
            task("R", "Look.", "look", "[a](water.md)"),
            task("Z", "Tell.", "tell", "[r](#r-results)"),
            task("I", "Idle.", "idle", "[z](#z-results)"),
        ]),
    );
    garden.expect(5, &["run", "--sheet", "work.md"]);
    let run = run_of(&garden);
    garden.write(first, "description: x\nlimits: x\n---\nLook.\n");
    let broken = garden.expect(5, &["retry", &run, "r"]);
    assert!(broken.err.contains("the skill look is not usable now: .callsheet/skills/look.md:"), "{}", broken.err);
    assert!(broken.err.contains("the run uses its previous version"), "{}", broken.err);
    std::fs::remove_file(garden.path(first)).unwrap();
    let gone = garden.expect(5, &["retry", &run, "r"]);
    assert!(gone.err.contains("the skill look no longer exists"), "{}", gone.err);
    garden.write(".callsheet/skills/tell.md", skill("Tell it in other words."));
    garden.follow_text(&script("## Result summary\nA door."));
    let ended = garden.expect(0, &["retry", &run, "r"]);
    assert!(ended.err.contains("the skill tell has changed"), "{}", ended.err);
    assert!(!ended.err.contains("the skill idle"), "{}", ended.err);
    assert_eq!(states(&garden), ["r done", "z done", "i done"]);
}

/// covers: 3.10
#[test]
fn undo_tells_what_a_file_still_holds_of_a_set_that_is_left_alone() {
    let change = |old: &str, new: &str| {
        format!(
            "## Result summary\nDone.\n## Change details\n- **file_path** list.md\n```markdown\n{old}\n```\n```markdown\n{new}\n```\n"
        )
    };
    let garden = TestProject::scripted(&format!(
        "{}{}{DONE}{NOTHING_LEFT}",
        executes("w", &format!("{}{}", change("one", "ONE"), new_file("w.md"))),
        executes("v", &change("two", "TWO"))
    ));
    garden.write("list.md", "one\ntwo\n");
    garden.write(
        "work.md",
        sheet(&[
            task("W", "Change one.", "write_document", "[l](list.md)"),
            task("V", "Change two.", "write_document", "[l](list.md) [w](#w-results)"),
        ]),
    );
    garden.expect(0, &["run", "--sheet", "work.md", "--approval", "never"]);
    assert_eq!(garden.read("list.md"), "ONE\nTWO\n");
    garden.write("w.md", "Mine.\n");
    let ended = garden.expect(5, &["undo"]);
    assert_eq!(garden.read("list.md"), "ONE\ntwo\n");
    assert!(ended.err.contains("kept list.md: the changes of w"), "{}", ended.err);
    assert!(!ended.err.contains("restored list.md") && ended.err.contains("w.md"), "{}", ended.err);
}

/// covers: 3.10, 5.1
#[test]
fn who_reads_a_part_of_an_output_is_told_what_was_taken_back() {
    let more = "[[rule]]\nphase = \"continue\"\ntext = '''\n## Goals / summary\nG.\n## Tasks\n### Task section 1\n";
    let parts = [
        task("Q", "The part.", "read_files", "[w](task://w.md#more)"),
        task("P", "The table.", "read_files", "[w](task://w/o.csv)"),
    ];
    let details = "## Details\n- **Filename** o.csv\n```csv\n1,2\n```\n";
    let written = format!("## Result summary\nWritten.\n## More\nAll of it.\n{}{details}", new_file("w.md"));
    let garden =
        TestProject::scripted(&format!("{}{more}{}'''\n{DONE}{NOTHING_LEFT}", executes("w", &written), parts.concat()));
    garden.write("work.md", sheet(&[task("W", "Add w.md.", "write_document", "[a](water.md)")]));
    garden.expect(0, &["run", "--sheet", "work.md", "--approval", "never"]);
    garden.expect(0, &["undo"]);
    garden.expect(0, &["continue", &run_of(&garden), "more"]);
    // The two run beside each other, in no certain order.
    let calls = 1..=garden.asked().len();
    let prompts: Vec<String> =
        calls.map(|call| garden.expect(0, &["show", "--prompt", &call.to_string()]).out).collect();
    for (need, held) in [("The part.", "All of it."), ("The table.", "1,2")] {
        let is_of = |prompt: &&String| prompt.contains(&format!("## Task\n\n- **What is needed** {need}"));
        let prompt = prompts.iter().find(is_of).unwrap();
        let (_, behind) = prompt.split_once(held).unwrap();
        assert!(behind.contains("took these changes back") && behind.contains("w.md"), "{prompt}");
    }
}

/// What is said of the run while it goes on, once it holds these words.
fn await_shown(garden: &TestProject, words: &str) {
    while !garden.call(&["show", "--json"]).out.contains(words) {
        std::thread::yield_now();
    }
}

/// covers: 2.18 edit, 2.18 in a round, 2.10 dropped, task-running
#[test]
fn a_writer_that_is_taken_out_while_the_first_step_runs_never_starts() {
    let waits = "[[rule]]\nlabel = \"^execute r\"\nuntil = \"edited\"\ntext = \"## Result summary\\nAna waters.\"\n";
    let writes = executes("w", &format!("## Result summary\nWritten.\n{}", new_file("w.md")));
    let garden = TestProject::scripted(&format!("{waits}{writes}{DONE}{NOTHING_LEFT}"));
    let tasks = [
        task("R", "Read.", "read_files", "[a](water.md)"),
        task("W", "Add w.md.", "write_document", "[a](water.md)"),
        task("Q", "Tell.", "read_files", "[a](water.md)"),
    ];
    garden.write("work.md", sheet(&tasks));
    let mut command = garden.command(&["run", "--sheet", "work.md", "--approval", "never"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_shown(&garden, "\"running\"");
    while !garden.run_folder().join("sheet.md").is_file() {
        std::thread::yield_now();
    }
    let text = garden.run_file("sheet.md").replace("needed** Read.", "needed** Read all.");
    let (before, behind) = text.split_once("### Task section 2\n").unwrap();
    let (_, behind) = behind.split_once("### Task section 3\n").unwrap();
    let added = task("P", "Say more.", "read_files", "[a](water.md)");
    let behind = behind.replacen("needed** Tell.", "needed** Tell more.", 1);
    save(&garden, &format!("{before}### Task section 2\n{added}{behind}"));
    await_shown(&garden, "\"p\"");
    std::fs::write(garden.project().with_file_name("edited"), "").unwrap();
    let ended = Ended::from(running.wait_with_output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("1 task added, 1 changed, 1 removed"), "{}", ended.err);
    assert!(ended.err.contains("warning task-running"), "{}", ended.err);
    let states = states(&garden);
    for state in ["r done", "w dropped", "q done", "p done"] {
        assert!(states.contains(&state.to_owned()), "{state}: {states:?}");
    }
    assert!(!garden.path("w.md").exists() && !garden.asked().iter().any(|key| key.contains("\"w\"")));
    let now = garden.run_file("sheet.md");
    assert!(now.contains("needed** Tell more.") && now.contains("needed** Read.\n"), "{now}");
    assert!(garden.run_file("sheet.edited-1.md").contains("Read all."), "nobody's words are lost");
}

/// covers: 2.18 edit, 2.18 before an answer
#[test]
fn who_looks_or_answers_has_an_edit_read_first() {
    let garden = written_and_told();
    let run = run_of(&garden);
    save(&garden, &garden.run_file("sheet.md").replacen("Add w.md.", "Add w.md with one line.", 1));
    let shown = garden.expect(0, &["show", &run]);
    assert!(shown.err.contains("0 tasks added, 1 changed, 0 removed"), "{}", shown.err);
    assert!(shown.out.contains("needed: Add w.md with one line."), "{}", shown.out);
    let whole = garden.run_file("sheet.md");
    save(&garden, &whole.replacen("write_document", "swim", 1));
    let refused = garden.expect(2, &["approve", &run]);
    assert!(refused.err.contains("skill-unknown"), "{}", refused.err);
    let shown = garden.expect(0, &["show", &run]);
    assert!(shown.err.contains("skill-unknown") && shown.out.contains("Add w.md with one line."), "{}", shown.out);
    save(&garden, &whole.replacen("one line", "two lines", 1));
    let noted = garden.expect(0, &["approve", &run]);
    assert!(noted.err.contains("0 tasks added, 1 changed, 0 removed"), "{}", noted.err);
    garden.expect(0, &["resume", &run]);
    assert!(garden.path("w.md").exists() && garden.run_file("sheet.md").contains("Add w.md with two lines."));
    assert_eq!(states(&garden), ["r done", "w done", "z done"]);
    assert_eq!(garden.count("gate_answered"), 1);
}

/// Two runs at once: the broken edit of one only adds a task, that of the other also changes one.
///
/// covers: 2.18 errors, 10.8
#[test]
fn a_run_does_not_end_while_its_sheet_has_errors() {
    let waits = "[[rule]]\nlabel = \"^execute r\"\nuntil = \"edited\"\ntext = \"## Result summary\\nAna waters.\"\n";
    let others = ["q", "p"].map(|name| executes(name, "## Result summary\nTold.\n")).concat();
    for (changes, states_after) in [(false, "q done"), (true, "q waiting")] {
        let garden = TestProject::scripted(&format!("{waits}{others}{DONE}{NOTHING_LEFT}"));
        let link = "[a](water.md)";
        garden.write(
            "work.md",
            sheet(&[task("R", "Read.", "read_files", link), task("Q", "Tell.", "read_files", "[r](#r-results)")]),
        );
        let mut command = garden.command(&["run", "--sheet", "work.md", "--approval", "never"]);
        let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        await_shown(&garden, "\"running\"");
        while !garden.run_folder().join("sheet.md").is_file() {
            std::thread::yield_now();
        }
        let added = task("P", "Say more.", "read_filez", link);
        let text =
            garden.run_file("sheet.md").replace("\n### Task section 2\n", &format!("{added}\n### Task section 2\n"));
        let text = if changes { text.replace("needed** Tell.", "needed** Tell more.") } else { text };
        save(&garden, &text);
        while garden.count("edit_held") == 0 {
            std::thread::yield_now();
        }
        std::fs::write(garden.project().with_file_name("edited"), "").unwrap();
        let ended = Ended::from(running.wait_with_output().unwrap());
        assert_eq!(ended.code, 3, "{}", ended.err);
        assert!(ended.err.contains("sheet.md has errors, so"), "{}", ended.err);
        assert!(states(&garden).contains(&states_after.to_owned()), "{:?}", states(&garden));
        let why = garden.expect(0, &["show", "--why"]).out;
        let held = "q waits until you fix the errors in the edited sheet";
        assert_eq!(why.contains(held), changes, "{why}");
        garden.expect(2, &["resume"]);
        save(&garden, &text.replace("read_filez", "read_files"));
        garden.expect(0, &["resume"]);
        let states = states(&garden);
        assert!(states.contains(&"p done".to_owned()) && states.contains(&"q done".to_owned()), "{states:?}");
    }
}

/// An edit of a done task while an approval waits puts another task before it. Who looks is told when the approval comes.
///
/// covers: 2.18 edit, done-changed
#[test]
fn an_approval_that_an_edit_puts_off_is_told() {
    let garden = written_and_told();
    let run = run_of(&garden);
    save(&garden, &garden.run_file("sheet.md").replacen("Read.", "Read both.", 1));
    let shown = garden.expect(0, &["show", &run]);
    let told =
        format!("the approval of w is asked again after r-2; if no process drives the run: callsheet resume {run}");
    assert!(shown.err.contains(&told), "{}", shown.err);
    let refused = garden.expect(2, &["approve", &run]);
    assert!(refused.err.contains(&format!("work to do first: callsheet resume {run}")), "{}", refused.err);
    garden.expect(3, &["resume", &run]);
    let output = "- **Output** Ana waters.\n";
    save(&garden, &garden.run_file("sheet.md").replacen(output, "- **Output** Ana waters, and Cem.\n", 1));
    let shown = garden.expect(0, &["show", &run]);
    let kept = format!("your whole text is in .callsheet/runs/{run}/sheet.edited-1.md: copy what you miss into a task");
    assert!(shown.err.contains(&kept), "{}", shown.err);
}

/// Of two saved answers to one question the later one counts. The record keeps the other one, for whoever gave it.
///
/// covers: 11.5
#[test]
fn a_saved_answer_that_a_later_one_replaces_is_recorded() {
    let garden = written_and_told();
    let run = run_of(&garden);
    garden.expect(0, &["approve", &run]);
    let denied = garden.expect(0, &["deny", &run]);
    assert!(denied.err.contains("the later one counts"), "{}", denied.err);
    let ended = garden.expect(5, &["resume", &run, "--set", "iterate=never"]);
    let told = "approval 1: of several answers, one was not used: approved by a command";
    assert!(ended.err.contains(told), "{}", ended.err);
    assert_eq!((garden.count("answer_unused"), garden.count("gate_answered")), (1, 1));
    garden.expect(0, &["report", &run, "-o", "report.html"]);
    assert!(garden.read("report.html").contains("a later answer counted instead"));
}
