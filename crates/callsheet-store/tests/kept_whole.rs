//! What a check finds, what a collection leaves, and a store that may not be written.
#![allow(clippy::disallowed_methods, reason = "tests read files")]
#![allow(clippy::disallowed_macros, reason = "tests say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use callsheet_core::events::{self, LogEntry};
use callsheet_core::nouns::{BlobId, RunId, Settings};
use callsheet_core::record::{Entry, Outcome};
use callsheet_runtime::ports::{Lock, Store, StoreFault};
use callsheet_store::{Collected, Damage, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

fn raw(folder: &Path) -> Connection {
    Connection::open(callsheet_store::database(folder)).unwrap()
}

fn text(n: u32) -> Vec<u8> {
    format!("{}{n}", "Prompts of one skill begin alike, with many words. ".repeat(40)).into_bytes()
}

/// A run of two entries; the last one names a report.
fn ended(store: &SqliteStore, name: &str, report: &[u8]) -> Lock {
    let lock = store.lock(&RunId::new(name)).unwrap();
    let entry = Entry::Prompt { prompt: "a".to_owned() };
    let (settings, tools) = (Settings::default(), Default::default());
    let started = events::RunStarted { run: lock.run.clone(), entry, settings, tools }.into();
    let concluded =
        events::RunConcluded { outcome: Outcome::Complete, report: store.stage_blob(report.to_vec()) }.into();
    let entry = |n, event| LogEntry::new(n, n, event);
    store.append(&lock, &[entry(1, started), entry(2, concluded)]).unwrap();
    lock
}

#[test]
fn a_check_says_which_runs_are_whole_and_what_of_others_is_lost() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    for (name, n) in [("log", 0), ("none", 1), ("whole", 2), ("wrong", 3)] {
        ended(&store, name, &text(n));
    }
    let found = store.check().unwrap();
    assert_eq!((found.runs, found.blobs, found.damaged.as_slice()), (4, 4, &[][..]));
    let raw = raw(folder.path());
    let damage = |id: BlobId, what: &str| raw.execute(&format!("{what} WHERE lower(hex(hash)) = '{id}'"), []).unwrap();
    damage(BlobId::of(&text(1)), "DELETE FROM blobs");
    damage(BlobId::of(&text(3)), "UPDATE blobs SET bytes = x'00'");
    raw.execute("UPDATE facts SET body = 'x' WHERE key = (SELECT id * 4294967296 + 2 FROM runs WHERE run = 'log')", [])
        .unwrap();
    let found = SqliteStore::open(folder.path()).unwrap().check().unwrap();
    let texts = Damage::Texts { count: 1, first: 2 };
    let of =
        |name: &str| found.damaged.iter().find(|(run, _)| *run == Some(RunId::new(name))).map(|(_, damage)| damage);
    assert!(matches!(of("log"), Some(Damage::Log { read: 1, recorded: 2, .. })), "{found:?}");
    assert_eq!((of("none"), of("wrong"), of("whole")), (Some(&texts), Some(&texts), None));
}

/// Also where it is the base of others.
#[test]
fn a_damaged_blob_is_good_again_when_its_bytes_are_stored_again() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let ids = [text(1), text(2)].map(|text| store.put_blob(&text).unwrap());
    let told: u32 =
        raw(folder.path()).query_row("SELECT count(*) FROM blobs WHERE base > 0", [], |row| row.get(0)).unwrap();
    assert_eq!(told, 1, "one is told from the other");
    raw(folder.path()).execute("UPDATE blobs SET bytes = x'00' WHERE base IS NULL", []).unwrap();
    let other = SqliteStore::open(folder.path()).unwrap();
    assert!(ids.iter().all(|id| other.blob(id).is_err()));
    other.put_blob(&text(1)).unwrap();
    assert_eq!(ids.map(|id| other.blob(&id).unwrap()), [text(1), text(2)]);
    // By a batch of entries, too.
    raw(folder.path()).execute("UPDATE blobs SET bytes = x'00' WHERE base > 0", []).unwrap();
    let other = SqliteStore::open(folder.path()).unwrap();
    ended(&other, "again", &text(2));
    assert_eq!(SqliteStore::open(folder.path()).unwrap().blob(&BlobId::of(&text(2))).unwrap(), text(2));
}

#[test]
fn a_collection_takes_what_no_run_names_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let base = store.put_blob(&text(1)).unwrap();
    let lock = ended(&store, "kept", &text(2));
    let inner = store.put_blob(b"named by a text alone").unwrap();
    let naming = format!("{{\"found\":\"{inner}\"}}");
    let other = ended(&store, "other", naming.as_bytes());
    let free = store.put_blob(b"named by nothing").unwrap();
    let at_work = store.collect(false).unwrap();
    assert_eq!((at_work.blobs, at_work.at_work.map(|(run, _)| run)), (0, Some(RunId::new("kept"))));
    assert!(store.blob(&free).is_ok(), "a run at work may be about to name it");
    store.unlock(&lock).unwrap();
    store.unlock(&other).unwrap();
    store.unlock(&store.lock(&RunId::new("never-began")).unwrap()).unwrap();
    std::fs::create_dir_all(folder.path().join("live")).unwrap();
    std::fs::create_dir_all(folder.path().join("kept/gone/journal")).unwrap();
    let (old, new) = (folder.path().join("live/old.json"), folder.path().join("live/new.json"));
    let journal = folder.path().join("kept/gone/journal/a.json");
    let long_ago = SystemTime::now().checked_sub(Duration::from_secs(7_200)).unwrap();
    for file in [&old, &new, &journal] {
        std::fs::write(file, "text").unwrap();
    }
    for file in [&old, &journal] {
        std::fs::File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();
    }
    let would = store.collect(true).unwrap();
    assert!(store.blob(&free).is_ok() && old.exists(), "it only says so");
    let expected = Collected { blobs: 1, blob_bytes: 16, empty_runs: 1, files: 1, file_bytes: 4, at_work: None };
    assert_eq!(would, expected);
    assert_eq!(store.collect(false).unwrap(), expected);
    assert!(matches!(store.blob(&free), Err(StoreFault::NoBlob(_))));
    assert!(!old.exists() && new.exists() && journal.exists());
    let fresh = SqliteStore::open(folder.path()).unwrap();
    assert!([base, inner, BlobId::of(&text(2))].iter().all(|id| fresh.blob(id).is_ok()), "told from, named, named");
    assert_eq!(fresh.check().unwrap().damaged, []);
    assert_eq!(fresh.collect(false).unwrap(), Collected::default());
}

/// Wherever a power cut ends the log: a run is whole up to some entry, with every text that its entries name.
#[test]
fn a_log_that_is_cut_anywhere_leaves_whole_runs() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    for n in 0..6 {
        store.put_blob(&text(100 + n)).unwrap();
        ended(&store, &format!("run-{n}"), &text(n));
    }
    let (file, log) = (callsheet_store::database(folder.path()), folder.path().join("callsheet.db-wal"));
    let (file, log) = (std::fs::read(file).unwrap(), std::fs::read(log).unwrap());
    let mut runs = Vec::new();
    for end in (0..log.len()).step_by(997).chain([log.len()]) {
        let after = TempDir::new().unwrap();
        std::fs::write(callsheet_store::database(after.path()), &file).unwrap();
        std::fs::write(after.path().join("callsheet.db-wal"), log.get(..end).unwrap()).unwrap();
        let found = SqliteStore::open(after.path()).unwrap().check().unwrap();
        assert_eq!(found.damaged, [], "cut at {end}");
        runs.push(found.runs);
    }
    assert!(runs.is_sorted() && runs.first() == Some(&0) && runs.last() == Some(&6), "{runs:?}");
}

/// Root may write everything, so as root this says so and looks at what it can.
#[test]
fn a_store_that_may_not_be_written_can_be_read() {
    for has_log in [false, true] {
        let folder = TempDir::new().unwrap();
        let writer = SqliteStore::open(folder.path()).unwrap();
        ended(&writer, "seen", &text(1));
        let held = has_log.then_some(writer);
        let mode = |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o500);
        let store = SqliteStore::open(folder.path()).unwrap();
        assert_eq!(store.runs().unwrap().len(), 1);
        assert_eq!(store.read(&RunId::new("seen"), 1).unwrap().len(), 2);
        assert_eq!(store.blob(&BlobId::of(&text(1))).unwrap(), text(1));
        let locked = store.lock(&RunId::new("seen"));
        match rustix::process::geteuid().is_root() {
            true => println!("as root nothing is read-only: that part is not tested"),
            false => assert!(matches!(locked, Err(StoreFault::ReadOnly(_)))),
        }
        mode(0o700);
        drop(held);
    }
}
