//! A write-ahead log that is cut or damaged anywhere: what is left is the beginning of the run's log, whole batches of it with
//! their blobs, and the run is taken up from there.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests say what they miss")]
#![allow(clippy::panic, clippy::expect_used, clippy::indexing_slicing)]

use std::path::Path;
use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_core::run::Run;
use callsheet_runtime::driver::RunWriter;
use callsheet_runtime::ports::{Store, StoreFault};
use callsheet_sim::random::Random;
use callsheet_sim::simulate;
use callsheet_store::SqliteStore;

/// Fewer than after which the log is copied into the database, which would leave less to cut.
const MOST_BATCHES: usize = 30;

fn blob_of(batch: usize) -> Vec<u8> {
    format!("what batch {batch} names").into_bytes()
}

/// Writes a log in batches, and gives where each ends.
fn write(store: &SqliteStore, run: &RunId, log: &[LogEntry], random: &mut Random) -> Vec<usize> {
    let lock = store.lock(run).expect("nobody else has it");
    let mut ends = vec![0];
    while let Some(rest) = log.get(ends[ends.len() - 1]..).filter(|rest| !rest.is_empty()) {
        if ends.len() > MOST_BATCHES {
            break;
        }
        let size = (1 + random.below(6)).min(rest.len());
        store.stage_blob(blob_of(ends.len()));
        store.append(&lock, &rest[..size]).expect("it is written");
        ends.push(ends[ends.len() - 1] + size);
    }
    ends
}

/// Copies the database as a machine leaves it that lost its power.
fn copy_torn(from: &Path, to: &Path, random: &mut Random) {
    std::fs::copy(from, to.join("callsheet.db")).expect("it is copied");
    let wal = from.with_file_name("callsheet.db-wal");
    let mut bytes = std::fs::read(wal).expect("there is a log");
    let at = random.below(bytes.len());
    if random.chance(70) {
        bytes.truncate(at);
    } else {
        let end = (at + 1 + random.below(4_096)).min(bytes.len());
        bytes[at..end].fill(0);
    }
    std::fs::write(to.join("callsheet.db-wal"), bytes).expect("it is written");
}

/// What is left is the beginning of the log, and the run is taken up. Gives how many facts were lost.
fn take_up(folder: &Path, run: &RunId, log: &[LogEntry], ends: &[usize]) -> usize {
    let store = SqliteStore::open(folder).expect("what is left can be opened");
    let held = match store.read(run, 1) {
        Ok(held) => held,
        Err(StoreFault::NoRun(_)) => Vec::new(),
        Err(fault) => panic!("{fault}"),
    };
    let batches = ends.iter().position(|end| *end == held.len()).expect("whole batches are left");
    assert_eq!(held, log[..held.len()]);
    for batch in 1..=batches {
        let bytes = blob_of(batch);
        assert_eq!(store.blob(&BlobId::of(&bytes)).expect("a blob came with its batch"), bytes);
    }
    if let Some(last) = held.last() {
        store.break_lock(run).expect("the process before is gone");
        let settings = match &held[0].event {
            Event::RunStarted(events::RunStarted { settings, .. }) => settings.clone(),
            other => panic!("{other:?}"),
        };
        let mut writer = RunWriter::open(Arc::new(store), run, Run::new()).expect("it folds");
        writer.note(last.at, events::RunResumed { settings }.into()).expect("a resume fits anywhere");
        assert_eq!(writer.flush().expect("it is recorded").len(), 1);
    }
    ends[ends.len() - 1] - held.len()
}

#[test]
fn a_torn_tail_loses_whole_batches_and_nothing_before_them() {
    let (run, mut random) = (RunId::new("simulated"), Random::new(20_26));
    let (mut torn, mut whole) = (0, 0);
    for seed in 0..12 {
        let log = simulate(seed).unwrap_or_else(|broken| panic!("seed {seed}: {}", broken.promise)).log;
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path()).expect("a store");
        let ends = write(&store, &run, &log, &mut random);
        for _ in 0..8 {
            let copy = tempfile::tempdir().expect("a folder");
            copy_torn(store.path(), copy.path(), &mut random);
            match take_up(copy.path(), &run, &log, &ends) {
                0 => whole += 1,
                _ => torn += 1,
            }
        }
    }
    assert!(torn > 40, "{torn} logs lost something, {whole} nothing");
}
