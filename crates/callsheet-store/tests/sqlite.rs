//! The SQLite store against the conformance suite, and what only a file and a process can show.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use callsheet_core::events::{self, LogEntry, VERSION};
use callsheet_core::nouns::{BlobId, RunId, Settings};
use callsheet_core::record::Entry;
use callsheet_runtime::conformance::store::{World, a_killed_writer_loses_nothing, write_until_killed};
use callsheet_runtime::driver::Session;
use callsheet_runtime::ports::{Lock, Store, StoreFault};
use callsheet_store::SqliteStore;
use rusqlite::{Connection, params};
use tempfile::TempDir;

struct Project(TempDir);

fn world() -> Project {
    Project(TempDir::new().unwrap())
}

impl Project {
    fn store(&self) -> SqliteStore {
        SqliteStore::open(self.0.path()).unwrap()
    }

    /// The file behind the store's back.
    fn raw(&self) -> Connection {
        Connection::open(self.0.path().join("callsheet.db")).unwrap()
    }
}

impl World for Project {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store())
    }

    fn lock_of_the_dead(&self, run: &RunId) -> Lock {
        let lock = self.store().lock(run).unwrap();
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        self.raw().execute("UPDATE locks SET pid = ?1", params![pid]).unwrap();
        lock
    }
}

callsheet_runtime::store_conformance!(world);

fn started(run: &RunId) -> LogEntry {
    let entry = Entry::Prompt { prompt: "a".to_owned() };
    let event =
        events::RunStarted { run: run.clone(), entry, settings: Settings::default(), tools: Default::default() }.into();
    LogEntry::new(1, 1, event)
}

/// Runs one test of this file in a process of its own, with `CALLSHEET_TEST_PROJECT` telling it where to work.
fn this_test_as_child(test: &str, project: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env("CALLSHEET_TEST_PROJECT", project);
    command.stderr(Stdio::null());
    command
}

/// Bytes that do not get smaller.
fn noise(bytes: usize) -> Vec<u8> {
    let next = |state: &mut u64| {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        Some(state.to_le_bytes())
    };
    let mut state = 0x9e37_79b9_7f4a_7c15;
    std::iter::from_fn(|| next(&mut state)).flatten().take(bytes).collect()
}

fn project_of_child() -> Option<std::path::PathBuf> {
    std::env::var_os("CALLSHEET_TEST_PROJECT").map(Into::into)
}

#[test]
fn kill_minus_nine_loses_nothing() {
    if let Some(project) = project_of_child() {
        write_until_killed(&SqliteStore::open(&project).unwrap(), "killed");
    }
    let world = world();
    let project = world.0.path().to_owned();
    a_killed_writer_loses_nothing(&world, |_| this_test_as_child("kill_minus_nine_loses_nothing", &project), 12);
}

/// A power cut leaves an empty file, or one with its first page and a beginning of the log behind it: facts go from the
/// end, in whole batches, and the store opens.
#[test]
fn a_power_cut_takes_whole_batches_from_the_end() {
    let world = world();
    let store = world.store();
    let lock = store.lock(&RunId::new("cut")).unwrap();
    store.append(&lock, &[started(&lock.run)]).unwrap();
    for n in [2, 4, 6] {
        let cancel = |n| LogEntry::new(n, n, events::CancelRequested {}.into());
        store.stage_blob(noise(9_000));
        store.append(&lock, &[cancel(n), cancel(n + 1)]).unwrap();
    }
    let files = world.0.path();
    let (file, log) = (files.join("callsheet.db"), files.join("callsheet.db-wal"));
    let (file, log) = (std::fs::read(file).unwrap(), std::fs::read(log).unwrap());
    let facts_after = |file: &[u8], log: &[u8]| {
        let after = Project(TempDir::new().unwrap());
        let files = after.0.path();
        std::fs::write(files.join("callsheet.db"), file).unwrap();
        std::fs::write(files.join("callsheet.db-wal"), log).unwrap();
        match after.store().read(&lock.run, 1) {
            Ok(facts) => facts.len(),
            Err(StoreFault::NoRun(_)) => 0,
            Err(fault) => panic!("{fault}"),
        }
    };
    let ends = (0..log.len()).step_by(5_000).chain([log.len()]);
    let mut found: Vec<usize> = ends.filter_map(|end| Some(facts_after(&file, log.get(..end)?))).collect();
    assert_eq!(found.last(), Some(&7), "what is whole is read");
    assert!(found.is_sorted());
    found.dedup();
    assert_eq!(found, [0, 1, 3, 5, 7], "whole batches, from the end");
    assert_eq!(facts_after(&[], &log), 0, "nothing was left of the file: a new store");
}

#[test]
fn readers_in_other_processes_see_a_live_run() {
    let run = RunId::new("seen");
    if let Some(project) = project_of_child() {
        let store = SqliteStore::open(&project).unwrap();
        println!("facts: {}", store.read(&run, 1).unwrap().len());
        println!("owner: {:?}", store.runs().unwrap().first().and_then(|summary| summary.owner.clone()));
        println!("locked: {}", store.lock(&run).unwrap_err());
        return;
    }
    let world = world();
    let store = world.store();
    let lock = store.lock(&run).unwrap();
    store.append(&lock, &[started(&run)]).unwrap();
    let name = "readers_in_other_processes_see_a_live_run";
    let children: Vec<_> =
        (0..3).map(|_| this_test_as_child(name, world.0.path()).stdout(Stdio::piped()).spawn().unwrap()).collect();
    for child in children {
        let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert!(output.contains("facts: 1"), "{output}");
        let me = format!("process {} on ", std::process::id());
        assert!(output.contains(&format!("owner: Some(\"{me}")), "{output}");
        assert!(output.contains(&format!("locked: {me}")), "{output}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_size_limit_is_full_and_records_nothing() {
    let run = RunId::new("limited");
    if let Some(project) = project_of_child() {
        let store = SqliteStore::open(&project).unwrap();
        let lock = store.lock(&run).unwrap();
        let bytes = noise(4_000_000);
        println!("blob: {:?}", store.put_blob(&bytes).map_err(|fault| matches!(fault, StoreFault::Full(_))));
        println!("append: {:?}", store.append(&lock, &[started(&run)]).is_ok());
        return;
    }
    let world = world();
    let child = this_test_as_child("a_file_size_limit_is_full_and_records_nothing", world.0.path());
    // 2,048 blocks of 512 or 1,024 bytes, by shell; both hold the schema and neither the blob.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 2048; exec \"$0\" \"$@\""]).arg(child.get_program()).args(child.get_args());
    for (name, value) in child.get_envs() {
        limited.env(name, value.unwrap());
    }
    let output = limited.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("blob: Err(true)"), "{:?} {text}", output.status);
    assert!(text.contains("append: true"), "the store still works for what fits: {text}");
    let store = world.store();
    assert_eq!(store.read(&run, 1).unwrap().len(), 1);
    let blobs: u32 = world.raw().query_row("SELECT count(*) FROM blobs", [], |row| row.get(0)).unwrap();
    assert_eq!(blobs, 0);
}

#[test]
fn a_reused_process_id_does_not_keep_a_lock() {
    let world = world();
    let run = RunId::new("reused");
    world.store().lock(&run).unwrap();
    world.raw().execute("UPDATE locks SET start = 'another-boot/17'", []).unwrap();
    world.store().lock(&run).unwrap();
}

#[test]
fn a_lock_of_another_machine_is_only_broken_by_hand() {
    let world = world();
    let store = world.store();
    let run = RunId::new("remote");
    store.lock(&run).unwrap();
    world.raw().execute("UPDATE locks SET host = 'elsewhere', start = 'its-boot/1', pid = 4000000000", []).unwrap();
    let Err(StoreFault::Locked { owner }) = store.lock(&run) else { panic!("taken over silently") };
    assert_eq!(owner, "process 4000000000 on elsewhere");
    store.break_lock(&run).unwrap();
    store.lock(&run).unwrap();
}

/// A container has another name each time that it starts, on the same kernel.
#[test]
fn a_lock_of_a_process_that_ended_does_not_outlive_the_name_of_the_machine() {
    let world = world();
    let run = RunId::new("renamed");
    world.store().lock(&run).unwrap();
    world.raw().execute("UPDATE locks SET host = 'its-name-before'", []).unwrap();
    world.store().lock(&run).unwrap();
}

/// A process in another container, or in another namespace of processes, cannot be seen from here.
#[test]
fn a_lock_of_a_process_that_cannot_be_seen_holds_while_it_runs() {
    let world = world();
    let run = RunId::new("apart");
    let holder = world.store();
    holder.lock(&run).unwrap();
    world.raw().execute("UPDATE locks SET pid = 4000000000, start = ''", []).unwrap();
    assert!(matches!(world.store().lock(&run), Err(StoreFault::Locked { .. })));
    drop(holder);
    world.store().lock(&run).unwrap();
}

#[test]
fn the_folder_of_a_new_store_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    let folder = world.0.path().join("state/projects/one");
    SqliteStore::open(&folder).unwrap();
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[test]
fn the_file_is_in_wal_mode() {
    let world = world();
    world.store();
    let mode: String = world.raw().pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn a_file_that_is_no_database_is_broken_with_advice() {
    let world = world();
    std::fs::write(world.0.path().join("callsheet.db"), "no database ".repeat(1_000)).unwrap();
    let fault = SqliteStore::open(world.0.path()).unwrap_err();
    assert!(
        matches!(&fault, StoreFault::Broken(text) if text.contains("Move it away") && text.contains(".recover")),
        "{fault}"
    );
}

#[test]
fn damaged_pages_are_broken_with_advice() {
    let world = world();
    let run = RunId::new("damaged");
    {
        let store = world.store();
        let lock = store.lock(&run).unwrap();
        store.append(&lock, &[started(&run)]).unwrap();
    }
    world.raw().pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).unwrap();
    let path = world.0.path().join("callsheet.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // The header stays, so that the file opens; every table after it is noise.
    for byte in bytes.iter_mut().skip(4_096) {
        *byte = 0xA5;
    }
    std::fs::write(&path, bytes).unwrap();
    let fault = SqliteStore::open(world.0.path()).and_then(|store| store.read(&run, 1)).unwrap_err();
    assert!(matches!(&fault, StoreFault::Broken(text) if text.contains(".recover")), "{fault}");
}

#[test]
fn a_changed_blob_is_broken_not_returned() {
    let world = world();
    let store = world.store();
    let id = store.put_blob(b"honest").unwrap();
    world.raw().execute("UPDATE blobs SET bytes = x'00'", []).unwrap();
    assert!(matches!(store.blob(&id), Err(StoreFault::Broken(_))));
}

/// Prompts of one skill share most of their text: each but the first is stored as what is its own, and comes back whole, also
/// in another process.
#[test]
fn like_blobs_are_stored_once() {
    let world = world();
    let store = world.store();
    let lock = store.lock(&RunId::new("like")).unwrap();
    let rules: String =
        (0..200_u32).map(|n| format!("Rule {n}: {} comes before {}.\n", n * 7919 % 997, n * n)).collect();
    let prompts: Vec<Vec<u8>> = (0..50).map(|n| format!("{rules}Job {n} of {rules}").into_bytes()).collect();
    for (n, prompt) in (1..).zip(&prompts) {
        store.stage_blob(prompt.clone());
        let event = events::CancelRequested {}.into();
        let first = started(&lock.run);
        store.append(&lock, &[if n == 1 { first } else { LogEntry::new(n, n, event) }]).unwrap();
    }
    let stored: u32 = world.raw().query_row("SELECT sum(length(bytes)) FROM blobs", [], |row| row.get(0)).unwrap();
    let rules = rules.len();
    assert!(usize::try_from(stored).unwrap() < 3 * rules, "{stored} bytes for 100 times {rules}");
    let other = world.store();
    for prompt in &prompts {
        assert!(other.blob(&BlobId::of(prompt)).unwrap() == *prompt);
    }
    let from = "UPDATE blobs SET base = (SELECT id FROM blobs WHERE base IS NOT NULL LIMIT 1) WHERE base IS NOT NULL";
    world.raw().execute(from, []).unwrap();
    let last = BlobId::of(prompts.last().unwrap());
    assert!(matches!(other.blob(&last), Err(StoreFault::Broken(_))), "told from another blob");
}

/// A base that was never stored, since its batch was refused and its process ended, is none to others.
#[test]
fn a_base_that_is_not_there_is_done_without() {
    let world = world();
    let store = world.store();
    let text = |n: u32| format!("{}{n}", "Prompts of one skill begin alike, with many words. ".repeat(40)).into_bytes();
    let first = store.put_blob(&text(1)).unwrap();
    world.raw().execute("DELETE FROM blobs", []).unwrap();
    let second = store.put_blob(&text(2)).unwrap();
    assert_eq!(world.store().blob(&second).unwrap(), text(2));
    assert!(matches!(store.blob(&first), Err(StoreFault::NoBlob(_))));
}

#[test]
fn long_facts_are_stored_smaller() {
    let world = world();
    let store = world.store();
    let lock = store.lock(&RunId::new("long")).unwrap();
    let prompt = "Where does each of these stand? ".repeat(400);
    let entry = Entry::Prompt { prompt };
    let event =
        events::RunStarted { run: lock.run.clone(), entry, settings: Settings::default(), tools: Default::default() }
            .into();
    let fact = LogEntry::new(1, 1, event);
    store.append(&lock, std::slice::from_ref(&fact)).unwrap();
    let stored: u32 = world.raw().query_row("SELECT length(body) FROM facts", [], |row| row.get(0)).unwrap();
    assert!(stored < 2_000, "{stored}");
    assert_eq!(world.store().read(&lock.run, 1).unwrap(), [fact]);
    world.raw().execute("UPDATE facts SET size = size + 1", []).unwrap();
    assert!(matches!(store.read(&lock.run, 1), Err(StoreFault::Broken(_))));
}

#[test]
fn a_long_log_is_folded_page_by_page() {
    const FACTS: u64 = 2_100;
    let world = world();
    let lock = world.store().lock(&RunId::new("long")).unwrap();
    let rendered = |n: u64| events::SheetRendered { hash: BlobId::of(&n.to_le_bytes()) };
    let mut facts = vec![started(&lock.run)];
    facts.extend((2..=FACTS).map(|n| LogEntry::new(n, n, rendered(n).into())));
    world.store().append(&lock, &facts).unwrap();
    let store = world.open();
    let (run, read) = Session::view(&store, &lock.run).unwrap();
    assert!(read == facts);
    assert_eq!(run.last_fact(), FACTS);
    // Facts of the last page.
    world.raw().execute("UPDATE facts SET size = 1, body = 'x' WHERE key % 4294967296 > 2090", []).unwrap();
    let fault = Session::view(&store, &lock.run).unwrap_err();
    assert!(fault.to_string().contains("fact 2091 of long"), "{fault}");
}

#[test]
fn a_file_of_an_unreleased_form_is_told() {
    let world = world();
    world.store();
    world.raw().pragma_update(None, "user_version", 2).unwrap();
    let fault = SqliteStore::open(world.0.path()).unwrap_err();
    assert!(matches!(&fault, StoreFault::Broken(text) if text.contains("Move it away")), "{fault}");
}

#[test]
fn a_newer_record_and_a_newer_file_are_too_new() {
    let world = world();
    let store = world.store();
    let run = RunId::new("future");
    let lock = store.lock(&run).unwrap();
    store.append(&lock, &[started(&run)]).unwrap();
    world.raw().execute("UPDATE facts SET v = 7, body = '{\"event\":\"not yet invented\"}'", []).unwrap();
    assert!(matches!(store.read(&run, 1), Err(StoreFault::TooNew { found: 7, known: VERSION })));
    world.raw().pragma_update(None, "user_version", 9).unwrap();
    assert!(matches!(SqliteStore::open(world.0.path()), Err(StoreFault::TooNew { found: 9, .. })));
}

#[test]
fn an_unreadable_letter_does_not_stop_a_run() {
    let world = world();
    let store = world.store();
    let run = RunId::new("mail");
    let lock = store.lock(&run).unwrap();
    world
        .raw()
        .execute_batch("INSERT INTO messages (run, body) VALUES ('mail', '{\"message\":\"sing\"}'), ('mail', '{\"message\":\"cancel\"}')")
        .unwrap();
    assert_eq!(store.messages(&lock).unwrap().len(), 1);
}

#[test]
fn many_openers_create_the_file_at_once() {
    let world = world();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let project = world.0.path();
            scope.spawn(move || SqliteStore::open(project).unwrap().lock(&RunId::new(format!("run-{n}"))).unwrap());
        }
    });
    let runs: u32 = world.raw().query_row("SELECT count(*) FROM locks", [], |row| row.get(0)).unwrap();
    assert_eq!(runs, 8);
}
