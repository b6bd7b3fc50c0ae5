//! The full screen at a pseudo-terminal: a run is driven, watched, killed and taken up from there alone.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;
use crate::support::terminal::OnScreen;

const RUN: [&str; 2] = ["run", "bring the notes up to date"];
const CTRL_C: &str = "\u{3}";

/// covers: 11.3, 11.4, 11.5
#[test]
fn a_run_is_planned_approved_and_answered_on_the_screen() {
    let garden = TestProject::with("writer");
    let mut screen = OnScreen::start(garden.command(&RUN), 80, 24);
    screen.until(&["write-water-1", "1 waiting", "y approve"]);
    assert!(garden.path("minutes.md").exists());
    screen.press("y");
    let seen = screen.until(&["wants to make these changes", "hunk 1 of 3", "y approve"]);
    assert!(seen.contains("bring the notes up to date") && seen.contains("hunk 1 of"), "{seen}");
    assert!(garden.path("minutes.md").exists());
    // Another size in the middle of it.
    screen.resize(120, 35);
    screen.until(&["│", "wants to make these changes", "y approve"]);
    screen.press("y");
    // The screen stays, and what is typed there reaches no shell.
    screen.until(&["are up to date", "f follow up", "q leave"]);
    screen.press("q");
    let bytes = String::from_utf8_lossy(&screen.said).into_owned();
    assert!(bytes.contains('\u{7}') && bytes.contains("waits for you: bring the notes"), "it rings and says so");
    let (said, code) = screen.end();
    assert!(code == 0 && said.contains("Complete") && said.contains("tasks: "), "{code}: {said}");
    assert!(!garden.path("minutes.md").exists());
}

/// covers: 11.7
#[test]
fn a_denial_on_the_screen_has_words_and_needs_no_colour() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    let mut command = garden.command(&RUN);
    command.env("NO_COLOR", "1");
    let mut screen = OnScreen::start(command, 200, 60);
    screen.until(&["y approve"]);
    screen.press("n");
    screen.until(&["Why not?"]);
    screen.press("not in winter, y\u{7f}\r");
    screen.until(&["incomplete", "q leave"]);
    screen.press("q");
    let bytes = String::from_utf8_lossy(&screen.said).into_owned();
    let colours = ["\u{1b}[3", "\u{1b}[9", "\u{1b}[4"].iter().flat_map(|start| bytes.match_indices(start));
    let colours = colours.filter(|(at, _)| {
        let codes: String = bytes[at + 2..].chars().take_while(|c| c.is_ascii_digit() || *c == ';').collect();
        bytes[at + 2 + codes.len()..].starts_with('m')
            && codes.split(';').any(|code| code.len() == 2 && code != "39" && code != "49")
    });
    assert_eq!(colours.count(), 0, "{bytes:?}");
    assert_eq!(screen.end().1, 5);
    assert!(garden.run_file("report.md").contains("not in winter,"));
    assert_eq!(garden.files(), before);
}

/// What was typed while the plan was made answers no gate.
/// covers: 11.5
#[test]
fn what_was_typed_before_a_gate_is_on_the_screen_answers_nothing() {
    let writer = std::fs::read_to_string(crate::support::root().join("tests/fixtures/e2e/writer.toml")).unwrap();
    let script = writer.replacen("phase = \"plan\"", "phase = \"plan\"\nuntil = \"typed\"", 1);
    let garden = TestProject::scripted(&script);
    let before = garden.files();
    let mut screen = OnScreen::start(garden.command(&RUN), 80, 24);
    screen.until(&["planning"]);
    screen.press("yyyyaa\r");
    std::fs::write(garden.project().with_file_name("typed"), "").unwrap();
    screen.until(&["write-water-1", "y approve"]);
    screen.press(CTRL_C);
    screen.until(&["Stop the run?"]);
    screen.press("y");
    screen.until(&["q leave"]);
    screen.press("q");
    let (last, code) = screen.end();
    assert!(last.contains("callsheet resume") && code == 130, "{code}: {last}");
    assert_eq!(garden.files(), before);
    assert_eq!(garden.count("gate_answered"), 0);
}

/// covers: 2.16, 2.18, 11.9 exit 130
#[test]
fn a_killed_run_is_watched_resumed_and_stopped() {
    let garden = TestProject::with("writer");
    let mut screen = OnScreen::start(garden.command(&RUN), 100, 30);
    screen.until(&["write-water-1", "y approve"]);
    garden.kill_driver();
    screen.until(&["not running", "r resume", "y approve"]);
    screen.press("y");
    screen.until(&["your answer is saved"]);
    screen.press("r");
    screen.until(&["wants to make these changes", "y approve"]);
    screen.press("x");
    screen.until(&["Stop the run?"]);
    screen.press("y");
    screen.until(&["q leave"]);
    screen.press("q");
    let (last, code) = screen.end();
    assert!(last.contains("callsheet resume") && code == 130, "{code}: {last}");
    assert!(garden.path("minutes.md").exists());
}

/// Two screens on one run: the one that watches answers for the one that drives.
/// covers: 11.5
#[test]
fn a_watched_run_is_answered_from_another_terminal() {
    let garden = TestProject::with("writer");
    let mut driven = OnScreen::start(garden.command(&RUN), 80, 24);
    driven.until(&["write-water-1", "y approve"]);
    let mut watched = OnScreen::start(garden.command(&["watch"]), 120, 35);
    watched.until(&["1 waits for you", "y approve"]);
    watched.press("y");
    watched.until(&["wants to make these changes", "y approve"]);
    driven.until(&["wants to make these changes"]);
    watched.press("y");
    let seen = watched.until(&["complete", "f follow up", "are up to date"]);
    assert!(!seen.contains("waits for you"), "{seen}");
    driven.until(&["f follow up"]);
    driven.press("q");
    assert_eq!(driven.end().1, 0);
    watched.press("q");
    let (last, code) = watched.end();
    assert!(last.contains(": complete") && code == 0, "{code}: {last}");
}

/// What a model writes is seen where another process drives the run, without its escapes; of one that was killed, no more.
#[test]
fn what_is_streamed_is_seen_from_another_terminal() {
    let garden = TestProject::scripted(
        "[[rule]]\nphase = \"execute\"\nuntil = \"seen\"\nuntil_after = 60\n\
         text = \"## Result summary\\nThe fourth \\u001b]0;owned\\u0007bed is dry, says the plan of the spring.\"\n",
    );
    garden.write(
        "list.md",
        "## Goals / summary\nA bed.\n## Tasks\n- **What is needed** Which bed?\n- **Expected output** A number.\n",
    );
    let run = ["run", "--sheet", "list.md", "--set", "refine=never", "--set", "iterate=never"];
    let mut driven = OnScreen::start(garden.command(&run), 80, 24);
    driven.until(&["The fourth"]);
    let mut watched = OnScreen::start(garden.command(&["watch"]), 80, 24);
    let seen = watched.until(&["The fourth", "dry"]);
    assert!(seen.contains("dry") && !seen.contains("spring"), "{seen}");
    assert!(!String::from_utf8_lossy(&watched.said).contains("owned\u{7}"), "no escape of a model gets through");
    garden.kill_driver();
    driven.until(&["not running"]);
    driven.kill();
    let seen = watched.until(&["not running"]);
    assert!(!seen.contains("The fourth"), "{seen}");
    watched.press("q");
    watched.end();
    // Who comes later sees nothing of it either, and the next process begins anew.
    let mut watched = OnScreen::start(garden.command(&["watch"]), 80, 24);
    let seen = watched.until(&["not running"]);
    assert!(!seen.contains("The fourth"), "{seen}");
    watched.press("r");
    watched.until(&["The fourth"]);
    std::fs::write(garden.project().with_file_name("seen"), "").unwrap();
    watched.until(&["f follow up"]);
    watched.press("q");
    assert_eq!(watched.end().1, 0);
}

/// covers: 2.15 limit_reached, 3.10
#[test]
fn a_limit_is_raised_and_changes_are_reverted_on_the_screen() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    let run = ["run", "bring the notes up to date", "--set", "limits.max_calls=2", "--approval", "before-apply"];
    let mut screen = OnScreen::start(garden.command(&run), 120, 35);
    // Most of the limit is used: it is raised while the run waits at a gate.
    screen.until(&["2 of 2 model calls", "y approve", "+ raise the limit"]);
    screen.press("+");
    screen.until(&["To how many model calls? 4"]);
    screen.press("\r");
    screen.until(&["max_calls is raised to 4"]);
    screen.press("y");
    screen.until(&["f follow up"]);
    screen.press("q");
    assert_eq!(screen.end().1, 0);
    assert_eq!(garden.count("limit_raised"), 1);
    assert_ne!(garden.files(), before);
    let mut watched = OnScreen::start(garden.command(&["watch"]), 120, 35);
    watched.until(&["complete"]);
    watched.press("u");
    watched.until(&["Revert ", "y revert"]);
    watched.press("y");
    watched.until(&["restored "]);
    watched.press("q");
    assert_eq!(watched.end().1, 0);
    assert_eq!(garden.files(), before);
}

/// covers: 10.8
#[test]
fn a_question_is_answered_on_the_screen() {
    let garden = TestProject::with("question");
    garden.write(
        ".callsheet/skills/ask_first.md",
        "---\nname: ask_first\ndescription: Ask a person before answering.\ntools: [ask_user]\nmode: loop\n---\nSay what is unclear.\n---\nAsk, then answer.\n",
    );
    let mut screen = OnScreen::start(garden.command(&["run", "water the bed", "--skill", "ask_first"]), 80, 24);
    screen.until(&["Which bed do you mean?", "r answer"]);
    screen.press("r");
    screen.until(&["Your answer (Ctrl-J"]);
    screen.press("the fourth\r");
    let said = screen.until(&["Bed 4 it is.", "f follow up"]);
    screen.press("q");
    assert_eq!(screen.end().1, 0, "{said}");
}

/// covers: 11.17
#[test]
fn a_run_that_is_left_goes_on_and_is_watched_again() {
    let garden = TestProject::with("writer");
    let mut screen = OnScreen::start(garden.command(&RUN), 80, 24);
    screen.until(&["write-water-1", "y approve"]);
    screen.press("y");
    screen.until(&["wants to make these changes", "y approve"]);
    screen.press("q");
    let (last, code) = screen.end();
    assert!(last.contains("continues without this screen") && code == 0, "{code}: {last}");
    let mut watched = OnScreen::start(garden.command(&["watch"]), 80, 24);
    watched.until(&["wants to make these changes", "q detach", "y approve"]);
    watched.press("y");
    watched.until(&["f follow up"]);
    watched.press("q");
    assert_eq!(watched.end().1, 0);
    assert!(!garden.path("minutes.md").exists());
}

/// `callsheet` alone asks what is to be done, and shows earlier runs.
#[test]
fn the_first_screen_takes_a_request_and_shows_runs() {
    let garden = TestProject::with("answer");
    let mut command = garden.command(&[]);
    command.env("CALLSHEET_MODEL", garden.model());
    let mut screen = OnScreen::start(command, 100, 30);
    screen.until(&["What is to be done in this folder?", "runs here"]);
    screen.press("who waters?\r");
    screen.until(&["complete", "f follow up"]);
    screen.press("q");
    assert_eq!(screen.end().1, 0);
    let mut command = garden.command(&[]);
    command.env("CALLSHEET_MODEL", garden.model());
    let mut screen = OnScreen::start(command, 100, 30);
    screen.until(&["complete", "who waters?"]);
    screen.press("\u{1b}[B\r");
    screen.until(&["q leave", "f follow up"]);
    screen.press("q");
    assert_eq!(screen.end().1, 0);
}

#[test]
fn watching_needs_a_terminal() {
    let garden = TestProject::with("answer");
    garden.expect(0, &["run", "who waters?"]);
    let ended = garden.expect(2, &["watch"]);
    assert!(ended.err.contains("needs a terminal"), "{}", ended.err);
}
