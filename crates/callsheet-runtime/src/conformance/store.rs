//! What every `Store` must do. Adapters call [`crate::store_conformance!`] with a function that returns a [`World`].
//!
//! Each check says which promise it covers. A check that a world cannot run is an ignored test with its reason, see
//! [`crate::store_conformance!`].

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry, VERSION};
use callsheet_core::nouns::{BlobId, ExecutionId, RunId, Settings, Slug};
use callsheet_core::record::{AnsweredBy, Entry, Gate, GateKind, OrderId, Outcome};
use callsheet_format::edit::{HunkPick, HunkVerdict};

use crate::ports::{AskingCall, InboxMessage, Lock, PartAnswer, Posted, Store, StoreFault};

/// Data that several openers share.
pub trait World {
    /// Opens the data again, as another process or another part of this one would.
    fn open(&self) -> Arc<dyn Store>;

    /// Takes the lock of a run for a process that has ended without releasing it.
    fn lock_of_the_dead(&self, run: &RunId) -> Lock;
}

/// Makes one `#[test]` for each check, for the [`World`] that the given function returns.
#[macro_export]
macro_rules! store_conformance {
    ($world:path) => {
        $crate::store_conformance!(@tests $world;
            numbers_continue_the_log
            a_batch_is_all_or_nothing
            reading_starts_anywhere
            an_unknown_run_is_named
            one_writer_a_run
            unlocking_frees_the_run
            a_dead_writer_is_taken_over
            a_lost_lock_writes_nothing
            messages_wait_until_discarded
            blobs_are_kept_by_content
            staged_blobs_come_with_the_next_facts
            summaries_follow_the_facts
            other_versions_are_refused
            readers_see_whole_batches
        );
    };
    (@tests $world:path; $($name:ident)+) => {
        $(#[test]
        fn $name() {
            let world = $world();
            $crate::conformance::store::$name(&world);
        })+
    };
}

fn run(name: &str) -> RunId {
    RunId::new(name)
}

fn fact(n: u64, event: Event) -> LogEntry {
    LogEntry::new(n, n.saturating_add(1_000), event)
}

fn started(n: u64, run: &RunId, prompt: &str) -> LogEntry {
    let entry = Entry::Prompt { prompt: prompt.to_owned() };
    fact(
        n,
        events::RunStarted { run: run.clone(), entry, settings: Settings::default(), tools: Default::default() }.into(),
    )
}

fn cancel(n: u64) -> LogEntry {
    fact(n, events::CancelRequested {}.into())
}

fn numbers(facts: &[LogEntry]) -> Vec<u64> {
    facts.iter().map(|fact| fact.n).collect()
}

/// Facts are numbered from 1 without gaps. Another number is refused, and nothing is recorded.
pub fn numbers_continue_the_log(world: &impl World) {
    let store = world.open();
    let lock = store.lock(&run("count")).unwrap();
    let orders = vec![OrderId { by: AnsweredBy::Command, key: "k/0".to_owned() }];
    let first = [started(1, &lock.run, "a"), LogEntry { orders, ..cancel(2) }];
    store.append(&lock, &first).unwrap();
    for wrong in [0, 2, 4, u64::MAX] {
        assert!(store.append(&lock, &[cancel(wrong)]).is_err(), "number {wrong}");
    }
    store.append(&lock, &[cancel(3)]).unwrap();
    store.append(&lock, &[]).unwrap();
    let facts = store.read(&lock.run, 0).unwrap();
    assert_eq!(numbers(&facts), [1, 2, 3]);
    assert_eq!(facts.get(..2), Some(&first[..]), "facts come back as they were");
}

/// One bad fact refuses its whole batch.
pub fn a_batch_is_all_or_nothing(world: &impl World) {
    let store = world.open();
    let lock = store.lock(&run("batch")).unwrap();
    assert!(store.append(&lock, &[started(1, &lock.run, "a"), cancel(2), cancel(2)]).is_err());
    assert_eq!(store.read(&lock.run, 1).unwrap(), []);
    assert_eq!(store.runs().unwrap(), [], "a run without facts is not listed");
    store.append(&lock, &[started(1, &lock.run, "a"), cancel(2), cancel(3)]).unwrap();
    assert_eq!(numbers(&world.open().read(&lock.run, 1).unwrap()), [1, 2, 3]);
}

/// `read` returns the facts of one run from a number on, in order.
pub fn reading_starts_anywhere(world: &impl World) {
    let store = world.open();
    for name in ["one", "two"] {
        let lock = store.lock(&run(name)).unwrap();
        let facts: Vec<LogEntry> = std::iter::once(started(1, &lock.run, name)).chain((2..=12).map(cancel)).collect();
        store.append(&lock, &facts).unwrap();
    }
    let from = |n| numbers(&store.read(&run("two"), n).unwrap());
    assert_eq!(from(0).len(), 12);
    assert_eq!(from(10), [10, 11, 12]);
    assert_eq!(from(13), [] as [u64; 0]);
    assert_eq!(from(u64::MAX), [] as [u64; 0]);
}

/// Operations on a run that does not exist report that; locking creates it.
pub fn an_unknown_run_is_named(world: &impl World) {
    let store = world.open();
    let nobody = run("nobody");
    let lock = Lock { run: nobody.clone(), token: "1".to_owned() };
    assert!(matches!(store.read(&nobody, 1), Err(StoreFault::NoRun(name)) if name == nobody));
    assert!(matches!(store.post(&nobody, &InboxMessage::Cancel.into()), Err(StoreFault::NoRun(_))));
    assert!(matches!(store.append(&lock, &[]), Err(StoreFault::NoRun(_))));
    store.unlock(&lock).unwrap();
    store.lock(&nobody).unwrap();
    assert_eq!(store.read(&nobody, 1).unwrap(), []);
}

/// The second to lock a run gets a clear refusal that names the first.
pub fn one_writer_a_run(world: &impl World) {
    let (first, second) = (world.open(), world.open());
    let lock = first.lock(&run("shared")).unwrap();
    first.append(&lock, &[started(1, &lock.run, "a")]).unwrap();
    for store in [&first, &second] {
        let Err(StoreFault::Locked { owner }) = store.lock(&lock.run) else { panic!("locked twice") };
        assert!(owner.contains("process "), "{owner}");
        assert_eq!(store.runs().unwrap().first().unwrap().owner.as_ref(), Some(&owner));
    }
    let other = second.lock(&run("another")).unwrap();
    assert_ne!(other.token, lock.token);
}

/// After `unlock` anybody may lock. Unlocking again, or with an old lock, changes nothing.
pub fn unlocking_frees_the_run(world: &impl World) {
    let (first, second) = (world.open(), world.open());
    let old = first.lock(&run("free")).unwrap();
    first.append(&old, &[started(1, &old.run, "a")]).unwrap();
    first.unlock(&old).unwrap();
    assert_eq!(second.runs().unwrap().first().unwrap().owner, None);
    assert!(matches!(first.append(&old, &[cancel(2)]), Err(StoreFault::LockLost { .. })));
    let new = second.lock(&old.run).unwrap();
    first.unlock(&old).unwrap();
    second.append(&new, &[cancel(2)]).unwrap();
    assert!(matches!(first.lock(&old.run), Err(StoreFault::Locked { .. })));
}

/// The lock of a process that has ended is taken over; what it recorded is there.
pub fn a_dead_writer_is_taken_over(world: &impl World) {
    let store = world.open();
    let dead = world.lock_of_the_dead(&run("orphan"));
    store.append(&dead, &[started(1, &dead.run, "a")]).unwrap();
    assert_eq!(store.runs().unwrap().first().unwrap().owner, None, "a dead owner is none");
    let lock = store.lock(&dead.run).unwrap();
    assert_eq!(numbers(&store.read(&lock.run, 1).unwrap()), [1]);
    store.append(&lock, &[cancel(2)]).unwrap();
}

/// Whoever lost a lock is told so, and can neither write nor read or discard messages.
pub fn a_lost_lock_writes_nothing(world: &impl World) {
    let store = world.open();
    let lost = world.lock_of_the_dead(&run("lost"));
    let lock = store.lock(&lost.run).unwrap();
    store.append(&lock, &[started(1, &lock.run, "a")]).unwrap();
    store.post(&lock.run, &InboxMessage::Cancel.into()).unwrap();
    let is_lost = |result: Result<(), StoreFault>| matches!(result, Err(StoreFault::LockLost { owner }) if owner.contains("process "));
    assert!(is_lost(store.append(&lost, &[cancel(2)])));
    assert!(is_lost(store.append(&lost, &[])), "even an empty batch");
    assert!(is_lost(store.messages(&lost).map(drop)));
    assert!(is_lost(store.discard(&lost, u64::MAX)));
    store.unlock(&lost).unwrap();
    assert_eq!(numbers(&store.read(&lock.run, 1).unwrap()), [1]);
    assert_eq!(store.messages(&lock).unwrap().len(), 1);
}

/// Posting a message needs no lock. Messages keep their order and stay until discarded, and their numbers are never
/// reused.
pub fn messages_wait_until_discarded(world: &impl World) {
    let (owner, poster) = (world.open(), world.open());
    let lock = owner.lock(&run("mail")).unwrap();
    let other = owner.lock(&run("other")).unwrap();
    let gate = Gate { n: 1, kind: GateKind::BeforeRun(vec![Slug::new("write-1")]) };
    let messages = [
        InboxMessage::Answer {
            gate: Some(gate),
            answer: callsheet_core::record::Answer::Listed,
            named: true,
            by: None,
        },
        InboxMessage::Part {
            gate: None,
            by: None,
            part: PartAnswer {
                hunks: vec![
                    HunkPick { number: 2, verdict: HunkVerdict::Keep },
                    HunkPick { number: 3, verdict: HunkVerdict::Edited("+a\r\n".to_owned()) },
                ],
                words: "nein\n".to_owned(),
            },
        },
        InboxMessage::Reply {
            text: "zwölf\n\"Äpfel\"".to_owned(),
            to: Some(AskingCall { task: Slug::new("ask-1"), run: ExecutionId::new("2"), call: "ask-7".to_owned() }),
        },
        InboxMessage::Cancel,
    ];
    let by = AnsweredBy::Page;
    let order = |number: usize| Some(OrderId { by: by.clone(), key: format!("k/{number}") });
    let posted: Vec<Posted> =
        messages.into_iter().enumerate().map(|(n, message)| Posted { order: order(n), message }).collect();
    for message in &posted {
        poster.post(&lock.run, message).unwrap();
        poster.post(&other.run, &InboxMessage::Cancel.into()).unwrap();
    }
    assert!(poster.has_messages(&lock.run).unwrap(), "they are seen without the lock");
    let found = owner.messages(&lock).unwrap();
    assert_eq!(found.iter().map(|(_, message)| message.clone()).collect::<Vec<_>>(), posted);
    assert_eq!(owner.messages(&lock).unwrap(), found, "reading takes nothing away");
    let (third, last) = (found.get(2).unwrap().0, found.get(3).unwrap().0);
    owner.discard(&lock, third).unwrap();
    assert_eq!(owner.messages(&lock).unwrap(), found.get(3..).unwrap());
    owner.discard(&lock, u64::MAX).unwrap();
    assert!(!poster.has_messages(&lock.run).unwrap(), "they are gone");
    poster.post(&lock.run, &InboxMessage::Cancel.into()).unwrap();
    let again = owner.messages(&lock).unwrap();
    assert!(again.first().unwrap().0 > last, "a number was given twice");
    assert_eq!(owner.messages(&other).unwrap().len(), 4, "another run's messages stay");
}

/// Blobs are stored once under their hash, whatever their size, and a missing one is named.
pub fn blobs_are_kept_by_content(world: &impl World) {
    let (store, other) = (world.open(), world.open());
    let large: Vec<u8> = (0..600_000_u32).flat_map(u32::to_le_bytes).collect();
    for bytes in [&b""[..], b"text", &[0, 159, 146, 150], &large] {
        let id = store.put_blob(bytes).unwrap();
        assert_eq!(id, BlobId::of(bytes));
        assert_eq!(other.put_blob(bytes).unwrap(), id, "storing again is no error");
        assert!(other.blob(&id).unwrap() == bytes, "{} bytes came back changed", bytes.len());
    }
    let missing = BlobId::of(b"never stored");
    assert!(matches!(store.blob(&missing), Err(StoreFault::NoBlob(id)) if id == missing));
}

/// This opener can read a staged blob at once. Others can read it as soon as they can read the next facts, not before.
/// Refused facts leave it staged.
pub fn staged_blobs_come_with_the_next_facts(world: &impl World) {
    let (store, other) = (world.open(), world.open());
    let lock = store.lock(&run("staged")).unwrap();
    let (first, second) = (store.stage_blob(b"first".to_vec()), store.stage_blob(b"second".to_vec()));
    assert_eq!((&first, &second), (&BlobId::of(b"first"), &BlobId::of(b"second")));
    assert_eq!(store.blob(&first).unwrap(), b"first");
    assert!(matches!(other.blob(&first), Err(StoreFault::NoBlob(_))), "not durable before a fact is");
    assert!(store.append(&lock, &[cancel(7)]).is_err(), "the log does not go on with 7");
    assert!(matches!(other.blob(&first), Err(StoreFault::NoBlob(_))), "a refused batch is refused with its blobs");
    assert_eq!(store.blob(&first).unwrap(), b"first");
    let report = fact(2, events::RunConcluded { outcome: Outcome::Complete, report: first.clone() }.into());
    store.append(&lock, &[started(1, &lock.run, "a"), report]).unwrap();
    for store in [&store, &other] {
        assert_eq!(store.blob(&first).unwrap(), b"first");
        assert_eq!(store.blob(&second).unwrap(), b"second");
    }
    // Existing bytes are no fault.
    assert_eq!(other.stage_blob(b"first".to_vec()), first);
    store.stage_blob(b"first".to_vec());
    store.append(&lock, &[cancel(3)]).unwrap();
    assert_eq!(store.blob(&first).unwrap(), b"first");
}

/// The list of runs shows request, times, outcome and size according to the facts, newest first.
pub fn summaries_follow_the_facts(world: &impl World) {
    let (store, viewer) = (world.open(), world.open());
    let older = store.lock(&run("older")).unwrap();
    store.append(&older, &[started(1, &older.run, "\n  Count retries  \nin src")]).unwrap();
    let newer = store.lock(&run("newer")).unwrap();
    let late = LogEntry { at: 9_000, ..started(1, &newer.run, "Later") };
    store.append(&newer, &[late]).unwrap();
    let shown = || viewer.runs().unwrap();
    assert_eq!(shown().iter().map(|summary| summary.run.as_str().to_owned()).collect::<Vec<_>>(), ["newer", "older"]);
    let old = || shown().into_iter().nth(1).unwrap();
    assert_eq!((old().request.as_str(), old().started_at, old().changed_at), ("Count retries", 1_001, 1_001));
    assert_eq!((old().facts, old().outcome), (1, None));
    let waiting = fact(2, events::RunWaiting { outcome: Outcome::ApprovalRequired }.into());
    store.append(&older, &[waiting]).unwrap();
    assert_eq!((old().changed_at, old().outcome), (1_002, Some(Outcome::ApprovalRequired)));
    store.append(&older, &[fact(3, events::RunResumed { settings: Settings::default() }.into())]).unwrap();
    assert_eq!(old().outcome, None, "a resumed run waits no more");
    let report = store.put_blob(b"report").unwrap();
    store.append(&older, &[fact(4, events::RunConcluded { outcome: Outcome::Complete, report }.into())]).unwrap();
    assert_eq!((old().facts, old().outcome), (4, Some(Outcome::Complete)));
}

/// A fact with a record version that this build does not write is refused, not stored.
pub fn other_versions_are_refused(world: &impl World) {
    let store = world.open();
    let lock = store.lock(&run("version")).unwrap();
    let newer = LogEntry { v: VERSION + 1, ..started(1, &lock.run, "a") };
    let fault = store.append(&lock, &[newer]).unwrap_err();
    assert!(matches!(fault, StoreFault::TooNew { found, known } if found == VERSION + 1 && known == VERSION));
    assert_eq!(store.read(&lock.run, 1).unwrap(), []);
}

/// While one opener appends batches of three, others never see a part of one.
pub fn readers_see_whole_batches(world: &impl World) {
    let writer = world.open();
    let lock = writer.lock(&run("busy")).unwrap();
    let readers: Vec<Arc<dyn Store>> = (0..3).map(|_| world.open()).collect();
    std::thread::scope(|scope| {
        for reader in &readers {
            scope.spawn(|| {
                loop {
                    let facts = reader.read(&lock.run, 1).unwrap();
                    assert_eq!(numbers(&facts), (1..=facts.len() as u64).collect::<Vec<_>>());
                    assert_eq!(facts.len() % 3, 0, "a part of a batch was seen");
                    if facts.len() >= 120 {
                        break;
                    }
                }
            });
        }
        for batch in 0..40 {
            let n = batch * 3 + 1;
            let first = if n == 1 { started(1, &lock.run, "a") } else { cancel(n) };
            writer.append(&lock, &[first, cancel(n + 1), cancel(n + 2)]).unwrap();
        }
    });
}

/// The child's part of [`a_killed_writer_loses_nothing`]: locks the run, then repeatedly stores a blob, appends a batch
/// of three facts that names it, and acknowledges the batch with a line on stdout. Never returns.
pub fn write_until_killed(store: &dyn Store, name: &str) -> ! {
    let lock = store.lock(&run(name)).unwrap();
    let mut n = store.read(&lock.run, 1).unwrap().len() as u64;
    let mut out = std::io::stdout();
    loop {
        let first = if n == 0 { started(1, &lock.run, "a") } else { cancel(n + 1) };
        let report = store.stage_blob(format!("report after {n} facts").repeat(200).into_bytes());
        let last = fact(n + 3, events::RunConcluded { outcome: Outcome::Complete, report }.into());
        store.append(&lock, &[first, cancel(n + 2), last]).unwrap();
        n += 3;
        writeln!(out, "acknowledged {n}").unwrap();
        out.flush().unwrap();
    }
}

/// `kill -9` of the writing process loses no acknowledged fact, leaves no part of a batch, keeps every blob that a
/// recorded fact names, and leaves a lock that others take over. `child` is the command of a process that calls
/// [`write_until_killed`] on the same data; `rounds` children are killed one after the other.
pub fn a_killed_writer_loses_nothing(world: &impl World, child: impl Fn(&str) -> Command, rounds: u64) {
    let name = "killed";
    let mut least = 0;
    for round in 0..rounds {
        let mut writer = child(name).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        // The child continues while we read, so the kill can happen at any point in a later transaction.
        let acknowledged =
            |line: String| line.split_once("acknowledged ").and_then(|(_, n)| n.trim().parse::<u64>().ok());
        let wanted = 1 + (round * 7) % 11;
        let mut seen = 0;
        while seen < wanted {
            let line = lines.next().expect("the child ended by itself").unwrap();
            if let Some(n) = acknowledged(line) {
                least = n;
                seen += 1;
            }
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        // Lines that are still in the pipe were acknowledged before the kill. The last line may be cut.
        for line in lines.map_while(Result::ok) {
            least = acknowledged(line).filter(|n| n % 3 == 0).map_or(least, |n| least.max(n));
        }
        let store = world.open();
        let facts = store.read(&run(name), 1).unwrap();
        assert!(facts.len() as u64 >= least, "acknowledged {least}, found {}", facts.len());
        assert_eq!(numbers(&facts), (1..=facts.len() as u64).collect::<Vec<_>>());
        assert_eq!(facts.len() % 3, 0, "a part of a batch was left");
        for fact in &facts {
            if let Event::RunConcluded(events::RunConcluded { report, .. }) = &fact.event {
                store.blob(report).unwrap();
            }
        }
        let lock = store.lock(&run(name)).expect("the lock of the killed process is taken over");
        store.unlock(&lock).unwrap();
    }
}
