//! Runs the transcripts of `fixtures/runs`: what happens, and what the machine then owes.
//!
//! A line that starts with a letter is something that happens; the lines after it that start with a sign are what
//! follows: `·` a task's new state, `→` a new effect, `✗` an effect that went away, `=` how the run stands. `why TASK` asks
//! why a task is not done; `?` is the answer. `board` asks for the board, `waits` for what was waited for; `|` is the answer.
//! `UPDATE_EXPECT=1` writes the sign lines anew; read them against the specification before keeping them.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use crate::transcript::Player;
use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::Phase;
use callsheet_core::record::Outcome;
use callsheet_core::run::{Limit, Run};

fn runs() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/runs"), "txt")
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    assert!(!files.is_empty(), "no fixtures in {}", folder.display());
    files
}

fn play(path: &Path) -> (String, Player) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut player = Player::new(path.file_name().unwrap().to_str().unwrap());
    let played = player.play(&text);
    (played, player)
}

#[test]
fn transcripts() {
    let mut wrong = Vec::new();
    for path in runs() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\ncovers: "), "{} names what it covers", path.display());
        let (played, _) = play(&path);
        if played != text {
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                std::fs::write(&path, played).unwrap();
            } else {
                wrong.push(format!(
                    "{}:\n{}",
                    path.display(),
                    similar::TextDiff::from_lines(&text, &played).unified_diff()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_limit_is_reached() {
    let reached: Vec<Limit> =
        runs().iter().flat_map(|path| play(path).1.run.limits_reached().collect::<Vec<_>>()).collect();
    // Trees have one of their own: see `operators.rs`.
    let of_sheets = Limit::ALL.iter().filter(|limit| **limit != Limit::NoProgress);
    let missing: Vec<&Limit> = of_sheets.filter(|limit| !reached.contains(limit)).collect();
    assert!(missing.is_empty(), "no transcript reaches {missing:?}");
}

/// Runs whose `covers:` line names a paragraph.
fn covering(name: &str) -> Vec<(PathBuf, Player)> {
    let named = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().skip_while(|line| !line.starts_with("covers: ")).take_while(|line| !line.is_empty());
        lines.flat_map(|line| line.trim_start_matches("covers: ").split(',')).any(|found| found.trim() == name)
    };
    runs().into_iter().filter(named).map(|path| (path.clone(), play(&path).1)).collect()
}

/// The table of spec 2.14: calls by phase, and the total, of a run without retries. Row 5 is a formula: its transcript
/// has 3 tasks, 1 without refinement, 1 + 1 + 2 execution runs, 1 merge by model, 1 iteration and 1 join.
/// The loop task of row 1 takes 3 turns.
/// covers: 2.14
#[test]
fn every_row_of_minimum_calls() {
    let rows = [
        ("2.14 row 1", "direct-task", [0, 0, 0, 1, 0, 0, 0]),
        ("2.14 row 1", "minimum-calls-loop", [0, 0, 0, 3, 0, 0, 0]),
        ("2.14 row 2", "fast-path", [0, 1, 0, 1, 0, 0, 0]),
        ("2.14 row 3", "one-refined-task", [0, 1, 1, 1, 0, 0, 0]),
        ("2.14 row 4", "always", [0, 1, 1, 1, 0, 1, 0]),
        ("2.14 row 5", "minimum-calls", [0, 1, 3 - 1, 1 + 1 + 2, 1, 1, 1]),
        ("2.14 row 6", "route-one-task", [1, 0, 0, 1, 0, 0, 0]),
    ];
    for (row, name, expected) in rows {
        let (_, player) = covering(row)
            .into_iter()
            .find(|(path, _)| path.file_stem().is_some_and(|stem| stem == name))
            .unwrap_or_else(|| panic!("{name} covers {row}"));
        let phases =
            [Phase::Route, Phase::Plan, Phase::Refine, Phase::Execute, Phase::Merge, Phase::Iterate, Phase::Join];
        let made = phases.map(|phase| player.run.calls().iter().filter(|call| call.key.phase == phase).count());
        assert_eq!(made, expected, "{row}: {name}");
        let total = u32::try_from(expected.iter().sum::<usize>()).unwrap();
        assert_eq!((player.run.totals().calls, player.run.minimum_calls()), (total, total), "{row}: {name}");
    }
}

/// covers: 2.15
#[test]
fn every_outcome_ends_a_run() {
    for outcome in [
        Outcome::Complete,
        Outcome::Incomplete,
        Outcome::MaxRounds,
        Outcome::Planned,
        Outcome::PlanFailed,
        Outcome::IterationFailed,
        Outcome::ApprovalRequired,
        Outcome::InputRequired,
        Outcome::Unreachable,
        Outcome::Misconfigured,
        Outcome::LimitReached,
        Outcome::Cancelled,
    ] {
        let word = crate::transcript::outcome(outcome);
        let ended = |player: &Player| {
            player.log.iter().any(|fact| match &fact.event {
                Event::RunConcluded(events::RunConcluded { outcome: found, .. })
                | Event::RunWaiting(events::RunWaiting { outcome: found }) => *found == outcome,
                _ => false,
            })
        };
        let named = covering(&format!("2.15 {word}"));
        assert!(named.iter().any(|(_, player)| ended(player)), "no transcript that covers 2.15 {word} ends so");
    }
}

#[test]
fn facts_that_do_not_fit_are_refused_and_change_nothing() {
    for path in runs() {
        let (_, player) = play(&path);
        // Every fact of the log a second time, at every place: refused or harmless, never folded twice.
        let mut run = Run::new();
        for fact in &player.log {
            run.apply(fact).unwrap();
            let again = run.clone().apply(fact);
            assert!(again.is_err(), "{} took fact {} twice", path.display(), fact.n);
        }
        let before = run.clone();
        for fact in &player.log {
            let renumbered = LogEntry { n: 1_000_000 + fact.n, ..fact.clone() };
            if run.check(&renumbered).is_err() {
                assert!(run.apply(&renumbered).is_err());
                assert_eq!(before, run);
            }
        }
    }
}
