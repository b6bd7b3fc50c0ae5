//! Runs the transcripts of `fixtures/runs`: what happens, and what the machine then owes.
//!
//! A line that starts with a letter is something that happens; the lines after it that start with a sign are what
//! follows: `·` a task's new state, `→` a new effect, `✗` an effect that went away, `=` how the run stands.
//! `UPDATE_EXPECT=1` writes the sign lines anew; read them against the specification before keeping them.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod transcript;

use std::path::{Path, PathBuf};

use callsheet_core::record::Fact;
use callsheet_core::run::{Limit, Run};
use transcript::{Player, digest};

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
    let missing: Vec<&Limit> = Limit::ALL.iter().filter(|limit| !reached.contains(limit)).collect();
    assert!(missing.is_empty(), "no transcript reaches {missing:?}");
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
            let renumbered = Fact { n: 1_000_000 + fact.n, ..fact.clone() };
            if run.check(&renumbered).is_err() {
                assert!(run.apply(&renumbered).is_err());
                assert_eq!(before, run);
            }
        }
    }
}

/// Logs written by version 1, which must replay for ever. A log is never changed once it is here;
/// `WRITE_RECORDS=1` writes the ones that are missing.
#[test]
fn records_replay_for_ever() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/records/v1");
    if std::env::var_os("WRITE_RECORDS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for path in runs() {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let log = folder.join(format!("{name}.jsonl"));
            if transcript::RECORDED.contains(&name) && !log.exists() {
                let (_, player) = play(&path);
                let lines: Vec<String> =
                    player.log.iter().map(|fact| serde_json::to_string(fact).unwrap() + "\n").collect();
                std::fs::write(&log, lines.concat()).unwrap();
                std::fs::write(log.with_extension("expect"), digest(&player.run)).unwrap();
            }
        }
    }
    for path in files(&folder, "jsonl") {
        let mut run = Run::new();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let fact: Fact = serde_json::from_str(line).unwrap();
            run.apply(&fact).unwrap_or_else(|reject| panic!("{}: fact {}: {reject}", path.display(), fact.n));
            assert_eq!(serde_json::to_string(&fact).unwrap(), line, "{} is written as it was", path.display());
        }
        let expect = std::fs::read_to_string(path.with_extension("expect")).unwrap();
        assert_eq!(digest(&run), expect, "{}", path.display());
    }
}
