//! The first minute: the program alone, the choice of a model, and the demonstration.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};
use crate::support::terminal::{at_terminal, exit_code, rest};
use expectrl::Expect;

const STORY: &str = "[[rule]]\nlabel = \"conformance story\"\ntext = \"There was a garden.\"\n";

fn config(garden: &TestProject) -> String {
    std::fs::read_to_string(garden.home().join("config.toml")).unwrap()
}

#[test]
fn alone_it_says_what_it_finds_and_what_to_do() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "write the rota"]);
    let mut terminal = at_terminal(garden.command(&[]));
    let said = rest(&mut terminal);
    assert_eq!(exit_code(terminal.get_process()), 0);
    for part in ["none yet, which is fine", "1, of which 1 can be resumed", "callsheet show 2", "callsheet --help"] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
    let piped = garden.expect(2, &[]);
    assert!(piped.out.contains("Next:"), "a script that forgot the command notices: {}", piped.out);
    assert_eq!(json_lines(&garden.expect(2, &["--json"]).out)[0]["code"], "usage");
}

#[test]
fn init_writes_the_configuration_and_tests_the_model() {
    let garden = TestProject::bare();
    garden.write("script.toml", STORY);
    garden.expect(2, &["init"]);
    let ended = garden.expect(0, &["init", "--model", "scripted:script.toml"]);
    assert!(ended.err.contains("It answers"), "{}", ended.err);
    assert!(config(&garden).ends_with("\nmodel = \"scripted:script.toml\"\n"), "{}", config(&garden));
    assert!(!garden.has_store(), "a test is no run");

    let before = format!("# mine\n{}\n[limits] # few\nmax_calls = 7\n", config(&garden));
    std::fs::write(garden.home().join("config.toml"), &before).unwrap();
    garden.expect(2, &["init", "--model", "scripted:other.toml"]);
    assert_eq!(config(&garden), before, "nothing is overwritten unasked");
    // What does not answer is said, and stays written: the server may only be off.
    let ended = garden.expect(7, &["init", "--model", "scripted:other.toml", "--force"]);
    assert!(ended.err.contains("did not answer"), "{}", ended.err);
    assert_eq!(config(&garden), before.replace("script.toml", "other.toml"));
}

#[test]
fn init_asks_at_a_terminal() {
    let garden = TestProject::bare();
    garden.write("script.toml", STORY);
    let mut command = garden.command(&["init"]);
    command.env("ANTHROPIC_API_KEY", "sk-secret");
    let mut terminal = at_terminal(command);
    terminal.expect("ANTHROPIC_API_KEY is set").unwrap();
    terminal.expect("Which one?").unwrap();
    terminal.send_line("99").unwrap();
    terminal.expect("no such model").unwrap();
    terminal.send_line("scripted:script.toml").unwrap();
    let said = rest(&mut terminal);
    assert!(said.contains("It answers"), "{said}");
    assert_eq!(exit_code(terminal.get_process()), 0);
    assert!(!config(&garden).contains("sk-secret"));

    let mut terminal = at_terminal(garden.command(&["init"]));
    terminal.expect("[y/N]").unwrap();
    terminal.send_line("").unwrap();
    assert!(rest(&mut terminal).contains("nothing was changed"));
    assert!(config(&garden).contains("scripted:script.toml"));
}

/// Without any model at hand, a person learns how to get one, and nothing is written.
#[cfg(not(feature = "embedded"))]
#[test]
fn init_without_a_model_says_how_to_get_one() {
    let garden = TestProject::bare();
    let mut terminal = at_terminal(garden.command(&["init"]));
    terminal.expect("found no model").unwrap();
    terminal.expect("ollama pull").unwrap();
    terminal.expect("PROVIDER/MODEL, Enter: stop").unwrap();
    terminal.send_line("7").unwrap();
    terminal.expect("A model is named PROVIDER/MODEL").unwrap();
    terminal.send_line("").unwrap();
    assert!(rest(&mut terminal).contains("nothing was changed"));
    assert!(!garden.home().join("config.toml").exists());
}

/// Fails when a prompt, a skill or the example project has changed: then `scripts/record-demo` records the calls again.
#[test]
fn the_demonstration_plays_from_its_recording() {
    let garden = TestProject::bare();
    let before = garden.files();
    let ended = garden.expect(0, &["demo", "--fast"]);
    let parts = [
        "$ callsheet run \"Which jobs",
        "✓ read-plan done",
        "$ kill -9 ",
        "$ callsheet resume",
        "hunk 1",
        "$ callsheet approve",
        "Nobody has agreed to turn and spread the compost.",
        "restored plan.md",
        "byte for byte",
        "callsheet init",
    ];
    let mut rest = ended.out.as_str();
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} is missing, or too early:\n{}", ended.out));
        rest = &rest[at + part.len()..];
    }
    // What was answered before the kill is not asked again.
    assert_eq!(ended.out.matches("│ plan: ").count(), 1, "{}", ended.out);
    assert_eq!(garden.files(), before);
    assert!(!garden.has_store(), "the project has no run of it");
    garden.expect(2, &["demo", "--json"]);
}

/// A recording says what prompts say of the machine, and keeps how long replies took.
#[test]
fn a_recording_replays_elsewhere() {
    let garden = TestProject::with("answer");
    let tape = garden.home().join("tape");
    let folder = tape.to_str().unwrap();
    garden.expect(0, &["run", "who waters?", "--record", folder]);
    let elsewhere = TestProject::bare();
    let again = ["run", "who waters?", "--replay", folder];
    elsewhere.expect(0, &[&again[..], &["--set", "pace=1"]].concat());
    std::fs::remove_file(tape.join(".environment")).unwrap();
    let ended = elsewhere.call(&again);
    assert!(ended.code != 0 && ended.err.contains("Project root"), "{}", ended.err);
}
