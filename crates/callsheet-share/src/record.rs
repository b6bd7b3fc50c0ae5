//! The record of a run: read from one store with all texts that it names, and put into another store.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{ApprovalMode, BlobId, Headless, RunId, Settings};
use callsheet_core::record::{Answer, Verdict};
use callsheet_core::run::Run;
use callsheet_runtime::ports::{Store, StoreFault};

use crate::container::{PackageKind, Unpacked};
use crate::fault::ShareFault;

/// A run with all texts that it names.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The events of the run.
    pub entries: Vec<LogEntry>,
    /// The texts, by their hashes.
    pub blobs: BTreeMap<BlobId, Vec<u8>>,
}

/// What happened when a run was put into a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// How many events the store had before.
    pub before: usize,
    /// How many it has now.
    pub now: usize,
}

/// Every hash in a text. Any text can name other texts by their hashes, so this does not depend on its format.
fn hashes(text: &[u8]) -> impl Iterator<Item = BlobId> {
    let runs = text.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f')).filter(|run| run.len() == 64);
    runs.filter_map(|run| std::str::from_utf8(run).ok().map(BlobId::new))
}

/// Collects the record of a run, with every stored text that it names, directly or through another text.
///
/// # Errors
/// The store cannot be read, or lacks a text that an event names.
pub fn collect(store: &dyn Store, run: &RunId) -> Result<RunRecord, ShareFault> {
    let entries = store.read(run, 1)?;
    let mut blobs = BTreeMap::new();
    let mut queue: Vec<BlobId> = hashes(&lines(&entries)).collect();
    while let Some(id) = queue.pop() {
        if blobs.contains_key(&id) {
            continue;
        }
        // Some hashes belong to no stored text, such as the hash of a rendered sheet.
        match store.blob(&id) {
            Ok(bytes) => {
                queue.extend(hashes(&bytes));
                blobs.insert(id, bytes);
            }
            Err(StoreFault::NoBlob(_)) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    let record = RunRecord { entries, blobs };
    record.is_complete()?;
    Ok(record)
}

/// Events as JSON, one per line.
fn lines(entries: &[LogEntry]) -> Vec<u8> {
    let line = |entry: &LogEntry| serde_json::to_string(entry).unwrap_or_default() + "\n";
    entries.iter().map(line).collect::<String>().into_bytes()
}

impl RunRecord {
    /// The events as JSON, one per line.
    pub fn lines(&self) -> Vec<u8> {
        lines(&self.entries)
    }

    /// Reads the record of a file.
    ///
    /// # Errors
    /// The file has masked keys, or its record is inconsistent.
    pub fn of(unpacked: Unpacked) -> Result<Self, ShareFault> {
        if unpacked.kind == PackageKind::Masked {
            return Err(ShareFault::Masked);
        }
        let text = std::str::from_utf8(&unpacked.events).map_err(|error| ShareFault::Record(error.to_string()))?;
        let entry = |line| serde_json::from_str(line).map_err(|error| ShareFault::Record(error.to_string()));
        let entries: Vec<LogEntry> = text.lines().map(entry).collect::<Result<_, _>>()?;
        let record = Self { entries, blobs: unpacked.blobs };
        let mut run = Run::new();
        for entry in &record.entries {
            if entry.v > events::VERSION {
                return Err(StoreFault::TooNew { found: entry.v, known: events::VERSION }.into());
            }
            let event = entry.n;
            run.apply(entry).map_err(|reject| ShareFault::Record(format!("event {event} does not fit: {reject}")))?;
        }
        if run.id() != Some(&unpacked.run) {
            return Err(ShareFault::Record("the record belongs to another run".to_owned()));
        }
        record.is_complete()?;
        Ok(record)
    }

    /// Checks that it has every text that its events name.
    fn is_complete(&self) -> Result<(), ShareFault> {
        let named = self.entries.iter().flat_map(|entry| entry.event.blobs());
        match named.into_iter().find(|id| !self.blobs.contains_key(*id)) {
            Some(id) => Err(ShareFault::NoText(id.clone())),
            None => Ok(()),
        }
    }

    /// How many of these events a store already has.
    ///
    /// # Errors
    /// The store has another run of this name, or the run continued there in a different way.
    pub fn known_to(&self, store: &dyn Store, run: &RunId) -> Result<usize, ShareFault> {
        let known = if store.runs()?.iter().any(|known| known.run == *run) { store.read(run, 1)? } else { Vec::new() };
        let differs = known.iter().zip(&self.entries).position(|(known, new)| known != new);
        match differs {
            Some(at) => {
                let from = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1);
                Err(ShareFault::Differs { run: run.clone(), from })
            }
            None => Ok(known.len()),
        }
    }

    /// Whether an event after the first `known` ones approves something, now or in advance.
    pub fn has_approvals_after(&self, known: usize) -> bool {
        self.entries.iter().skip(known).any(|entry| match &entry.event {
            Event::GateAnswered(events::GateAnswered { answer, .. }) => match answer {
                Answer::All | Answer::Listed | Answer::Part { .. } => true,
                Answer::Each { verdicts, .. } => verdicts.values().any(|verdict| *verdict == Verdict::Approve),
                Answer::Deny { .. } | Answer::Stop => false,
            },
            Event::RunStarted(events::RunStarted { settings, .. })
            | Event::RunResumed(events::RunResumed { settings, .. })
            | Event::RunContinued(events::RunContinued { settings, .. }) => approves_in_advance(settings),
            _ => false,
        })
    }
}

/// Whether settings answer gates automatically, or switch approval off.
fn approves_in_advance(settings: &Settings) -> bool {
    settings.approval == ApprovalMode::Never || matches!(settings.headless, Headless::Approve | Headless::Slugs(_))
}

/// Puts a record into a store, which may already have its beginning. What is stored does not change.
///
/// # Errors
/// The stored run differs, a process drives it, or the store fails.
pub fn adopt(store: &Arc<dyn Store>, run: &RunId, record: &RunRecord) -> Result<Adopted, ShareFault> {
    let lock = store.lock(run)?;
    let put = || {
        let before = record.known_to(&**store, run)?;
        for bytes in record.blobs.values() {
            store.put_blob(bytes)?;
        }
        let new = record.entries.get(before..).unwrap_or_default();
        if !new.is_empty() {
            store.append(&lock, new)?;
        }
        store.persist()?;
        Ok(Adopted { before, now: before.max(record.entries.len()) })
    };
    let adopted = put();
    store.unlock(&lock)?;
    adopted
}
