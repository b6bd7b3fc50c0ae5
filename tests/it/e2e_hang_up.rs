//! A terminal that is closed under the full screen.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;
use crate::support::terminal::{Window, wait_for};

const RUN: [&str; 2] = ["run", "bring the notes up to date"];
/// A terminal that is the session's own sends a signal when it is closed; any other one is only gone.
const SESSION: [&str; 2] = ["setsid", "--ctty"];
/// As `nohup` does.
const IGNORING: [&str; 4] = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"];

const SLOW: &str = "[[rule]]\nphase = \"execute\"\nuntil = \"told\"\nuntil_after = 50\n\
    text = \"## Result summary\\nThe fourth bed is dry, says the plan of the spring.\"\n";
const SLOW_RUN: [&str; 6] = ["run", "which bed is dry?", "--skill", "answer_from_documents", "--set", "refine=never"];

/// covers: 11.9 exit 130
#[test]
fn a_closed_terminal_ends_a_run_that_waits_at_a_gate() {
    for before in [&SESSION[..], &[]] {
        let garden = TestProject::with("writer");
        let mut window = Window::open(&garden.command(&RUN), before);
        window.until(&["write-water-1", "y approve"]);
        window.close();
        assert_eq!(window.end().code(), Some(130), "{before:?}");
        let ended = garden.expect(3, &["resume"]);
        assert!(ended.err.contains("write-water-1"), "the gate is shown again: {}", ended.err);
        assert!(garden.path("minutes.md").exists());
    }
}

#[test]
fn a_closed_terminal_ends_a_run_that_waits_for_a_model() {
    for before in [&SESSION[..], &[]] {
        let garden = TestProject::scripted(SLOW);
        let mut window = Window::open(&garden.command(&SLOW_RUN), before);
        window.until(&["The fourth"]);
        window.close();
        assert_eq!(window.end().code(), Some(130), "{before:?}");
    }
}

/// A terminal that dies in the middle of a key leaves the reader of keys with a part of one.
#[test]
fn a_terminal_that_is_closed_in_the_middle_of_a_key_ends_the_run() {
    for part in ["\u{1b}[", "\u{1b}[<35;1", "\u{1b}[200~pasted", "\u{1b}[M "] {
        let garden = TestProject::scripted(SLOW);
        let mut window = Window::open(&garden.command(&SLOW_RUN), &[]);
        window.until(&["The fourth"]);
        window.press(part);
        window.close();
        assert_eq!(window.end().code(), Some(130), "{part:?}");
    }
}

/// Where hangups are ignored a run goes on, and nothing draws any more.
#[test]
fn a_run_that_ignores_hangups_goes_on_without_its_screen() {
    let garden = TestProject::scripted(SLOW);
    let mut window = Window::open(&garden.command(&SLOW_RUN), &[&SESSION[..], &IGNORING].concat());
    window.until(&["The fourth"]);
    assert!(window.threads().iter().any(|name| name.trim() == "hang-up"), "{:?}", window.threads());
    window.close();
    wait_for(|| window.threads().iter().all(|name| name.trim() != "hang-up"));
    std::fs::write(garden.project().with_file_name("told"), "").unwrap();
    assert_eq!(window.end().code(), Some(0));
    assert!(garden.run_file("report.md").contains("The fourth bed is dry"));
}

/// Nobody can answer where the terminal is gone: the run rests at its gate.
#[test]
fn a_gate_of_a_run_that_ignores_hangups_waits_for_others() {
    let garden = TestProject::with("writer");
    let mut window = Window::open(&garden.command(&RUN), &[&SESSION[..], &IGNORING].concat());
    window.until(&["write-water-1", "y approve"]);
    window.close();
    assert_eq!(window.end().code(), Some(3));
}

#[test]
fn a_closed_terminal_ends_whoever_watches() {
    let garden = TestProject::scripted(SLOW);
    let mut run = garden.command(&SLOW_RUN).spawn().unwrap();
    wait_for(|| garden.store().join("place.json").exists());
    let mut window = Window::open(&garden.command(&["watch"]), &IGNORING);
    window.until(&["The fourth"]);
    window.close();
    assert_eq!(window.end().code(), Some(130));
    std::fs::write(garden.project().with_file_name("told"), "").unwrap();
    assert!(run.wait().unwrap().success(), "the run itself goes on");
}
