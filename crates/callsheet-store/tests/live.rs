//! Streamed text goes from the process that drives a run to those that look, and is gone when its call has ended.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "tests wait")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use callsheet_core::events::{self, LogEntry};
use callsheet_core::nouns::{Phase, RunId, Slug};
use callsheet_core::record::{CallFault, CallKey};
use callsheet_core::run::Run;
use callsheet_runtime::ports::{LiveText, Observer, Signal, Store};
use callsheet_store::{LiveReader, LiveWriter, SqliteStore};

struct Unheard;

impl Observer for Unheard {
    fn see(&self, _: &Signal<'_>) {}
}

fn key(task: &str) -> CallKey {
    CallKey { phase: Phase::Execute, task: Some(Slug::new(task)), run: None, n: 1 }
}

fn ended(key: CallKey) -> LogEntry {
    let fault = CallFault::Cancelled;
    let event = events::CallFailed { key, fault, sends: 1, message: String::new(), sizes: None }.into();
    LogEntry::new(1, 1, event)
}

/// Looks until what is seen is as wanted.
fn until(reader: &LiveReader, owner: &str, wanted: impl Fn(&[LiveText]) -> bool) -> Vec<LiveText> {
    let begun = Instant::now();
    loop {
        let seen = reader.read(owner);
        if wanted(&seen) {
            return seen;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{seen:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Files of streamed text.
fn texts(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.join("live")).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
}

#[test]
fn other_processes_see_what_is_streamed_until_its_call_ends() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunId::new("../a run");
    // The store says who drives the run.
    let store = SqliteStore::open(folder.path()).unwrap();
    let lock = store.lock(&run).unwrap();
    let owner = format!("process {} on {}", std::process::id(), rustix::system::uname().nodename().to_string_lossy());
    let writer = LiveWriter::new(folder.path(), &run, Arc::new(Unheard));
    let reader = LiveReader::new(folder.path(), &run);
    let say = |task: &str, text: &str| writer.see(&Signal::Delta { key: &key(task), text });
    say("a", "Bed 4 is ");
    say("a", "dry\u{1b}[2J.");
    say("b", &"ä".repeat(100_000));
    let seen = until(&reader, &owner, |seen| seen.len() == 2);
    assert_eq!((seen[0].key.clone(), seen[0].text.as_str(), seen[0].count), (key("a"), "Bed 4 is dry\u{1b}[2J.", 17));
    assert_eq!(seen[1].count, 100_000);
    assert!(seen[1].text.len() <= 4_096 && seen[1].text.chars().all(|c| c == 'ä'), "{}", seen[1].text.len());
    assert!(reader.read("process 1 on elsewhere").is_empty(), "another process drives the run now");
    #[cfg(unix)]
    for path in [texts(folder.path()).remove(0), folder.path().join("live")] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions());
        assert_eq!(mode & 0o077, 0, "it is for nobody else");
    }
    let fact = ended(key("b"));
    writer.see(&Signal::LogEntry { fact: &fact, run: &Run::new() });
    until(&reader, &owner, |seen| seen.len() == 1);
    let fact = ended(key("a"));
    writer.see(&Signal::LogEntry { fact: &fact, run: &Run::new() });
    until(&reader, &owner, |seen| seen.is_empty());
    assert!(texts(folder.path()).is_empty());
    say("a", "more");
    until(&reader, &owner, |seen| seen.len() == 1);
    drop(writer);
    assert!(texts(folder.path()).is_empty(), "nothing of it stays");
    store.unlock(&lock).unwrap();
}

#[test]
fn what_nobody_looks_at_is_not_written_and_what_a_dead_process_left_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunId::new("a-run");
    let reader = LiveReader::new(folder.path(), &run);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let writer = LiveWriter::new(folder.path(), &run, Arc::new(Unheard));
    writer.see(&Signal::Delta { key: &key("a"), text: "Bed 4" });
    let owner = format!("process {} on {host}", std::process::id());
    until(&reader, &owner, |seen| !seen.is_empty());
    let file = texts(folder.path()).remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    drop(writer);
    // As a crash leaves it: the process is gone, and its number may be that of another one.
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let own = format!("\"pid\":{}", std::process::id());
    for (pid, start) in [(child.id(), ""), (std::process::id(), "another-boot/1")] {
        let mut left: serde_json::Value = serde_json::from_str(&text.replace(&own, &format!("\"pid\":{pid}"))).unwrap();
        if !start.is_empty() {
            left["owner"]["start"] = start.into();
        }
        std::fs::write(&file, left.to_string()).unwrap();
        assert!(reader.read(&format!("process {pid} on {host}")).is_empty(), "{pid} {start}");
    }
    // The next process has its first words: nobody looks, so nothing of it is written, and what was left goes.
    for entry in std::fs::read_dir(folder.path().join("live")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|end| end == "looked") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    let writer = LiveWriter::new(folder.path(), &run, Arc::new(Unheard));
    writer.see(&Signal::Delta { key: &key("a"), text: "Bed 5" });
    let begun = Instant::now();
    while file.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    // Somebody comes, while the model is silent.
    let seen = until(&reader, &owner, |seen| !seen.is_empty());
    assert_eq!(seen[0].text, "Bed 5");
}
