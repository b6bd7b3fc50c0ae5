//! What keeps a person safe: planning starts nothing, gates show all and hear nothing that was typed before, records of
//! strangers are not gone on with, loops replace only what they read, prompts of others are told.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::Command;
use std::time::Duration;

use crate::support::garden::TestProject;
use expectrl::session::OsSession as Session;
use expectrl::{Eof, Expect};

/// covers: 2.2
#[test]
fn a_plan_starts_nothing_of_its_list_and_a_bare_resume_passes_it_by() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    garden.expect(0, &["plan", "bring the notes up to date", "-o", "-"]);
    assert_eq!(garden.asked().len(), 1, "the plan call alone: {:?}", garden.asked());
    let started = garden.facts().into_iter().filter(|fact| fact["event"] == "started").count();
    assert_eq!(started, 1, "something of the list was begun");
    let ended = garden.expect(2, &["resume"]);
    assert!(ended.err.contains("no unfinished run"), "{}", ended.err);
    assert_eq!(garden.asked().len(), 1);
    assert_eq!(garden.files(), before);
}

/// The command at a terminal of its own, without colours.
fn at_terminal(command: &Command) -> Session {
    // The pseudo-terminal becomes all three streams, so nothing else may be set.
    let mut fresh = Command::new(command.get_program());
    fresh.args(command.get_args()).current_dir(command.get_current_dir().unwrap()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            fresh.env(name, value);
        }
    }
    fresh.env("TERM", "xterm-256color").env("NO_COLOR", "1");
    let mut session = Session::spawn(fresh).unwrap();
    // How long a broken program is waited for; a good one answers at once.
    session.set_expect_timeout(Some(Duration::from_secs(60)));
    session
}

/// A yes that was typed while the plan was made answers no gate.
/// covers: 11.5
#[test]
fn what_was_typed_before_a_gate_answers_nothing() {
    let writer = std::fs::read_to_string(crate::support::root().join("tests/fixtures/e2e/writer.toml")).unwrap();
    // The plan is under way when the view says so, and ends when the answer was typed.
    let script = writer.replacen("phase = \"plan\"", "phase = \"plan\"\nuntil = \"typed\"", 1);
    let garden = TestProject::scripted(&script);
    let before = garden.files();
    let run = ["run", "bring the notes up to date", "--approval", "before-run", "--plain"];
    let mut terminal = at_terminal(&garden.command(&run));
    terminal.expect("run 20").unwrap();
    terminal.send_line("y").unwrap();
    std::fs::write(garden.project().with_file_name("typed"), "").unwrap();
    terminal.expect("[y] yes").unwrap();
    terminal.send_line("n").unwrap();
    terminal.expect("Why?").unwrap();
    terminal.send_line("not now").unwrap();
    terminal.expect(Eof).unwrap();
    assert_eq!(garden.files(), before, "the early yes was taken for an answer");
    assert!(garden.run_file("report.md").contains("not now"));
}

/// What is approved is what was shown: nothing of a command, a need or a diff is cut.
/// covers: 11.3, 11.4
#[test]
fn gates_show_long_commands_and_diffs_uncut() {
    let long = |word: &str| format!("{}-{word}-end", "a-long-argument-".repeat(120));
    let mut garden = TestProject::scripted(&format!(
        "[[rule]]\nphase = \"refine\"\ntext = '''\n## Task\n- **What is needed** Touch {}.\n## Tool Calls\n```json\n\
         {{\"name\": \"run_command\", \"id\": \"c1\", \"arguments\": {{\"argv\": [\"echo\", \"{}\"]}}}}\n```\n'''\n",
        long("need"),
        long("argument")
    ));
    garden.expect(3, &["run", "--skill", "run_checks", "make a file"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains(&long("need")) && shown.contains(&long("argument")), "cut: {shown}");
    garden.expect(0, &["approve"]);
    garden.expect(3, &["resume"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("before-call") && shown.contains(&long("argument")), "cut: {shown}");

    let lines: String = (0..12).map(|number| format!("{} {number}\n", long("line"))).collect();
    garden.follow_text(&format!(
        "[[rule]]\nphase = \"execute\"\ntext = '''\n## Result summary\nDone.\n## Change details\n- **file_path** long.md\n\
         - **complete_file** true\n```markdown\n{lines}```\n'''\n"
    ));
    garden.expect(3, &["run", "--skill", "write_document", "write it", "--approval", "before-apply"]);
    let shown = garden.expect(0, &["show"]).out;
    for number in 0..12 {
        assert!(shown.contains(&format!("+{} {number}\n", long("line"))), "line {number} is cut or missing");
    }
}

/// Runs are kept in the user's state folder: a project that came from elsewhere brings none, and a copy has none.
/// covers: 10.6
#[test]
fn a_project_brings_no_record_with_it() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date"]);
    assert!(garden.has_store());
    let mut kept: Vec<String> = std::fs::read_dir(garden.path(".callsheet"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    assert_eq!(kept, ["runs"], "views alone are in the project");
    // Somebody else's machine: the project with all its files, and a home that never saw it.
    std::fs::remove_dir_all(garden.home()).unwrap();
    for arguments in [&["show"][..], &["approve"], &["resume"]] {
        let ended = garden.expect(2, arguments);
        assert!(ended.err.contains("there are no runs in"), "{}", ended.err);
    }
}

const KEEPER: &str = "---\nname: keep_notes\ndescription: Keeps notes. Use it for notes.\ntools: [read_file, write_file]\nmode: loop\n---\nSay which.\n---\nKeep them.\n";

/// covers: 3.9, 10.7
#[test]
fn a_loop_replaces_a_file_only_when_it_has_read_it() {
    let write = "calls = [{ name = \"write_file\", arguments = { path = \"water.md\", content = \"New.\\n\", overwrite = true } }]";
    let read = "calls = [{ name = \"read_file\", arguments = { path = \"water.md\" } }]";
    let last = "text = '''\n## Result summary\nKept.\n'''";
    let script = |replies: &[&str]| {
        let replies: String = replies.iter().map(|reply| format!("[[rule.reply]]\n{reply}\n")).collect();
        format!("[[rule]]\nphase = \"execute\"\n{replies}")
    };
    let run = ["run", "--skill", "keep_notes", "keep the notes", "--headless", "approve"];

    let mut garden = TestProject::scripted(&script(&[write, last]));
    garden.write(".callsheet/skills/keep_notes.md", KEEPER);
    let old = garden.read("water.md");
    garden.expect(0, &run);
    assert_eq!(garden.read("water.md"), old, "it was never read");
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("was not shown in full") || prompt.contains("shown"), "{prompt}");
    assert_eq!(garden.count("changes_applied"), 0);

    garden.follow_text(&script(&[read, write, last]));
    garden.expect(0, &run);
    assert_eq!(garden.read("water.md"), "New.\n");
    assert_eq!(garden.count("changes_applied"), 1);
}

/// covers: 8.1
#[test]
fn prompts_of_a_project_or_a_user_are_told() {
    let garden = TestProject::with("answer");
    let bundled = |name: &str| {
        std::fs::read_to_string(crate::support::root().join(format!("crates/callsheet-format/prompts/{name}.md")))
            .unwrap()
    };
    let quiet = garden.expect(0, &["run", "who waters?"]);
    assert!(!quiet.err.contains("note: using prompt"), "{}", quiet.err);
    garden.write(".callsheet/prompts/task_refinement.md", bundled("task_refinement"));
    let quiet = garden.expect(0, &["run", "who waters?"]);
    assert!(!quiet.err.contains("note: using prompt"), "a copy that nobody changed: {}", quiet.err);
    garden.write(".callsheet/prompts/task_execution.md", format!("{}\nBe brief.\n", bundled("task_execution")));
    let user = garden.home().join("prompts/task_creation_initial.md");
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    std::fs::write(&user, format!("{}\nBe brief.\n", bundled("task_creation_initial"))).unwrap();
    let told = garden.expect(0, &["run", "who waters?"]);
    assert!(told.err.contains("using prompt task_execution from"), "{}", told.err);
    assert!(told.err.contains("using prompt task_creation_initial from"), "{}", told.err);
    let facts = garden.facts();
    let sources: Vec<String> = facts
        .iter()
        .filter(|fact| fact["event"] == "prompts_used")
        .flat_map(|fact| fact["prompts"].as_object().unwrap().values().cloned().collect::<Vec<_>>())
        .map(|file| file["source"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(sources.len(), 2);
    assert!(sources[0].ends_with("prompts/task_creation_initial.md"), "{sources:?}");
    assert!(sources[1].ends_with(".callsheet/prompts/task_execution.md"), "{sources:?}");
}

/// After a context overflow tool outputs shrink as references do.
/// covers: 12.3, 10.4
#[test]
fn tool_outputs_shrink_after_an_overflow() {
    let script = |overflow: &str| {
        format!(
            "[[rule]]\nphase = \"refine\"\ntext = '''\n## Task\n- **What is needed** All of it.\n## Tool Calls\n```json\n\
             {{\"name\": \"read_file\", \"id\": \"r1\", \"arguments\": {{\"path\": \"large.md\"}}}}\n```\n'''\n\
             [[rule]]\nphase = \"execute\"\n{overflow}[[rule.reply]]\ntext = '''\n## Result summary\nAna waters.\n'''\n"
        )
    };
    let mut garden = TestProject::scripted(&script(""));
    garden.write("large.md", "Ana waters the beds every day of the week.\n".repeat(2_000));
    let output = |garden: &TestProject| {
        garden.expect(0, &["run", "--skill", "find_code", "read it"]);
        let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
        let (_, output) = prompt.split_once("### Tool output r1").expect("the output is shown");
        output.matches("Ana waters").count()
    };
    let whole = output(&garden);
    garden.follow_text(&script("[[rule.reply]]\nfault = { kind = \"overflow\", message = \"too long\" }\n"));
    let cut = output(&garden);
    // 70 % of the tokens; the note of what is left out takes a few.
    assert!(cut * 100 > whole * 66 && cut * 100 < whole * 72, "{cut} of {whole} lines");
}

/// Half of a small window is all that references may take, whatever the budget says.
/// covers: 5.8, over-budget
#[test]
fn a_budget_knows_the_window() {
    let plan = std::fs::read_to_string(crate::support::root().join("tests/fixtures/e2e/answer.toml")).unwrap();
    let plan = plan.replace("[Water](water.md)", "[Water](water.md) [Project](project_description)");
    let large = "Ana waters the beds every day of the week.\n".repeat(600);
    let mut garden = TestProject::scripted(&format!("{plan}\n[model]\nwindow = 8192\n"));
    garden.write("water.md", &large);
    garden.call(&["run", "who waters?"]);
    let facts = garden.facts();
    let refused = facts.iter().find(|fact| fact["event"] == "reply_refused").expect("the plan is refused");
    assert_eq!(refused["issues"][0]["code"], "over-budget", "{refused}");
    garden.follow_text(&format!("{plan}\n[model]\nwindow = 65536\n"));
    garden.expect(0, &["run", "who waters?"]);
    assert_eq!(garden.count("reply_refused"), 0);
}

/// An empty line approves nothing.
/// covers: 11.5
#[test]
fn enter_answers_no_gate() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    let mut terminal = at_terminal(&garden.command(&["run", "bring the notes up to date", "--plain"]));
    terminal.expect("[y] yes").unwrap();
    terminal.send_line("").unwrap();
    terminal.expect("Please answer with one of the letters").unwrap();
    terminal.send_line("y").unwrap();
    terminal.expect("wants to make these changes").unwrap();
    terminal.expect("[y] yes  [n] no").unwrap();
    terminal.send_line("").unwrap();
    terminal.expect("Please answer with one of the letters").unwrap();
    terminal.send_line("n").unwrap();
    terminal.expect("Why?").unwrap();
    terminal.send_line("").unwrap();
    terminal.expect(Eof).unwrap();
    assert_eq!(garden.files(), before);
}
