//! Runs at a terminal, and runs that are stopped or killed and taken up again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::support::garden::TestProject;
use crate::support::terminal::{OnScreen, at_terminal, exit_code, rest};
use expectrl::{ControlCode, Expect};

fn coloured(mut command: Command) -> Command {
    command.env("TERM", "xterm-256color");
    command
}

/// covers: 11.4, 11.5
#[test]
fn a_person_at_the_terminal_says_yes() {
    let garden = TestProject::with("writer");
    let mut terminal = at_terminal(coloured(garden.command(&["run", "bring the notes up to date", "--plain"])));
    terminal.expect("write-water-1").unwrap();
    terminal.expect("[y] yes").unwrap();
    assert!(garden.path("minutes.md").exists());
    terminal.send_line("y").unwrap();
    terminal.expect("wants to make these changes").unwrap();
    terminal.expect("\u{1b}[32m+Barrel 2 is mended.").unwrap();
    terminal.expect("[y] yes").unwrap();
    assert!(garden.path("minutes.md").exists());
    terminal.send_line("y").unwrap();
    let last = rest(&mut terminal);
    assert!(last.contains("Complete") && last.contains("are up to date"), "{last}");
    assert_eq!(exit_code(terminal.get_process()), 0);
    assert!(!garden.path("minutes.md").exists());
}

/// covers: 11.7
#[test]
fn a_person_at_the_terminal_says_no_and_why() {
    let garden = TestProject::with("writer");
    let mut command = coloured(garden.command(&["run", "bring the notes up to date", "--plain"]));
    command.env("NO_COLOR", "1");
    let mut terminal = at_terminal(command);
    let mut seen = String::from_utf8_lossy(terminal.expect("[y] yes").unwrap().as_bytes()).into_owned();
    terminal.send_line("n").unwrap();
    terminal.expect("Why?").unwrap();
    terminal.send_line("not in winter").unwrap();
    seen.push_str(&rest(&mut terminal));
    assert!(seen.contains("not in winter"), "{seen}");
    let colours = seen
        .split("\u{1b}[")
        .skip(1)
        .filter(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'));
    assert_eq!(colours.count(), 0, "{seen:?}");
    assert_eq!(exit_code(terminal.get_process()), 5);
}

/// covers: 2.16, 2.18
/// covers: 11.9 exit 130
#[test]
fn an_interrupt_ends_cleanly_and_a_resume_goes_on() {
    let garden = TestProject::with("steps");
    let mut terminal = at_terminal(coloured(garden.command(&["run", "read all", "--plain"])));
    terminal.expect("read-water-1").unwrap();
    terminal.send(ControlCode::EndOfText).unwrap();
    let last = rest(&mut terminal);
    assert!(last.contains("callsheet resume"), "{last}");
    assert_eq!(exit_code(terminal.get_process()), 130);
    assert_eq!(garden.facts().last().unwrap()["outcome"], "cancelled");
    garden.expect(0, &["resume"]);
    assert_eq!(garden.facts().last().unwrap()["outcome"], "complete");
}

/// covers: 2.16
#[test]
fn an_interrupt_ends_planning() {
    let garden = TestProject::with("slow");
    let mut screen = OnScreen::start(garden.command(&["plan", "read all"]), 80, 24);
    screen.until(&["run 20"]);
    screen.press("\u{3}");
    let (last, code) = screen.end();
    assert!(last.contains("callsheet resume") && code == 130, "{code}: {last}");
    assert!(!garden.path("sheet.md").exists());
}

/// covers: 2.16
#[test]
fn an_interrupt_at_a_gate_changes_nothing() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    let mut terminal = at_terminal(coloured(garden.command(&["run", "bring the notes up to date", "--plain"])));
    terminal.expect("[y] yes").unwrap();
    terminal.send(ControlCode::EndOfText).unwrap();
    let last = rest(&mut terminal);
    assert!(last.contains("callsheet resume"), "{last}");
    assert_eq!(exit_code(terminal.get_process()), 130);
    assert_eq!(garden.files(), before);
    garden.expect(3, &["resume"]);
    garden.expect(0, &["approve"]);
    garden.expect(0, &["resume", "--approval", "before-run"]);
    assert_ne!(garden.files(), before);
}

/// A killed apply is taken back from the record: what a command leaves in the place where views are is nobody's order.
/// covers: 2.18, 3.10
#[test]
fn a_forged_journal_in_the_project_is_not_read() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    let facts = garden.facts();
    let files = facts.iter().filter_map(|fact| fact["result"]["changes"]["files"].as_array()).flatten();
    let before = files.map(|file| &file["before"]).find(|before| before.is_string()).unwrap();
    garden.expect(0, &["approve"]);
    let lock = std::fs::File::create(garden.store().join("apply.lock")).unwrap();
    lock.lock().unwrap();
    let mut run = garden.command(&["resume"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let told = BufReader::new(run.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(told.into_iter().any(|line| line.contains("waiting for another process")), "it says that it waits");
    run.kill().unwrap();
    run.wait().unwrap();
    drop(lock);
    let hook = ".git/hooks/pre-commit";
    let key = &facts.iter().find(|fact| fact["result"]["changes"].is_object()).unwrap()["key"];
    let (task, execution) = (key["task"].as_str().unwrap(), key["run"].as_str().unwrap());
    let set = serde_json::json!({ "files": [{ "path": hook, "before": before }] });
    let entry = serde_json::json!({ "set": set, "created": [] }).to_string();
    let journal = garden.run_folder().join("journal");
    std::fs::create_dir_all(&journal).unwrap();
    std::fs::create_dir_all(garden.path(".git/hooks")).unwrap();
    std::fs::write(journal.join(format!("{task}-{execution}-1.json")), entry).unwrap();
    let ended = garden.expect(0, &["resume"]);
    assert!(!garden.path(hook).exists() && !garden.path("minutes.md").exists(), "{}", ended.err);
}

/// covers: 11.12
#[test]
fn what_a_run_stored_is_read_whole_and_none_of_it_is_removed() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    garden.expect(0, &["approve"]);
    garden.expect(0, &["resume"]);
    let said = garden.call(&["doctor"]).out;
    assert!(said.contains("1 run in the store ") && said.contains(" is intact ("), "{said}");
    for arguments in [&["gc", "--dry-run"][..], &["gc"]] {
        let ended = garden.expect(0, arguments);
        assert!(format!("{}{}", ended.out, ended.err).contains("nothing to remove"), "{}{}", ended.out, ended.err);
    }
    garden.expect(0, &["undo"]);
    assert!(garden.call(&["doctor"]).out.contains(" is intact ("));
}

/// Kills at a few moments: after the n-th line of facts on stdout. What was finished is never asked again.
/// covers: 2.18
#[test]
fn a_killed_run_is_taken_up_and_pays_for_nothing_twice() {
    for moment in [1, 2, 3, 6, 9, 12] {
        let garden = TestProject::with("steps");
        let mut command = garden.command(&["run", "read all", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let facts = lines.by_ref().map_while(Result::ok).filter(|line| line.contains("\"event\":"));
        let seen = facts.take(moment).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, moment, "the run ended too early to be killed");
        let finished = received(&garden);
        let ended = garden.expect(0, &["resume"]);
        assert!(ended.out.contains("Ana waters on Mondays."), "{}", ended.out);
        let all = received(&garden);
        assert_eq!(all.get(..finished.len()), Some(&finished[..]), "killed after fact {moment}");
        // The plan, and one call for each task.
        assert_eq!(all.len(), 4, "killed after fact {moment}: {all:?}");
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len(), "a call was paid twice after fact {moment}: {all:?}");
    }
}

/// Prompts of the calls that gave a reply.
fn received(garden: &TestProject) -> Vec<String> {
    let facts = garden.facts();
    let replies = facts.iter().filter(|fact| fact["event"] == "reply_received");
    replies.map(|fact| fact["prompt"].as_str().unwrap().to_owned()).collect()
}

/// Somebody else stops a run.
#[test]
fn a_run_is_cancelled_from_another_terminal() {
    let garden = TestProject::with("slow");
    let mut command = garden.command(&["run", "read all", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"started\"") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the run ended before it began");
    }
    garden.expect(0, &["cancel"]);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(rest.contains("cancelled"), "{rest}");
}

/// Two changes wait at once: an answer is that of the one question on the screen.
///
/// covers: 11.5, 11.7
#[test]
fn one_question_owns_the_terminal_until_it_is_answered() {
    let garden = TestProject::with("steered");
    let command = garden.command(&["run", "go", "--approval", "before-apply", "--plain"]);
    let mut terminal = at_terminal(coloured(command));
    terminal.expect("[y] yes  [n] no").unwrap();
    // A slip of the finger, so that the second question has time to push in.
    terminal.send_line("1").unwrap();
    terminal.expect("one of the letters").unwrap();
    terminal.expect("[y] yes  [n] no").unwrap();
    terminal.send_line("n").unwrap();
    terminal.expect("Why?").unwrap();
    terminal.send_line("not now").unwrap();
    let next = terminal.expect("wants to make these changes").unwrap();
    let next = String::from_utf8_lossy(next.as_bytes()).into_owned();
    terminal.expect("[y] yes  [n] no").unwrap();
    terminal.send_line("y").unwrap();
    rest(&mut terminal);
    let (rota, thanks) = (garden.path("rota.md").exists(), garden.path("thanks.md").exists());
    assert!(rota != thanks, "one was denied, one approved");
    let asked = next.split(" wants to make").next().and_then(|text| text.split_whitespace().last()).unwrap();
    assert_eq!(asked == "write-rota-1", rota, "the second question was the approved one: {next}");
}

/// A loop whose command tells its number and sleeps the first time.
const SLEEPER: &str = "calls = [{ name = 'run_command', arguments = { argv = ['sh', '-c', 'if [ -e pid ]; then echo again; else echo $$ > pid; while [ ! -e go ]; do sleep 0.1; done; fi'] } }]\n";

fn sleeping(garden: &mut TestProject) -> std::process::Child {
    garden.write(
        ".callsheet/skills/try_it.md",
        "---\nname: try_it\ndescription: Tries it. Use it for trials.\ntools: [run_command]\nmode: loop\n---\nSay what.\n---\nTry it.\n",
    );
    garden.write("work.md", "## Goals / summary\nTry.\n## Tasks\n### Task section 1\n- **Name** Try\n- **What is needed** Try it.\n- **Skill** try_it\n- **References** [Water](water.md)\n- **Expected output** What came.\n");
    garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n{SLEEPER}"));
    started(garden, garden.command(&["run", "--sheet", "work.md", "--approval", "never"]))
}

fn started(garden: &TestProject, mut command: Command) -> std::process::Child {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !std::fs::read_to_string(garden.path("pid")).is_ok_and(|pid| pid.ends_with('\n')) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child
}

fn is_alive(garden: &TestProject) -> bool {
    garden.runs(&garden.read("pid"))
}

/// covers: 2.18, 10.7
#[cfg(target_os = "linux")]
#[test]
fn a_command_ends_with_a_killed_run_and_may_be_made_again() {
    let mut garden = TestProject::bare();
    let mut child = sleeping(&mut garden);
    child.kill().unwrap();
    child.wait().unwrap();
    while is_alive(&garden) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let done = "text = '''\n## Result summary\nIt came again.\n'''\n";
    // No mode and no earlier answer covers a call that was interrupted.
    garden.expect(3, &["resume", "--approval", "never"]);
    garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n[[rule.reply]]\n{done}"));
    garden.expect(0, &["approve"]);
    let ended = garden.expect(0, &["resume", "--approval", "never"]);
    assert!(ended.out.contains("It came again."), "{}", ended.out);
    let last = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(last.contains("again\n"), "it was made once more: {last}");
}

/// The terminal goes away.
/// covers: 2.16
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_ends_a_run_as_an_interrupt_does() {
    let mut garden = TestProject::bare();
    let mut child = sleeping(&mut garden);
    Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!is_alive(&garden), "its command is gone");
    assert_eq!(garden.facts().last().unwrap()["outcome"], "cancelled");
    let ended = garden.expect(2, &["cancel"]);
    assert!(ended.err.contains("no running run"), "{}", ended.err);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    let ended = garden.expect(2, &["cancel", &run]);
    assert!(ended.err.contains("is not running"), "{}", ended.err);
}

/// A run whose hangups are ignored goes on after its terminal went away.
#[cfg(target_os = "linux")]
#[test]
fn a_run_under_nohup_goes_on() {
    let mut garden = TestProject::bare();
    let mut child = sleeping(&mut garden);
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(garden.path("pid")).unwrap();
    let done = "text = '''\n## Result summary\nIt came.\n'''\n";
    garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n[[rule.reply]]\n{SLEEPER}[[rule.reply]]\n{done}"));
    let run = garden.command(&["run", "--sheet", "work.md", "--approval", "never"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(run.get_program()).args(run.get_args());
    shell.current_dir(garden.project()).stdin(Stdio::null()).env_clear();
    shell.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = started(&garden, shell);
    Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    garden.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A script that was killed with its run is not run again unasked, not even where nobody asks before scripts.
/// covers: T 8
#[cfg(target_os = "linux")]
#[test]
fn a_killed_script_of_a_template_asks_whether_it_runs_again() {
    let garden = TestProject::bare();
    garden.write("work.sh", "echo $$ > pid\nwhile [ ! -e go ]; do sleep 0.05; done\necho over\n");
    let slow =
        r#"<task type="script" name="slow"><description>Take long</description><command>sh work.sh</command></task>"#;
    garden.write(".callsheet/templates/slow.xml", slow);
    let mut child = started(&garden, garden.command(&["template", "run", "slow", "--approval", "never"]));
    child.kill().unwrap();
    child.wait().unwrap();
    while is_alive(&garden) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    garden.write("go", "");
    garden.expect(3, &["resume", "--approval", "never"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("this call was started and never finished; slow wants to make it again"), "{shown}");
    // A signature elsewhere answers nothing here, so none is made.
    let key = garden.project().with_file_name("key").to_str().unwrap().to_owned();
    garden.expect(0, &["key", "new", &key]);
    let signed = garden.expect(2, &["approve", "--sign", &key, "-o", "approval.json"]);
    assert!(signed.err.contains("which no signed approval answers: slow"), "{}", signed.err);
    assert!(signed.err.contains("on the machine where the run waits: callsheet approve "), "{}", signed.err);
    assert!(!garden.path("approval.json").exists());
    let folder = garden.run_folder();
    let run = folder.file_name().and_then(|name| name.to_str()).unwrap();
    // A fork from before the script knows that it was begun.
    let forked = garden.expect(0, &["fork", run, "--at", "slow"]);
    let fork = format!("{run}-fork");
    let told = format!("{run} started and never finished, and {fork} asks before it runs this again: slow: ");
    assert!(forked.err.contains(&told), "{}", forked.err);
    garden.expect(3, &["resume", &fork, "--approval", "never"]);
    let shown = garden.expect(0, &["show", &fork]).out;
    assert!(shown.contains("started and never finished"), "{shown}");
    garden.expect(0, &["approve", &fork]);
    assert_eq!(garden.expect(0, &["resume", &fork, "--approval", "never"]).out.trim(), "over");
    // Who says no and has it done again later is asked again.
    garden.expect(5, &["deny", run, "--resume"]);
    garden.expect(3, &["retry", run, "--approval", "never"]);
    garden.expect(0, &["approve", run]);
    assert_eq!(garden.expect(0, &["resume", run, "--approval", "never"]).out.trim(), "over");
}

/// A yes that was given before, for everything, or to several does not cover a call that was interrupted.
/// covers: T 8
#[cfg(target_os = "linux")]
#[test]
fn no_blanket_answer_covers_a_call_that_was_interrupted() {
    let garden = TestProject::bare();
    garden.write("work.sh", "echo $$ > pid\nwhile [ ! -e go ]; do sleep 0.05; done\necho over\n");
    garden.write("beside.sh", "echo beside\n");
    let two = r#"<parallel id="both"><task type="script" id="slow"><description>Take long</description><command>sh work.sh</command></task>
<task type="script" id="quick"><description>Be quick</description><command>sh beside.sh</command></task></parallel>"#;
    let tree =
        format!("<task type=\"sequential\" name=\"two\"><description>Two</description><steps>{two}</steps></task>");
    garden.write(".callsheet/templates/two.xml", tree);
    let mut child = started(&garden, garden.command(&["template", "run", "two", "--headless", "two-both-slow"]));
    child.kill().unwrap();
    child.wait().unwrap();
    while is_alive(&garden) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    garden.write("go", "");
    garden.expect(3, &["resume"]);
    let ended = garden.expect(0, &["approve"]);
    assert!(ended.err.contains("started and never finished: two-both-slow"), "{}", ended.err);
    garden.expect(3, &["resume", "--headless", "approve"]);
    let ended = garden.expect(2, &["approve", "--all"]);
    assert!(ended.err.contains("started and never finished: two-both-slow"), "{}", ended.err);
    garden.expect(3, &["resume", "--headless", "two-both-slow", "--approval", "never"]);
    assert_eq!(garden.expect(0, &["approve", "--resume"]).out.trim(), r#"["over\n","beside\n"]"#);
}

/// A command that the time of its task ended did not finish either. A task that is repeated or continued asks before the
/// command runs again.
///
/// covers: 2.18
#[cfg(target_os = "linux")]
#[test]
fn a_command_that_the_time_of_its_task_ended_asks_before_it_runs_again() {
    for again in [["retry", "RUN", "try"].as_slice(), &["resume", "RUN", "--limit", "try.timeout_seconds=60"]] {
        let mut garden = TestProject::bare();
        garden.write(
            ".callsheet/skills/try_it.md",
            "---\nname: try_it\ndescription: Tries it. Use it for trials.\ntools: [run_command]\nmode: loop\nlimits:\n  timeout_seconds: 2\n---\nSay what.\n---\nTry it.\n",
        );
        garden.write("work.md", "## Goals / summary\nTry.\n## Tasks\n- **Name** Try\n- **What is needed** Try it.\n- **Skill** try_it\n- **Expected output** What came.\n");
        let call = "calls = [{ name = 'run_command', arguments = { argv = ['sh', '-c', 'echo ran >> ran; [ -e go ] || sleep 60'] } }]\n";
        garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n{call}"));
        let ended = garden.call(&["run", "--sheet", "work.md", "--approval", "never", "--set", "iterate=never"]);
        assert!(ended.err.contains("try.timeout_seconds is 2"), "{}", ended.err);
        assert_eq!(garden.read("ran"), "ran\n");
        garden.write("go", "");
        let done = "text = '''\n## Result summary\nIt came.\n'''\n";
        garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n[[rule.reply]]\n{call}[[rule.reply]]\n{done}"));
        let run = garden.newest_run();
        let words: Vec<&str> = again.iter().map(|word| if *word == "RUN" { run.as_str() } else { word }).collect();
        garden.expect(3, &[words.as_slice(), &["--approval", "never"]].concat());
        assert_eq!(garden.read("ran"), "ran\n", "{words:?}: nothing runs unasked");
        let ended = garden.expect(0, &["approve", "--resume"]);
        assert_eq!(garden.read("ran"), "ran\nran\n", "{words:?}: {}", ended.err);
    }
}

/// The same of a tool that a model of a template used: when it asks for the call again, a person decides, whatever is
/// granted.
/// covers: T 8, 11.14
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_tool_of_a_handler_is_asked_about_when_it_is_made_again() {
    let mut garden = TestProject::bare();
    let task = r#"<task name="tries"><description>Try it</description><instructions>Try.</instructions><allowed_tools><tool>run_command</tool></allowed_tools></task>"#;
    garden.write(".callsheet/templates/tries.xml", task);
    garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n{SLEEPER}"));
    let mut child = started(&garden, garden.command(&["template", "run", "tries", "--approval", "never"]));
    child.kill().unwrap();
    child.wait().unwrap();
    while is_alive(&garden) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    garden.follow_text(&format!(
        "[[rule]]\nphase = 'execute'\n[[rule.reply]]\n{SLEEPER}[[rule.reply]]\ntext = 'It came.'\n"
    ));
    garden.expect(0, &["grants", "add", "command", "sh"]);
    garden.expect(3, &["resume", "--approval", "never", "--headless", "approve"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("this call was started and never finished"), "{shown}");
    let ended = garden.expect(2, &["approve", "--always"]);
    assert!(ended.err.contains("a grant can't answer for"), "{}", ended.err);
    garden.follow_text("[[rule]]\nphase = 'execute'\ntext = 'It came.'\n");
    assert_eq!(garden.expect(0, &["approve", "--resume"]).out.trim(), "It came.");
}
