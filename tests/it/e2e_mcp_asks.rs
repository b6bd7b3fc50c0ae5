//! Servers that ask a person during a call, and their resources as references.
#![cfg(feature = "mcp")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use expectrl::Expect;
use serde_json::{Value, json};

use super::e2e_mcp::{APPROVED, calls, confirm, garden, listed};
use super::e2e_mcp_served::Program;
use crate::support::garden::TestProject;
use crate::support::terminal::{OnScreen, at_terminal, exit_code, rest};

/// The garden of a server that speaks this revision and asks which bed to water.
fn asking(revision: &str) -> TestProject {
    let garden = garden(&["ask"], "", &["ask"]);
    let file = garden.home().join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("2025-11-25", revision);
    std::fs::write(&file, text).unwrap();
    confirm(&garden);
    garden
}

/// Runs the sheet, approves everything, gives these answers, and returns the questions.
fn answered(garden: &TestProject, answers: &[&str]) -> Vec<String> {
    let mut program = Program::of(garden, &["mcp", "--may", "approve"]);
    let begun = program.call("run", json!({"sheet": garden.read("work.md")}));
    let run = begun["structuredContent"]["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    let mut answers = answers.iter();
    let mut asked = Vec::new();
    loop {
        let status = program.settled(&run);
        if let Some(number) = status["approvals"][0]["approval"].as_u64() {
            program.call("approve", json!({"run": run, "approval": number}));
        } else if let Some(question) = status["questions"][0]["question"].as_str() {
            asked.push(question.to_owned());
            let text = answers.next().unwrap_or_else(|| panic!("asked again: {question}"));
            program.call("answer", json!({"run": run, "task": status["questions"][0]["task"], "text": text}));
        } else {
            assert_eq!(status["outcome"], "complete", "{status}");
            return asked;
        }
    }
}

fn last_prompt(garden: &TestProject) -> String {
    garden.expect(0, &["show", "--prompt", "2"]).out
}

/// covers: 13.4
#[test]
fn a_server_asks_a_person_during_a_call_which_then_goes_on() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let garden = asking(revision);
        let asked = answered(&garden, &["bed: east", "bed: south\nlitres: 40"]);
        assert!(asked[0].contains("The server shed asks: Which bed?"), "{asked:?}");
        assert!(asked[0].contains("- bed (one of north, south)\n- litres (number, optional)"), "{asked:?}");
        assert!(asked[1].starts_with("This answer can't be used: `east` is none of the values"), "{asked:?}");
        let prompt = last_prompt(&garden);
        assert!(prompt.contains("water the south bed"), "{revision}: {prompt}");
        assert_eq!(garden.count("tool_finished"), 3, "a question, another one, and the result");
    }
}

/// A garden whose server needs two values, with the run that asks for them. Its calls need no approval.
fn asking_for_two() -> (TestProject, [&'static str; 5]) {
    let garden = garden(&["both"], "", &["both"]);
    confirm(&garden);
    (garden, ["run", "--sheet", "work.md", "--approval", "never"])
}

/// covers: 13.4, 11.17
#[test]
fn a_form_with_two_required_values_is_answered_in_plain_lines() {
    let (garden, run) = asking_for_two();
    let mut terminal = at_terminal(garden.command(&[&run[..], &["--plain"]].concat()));
    terminal.expect("Who waters what?").unwrap();
    terminal.send_line("who: Ana").unwrap();
    terminal.expect("The server still needs litres.").unwrap();
    terminal.expect("Answer with the value of litres").unwrap();
    // The same answer again leads to the same words.
    for _ in 0..2 {
        terminal.send_line("much").unwrap();
        terminal.expect("is no number").unwrap();
        terminal.expect("Who waters what?").unwrap();
    }
    terminal.send_line("litres: 30\\").unwrap();
    terminal.send_line("who: Ben").unwrap();
    let said = rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0, "{said}");
    assert!(last_prompt(&garden).contains("Ben brings 30 litres"));
}

/// covers: 13.4, 11.17
#[test]
fn a_form_with_two_required_values_is_answered_on_the_screen() {
    let (garden, run) = asking_for_two();
    let mut screen = OnScreen::start(garden.command(&run), 100, 30);
    screen.until(&["Who waters what?", "r answer"]);
    screen.press("r");
    screen.until(&["Your answer (Ctrl-J: new line):"]);
    screen.press("who: Ana\nlitres: 0\r");
    screen.until(&["This answer can't be used", "Who waters what?", "r answer"]);
    screen.press("r");
    screen.until(&["Your answer"]);
    screen.press("who: Ana\nlitres: 20\r");
    screen.until(&["It came.", "f follow up"]);
    screen.press("q");
    assert_eq!(screen.end().1, 0);
    assert!(last_prompt(&garden).contains("Ana brings 20 litres"));
}

/// covers: 10.10, 12.6
#[test]
fn a_task_that_ran_out_of_time_names_the_call_at_work() {
    let garden = garden(&["hang"], "", &["hang"]);
    confirm(&garden);
    let limits = ["--set", "limits.timeout_seconds=2", "--set", "iterate=never"];
    let ended = garden.expect(5, &[&["run", "--sheet", "work.md", "--approval", "never"], &limits[..]].concat());
    assert!(ended.err.contains("it ran out of time while shed__hang ran"), "{}", ended.err);
    assert!(garden.run_file("report.md").contains("it ran out of time while shed__hang ran"));
}

/// covers: 13.4
#[test]
fn a_question_is_declined_by_a_person_or_because_nobody_is_there() {
    let garden = asking("2025-11-25");
    assert_eq!(answered(&garden, &["decline"]).len(), 1);
    assert!(last_prompt(&garden).contains("no bed was chosen"));
    for revision in ["2025-11-25", "2026-07-28"] {
        let garden = asking(revision);
        let ended = garden.expect(0, APPROVED);
        assert!(ended.err.contains("nobody is there to answer"), "{}", ended.err);
        assert_eq!(garden.count("question_declined"), 1);
        assert!(last_prompt(&garden).contains("no bed was chosen"), "{revision}");
    }
}

/// covers: 13.4, 2.18
#[test]
fn a_call_whose_server_asked_is_interrupted_with_its_process() {
    let garden = asking("2025-11-25");
    let mut program = Program::of(&garden, &["mcp", "--may", "approve"]);
    let begun = program.call("run", json!({"sheet": garden.read("work.md")}));
    let run = begun["structuredContent"]["run"].clone();
    loop {
        let status = program.settled(run.as_str().unwrap());
        let Some(number) = status["approvals"][0]["approval"].as_u64() else { break };
        program.call("approve", json!({"run": run, "approval": number}));
    }
    garden.kill_driver();
    let resumed = garden.expect(3, &["resume"]);
    assert!(resumed.err.contains("this call was started and never finished"), "{}", resumed.err);
    assert_eq!(calls(&garden), 1, "it is not known what the call did, so it is not made again");
}

/// A garden whose task reads these links.
fn reading(links: &str) -> TestProject {
    let garden = garden(&["level"], "", &[]);
    let sheet = garden.read("work.md").replace("[Water](water.md)", links).replace("- **Skill** try_it\n", "");
    garden.write("work.md", sheet);
    garden
}

/// covers: 5.13, 5.8
#[test]
fn a_resource_is_a_reference_that_is_read_once() {
    let garden = reading("[Forecast](mcp:shed/weather://today)");
    garden.expect(0, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(
        prompt.contains("### Forecast - mcp:shed/weather://today") && prompt.contains("Rain until noon."),
        "{prompt}"
    );
    let reads = std::fs::read_to_string(listed(&garden).with_extension("json.reads")).unwrap();
    assert_eq!(reads.lines().count(), 1, "{reads}");
}

/// covers: 5.13, 5.5
#[test]
fn a_resource_that_is_gone_is_told_before_the_first_call() {
    for (link, words) in [
        ("mcp:shed/weather://yesterday", "mcp:shed/weather://today"),
        ("mcp:shed/weather://map", "content of type image/png is neither text"),
        ("mcp:attic/weather://today", "mcp:shed/"),
    ] {
        let garden = reading(&format!("[Forecast]({link})"));
        let checked = garden.call(&["sheet", "check", "work.md"]);
        assert_ne!(checked.code, 0, "{link}: {}", checked.out);
        assert!(checked.out.contains(words), "{link}: {}", checked.out);
        let ended = garden.call(&["run", "--sheet", "work.md"]);
        assert_ne!(ended.code, 0, "{}", ended.err);
        let facts: Vec<Value> = if ended.code == 2 { Vec::new() } else { garden.facts() };
        assert!(facts.iter().all(|fact| fact["event"] != "reply_received"), "no model was asked");
    }
}
