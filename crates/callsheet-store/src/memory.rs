//! A store in memory, for tests and simulations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::{Lock, Posted, RunSummary, Store, StoreFault};

use crate::summary::Columns;

/// One process's view of a store in memory. [`MemoryStore::another_process`] gives a second view of the same data.
#[derive(Debug, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
    process: u64,
    staged: Mutex<BTreeMap<BlobId, Vec<u8>>>,
}

#[derive(Debug, Default)]
struct Shared {
    runs: BTreeMap<RunId, Log>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    messages_posted: u64,
    tokens_given: u64,
    processes: u64,
    dead: BTreeSet<u64>,
}

#[derive(Debug, Default)]
struct Log {
    columns: Columns,
    facts: Vec<LogEntry>,
    messages: BTreeMap<u64, Posted>,
    holder: Option<Holder>,
}

#[derive(Clone, Debug)]
struct Holder {
    token: String,
    process: u64,
}

impl Holder {
    fn name(&self) -> String {
        format!("process {} in memory", self.process)
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same data as another process would open it.
    #[must_use]
    pub fn another_process(&self) -> Self {
        let mut shared = self.shared();
        shared.processes += 1;
        Self { shared: Arc::clone(&self.shared), process: shared.processes, staged: Mutex::default() }
    }

    /// Marks this process as dead from now on: others may take over its locks.
    pub fn die(&self) {
        self.shared().dead.insert(self.process);
    }

    /// Like [`crate::SqliteStore::break_lock`].
    pub fn break_lock(&self, run: &RunId) {
        if let Some(log) = self.shared().runs.get_mut(run) {
            log.holder = None;
        }
    }

    /// Simulates a power cut that takes all facts after the first `kept` of a run.
    ///
    /// # Errors
    /// The run does not exist.
    pub fn lose_facts_after(&self, run: &RunId, kept: usize) -> Result<(), StoreFault> {
        let mut shared = self.shared();
        let log = shared.log(run)?;
        log.facts.truncate(kept);
        let mut columns = Columns::default();
        log.facts.iter().try_for_each(|fact| columns.note(run, fact))?;
        log.columns = columns;
        Ok(())
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn staged(&self) -> MutexGuard<'_, BTreeMap<BlobId, Vec<u8>>> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn log(&mut self, run: &RunId) -> Result<&mut Log, StoreFault> {
        self.runs.get_mut(run).ok_or_else(|| StoreFault::NoRun(run.clone()))
    }

    fn held(&mut self, lock: &Lock) -> Result<&mut Log, StoreFault> {
        let log = self.log(&lock.run)?;
        match &log.holder {
            Some(holder) if holder.token == lock.token => Ok(log),
            Some(holder) => Err(StoreFault::LockLost { owner: holder.name() }),
            None => Err(StoreFault::LockLost { owner: "nobody; it was unlocked".to_owned() }),
        }
    }
}

impl Store for MemoryStore {
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault> {
        let shared = self.shared();
        let mut summaries: Vec<RunSummary> = shared
            .runs
            .iter()
            .filter(|(_, log)| log.columns.facts > 0)
            .map(|(run, log)| RunSummary {
                run: run.clone(),
                request: log.columns.request.clone(),
                started_at: log.columns.started_at,
                changed_at: log.columns.changed_at,
                facts: log.columns.facts,
                outcome: log.columns.outcome,
                cost_usd: log.columns.cost_usd,
                owner: log.holder.as_ref().filter(|holder| !shared.dead.contains(&holder.process)).map(Holder::name),
            })
            .collect();
        summaries.sort_by(|a, b| (b.started_at, &b.run).cmp(&(a.started_at, &a.run)));
        Ok(summaries)
    }

    fn lock(&self, run: &RunId) -> Result<Lock, StoreFault> {
        let mut shared = self.shared();
        if let Some(holder) = shared.runs.get(run).and_then(|log| log.holder.as_ref())
            && !shared.dead.contains(&holder.process)
        {
            return Err(StoreFault::Locked { owner: holder.name() });
        }
        shared.tokens_given += 1;
        let token = shared.tokens_given.to_string();
        let holder = Holder { token: token.clone(), process: self.process };
        shared.runs.entry(run.clone()).or_default().holder = Some(holder);
        Ok(Lock { run: run.clone(), token })
    }

    fn unlock(&self, lock: &Lock) -> Result<(), StoreFault> {
        let mut shared = self.shared();
        if let Some(log) = shared.runs.get_mut(&lock.run)
            && log.holder.as_ref().is_some_and(|holder| holder.token == lock.token)
        {
            log.holder = None;
        }
        Ok(())
    }

    fn append(&self, lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault> {
        let mut shared = self.shared();
        let log = shared.held(lock)?;
        let mut columns = log.columns.clone();
        for fact in facts {
            columns.note(&lock.run, fact)?;
        }
        log.columns = columns;
        log.facts.extend_from_slice(facts);
        shared.blobs.append(&mut self.staged());
        Ok(())
    }

    fn read(&self, run: &RunId, from: u64) -> Result<Vec<LogEntry>, StoreFault> {
        let mut shared = self.shared();
        Ok(shared.log(run)?.facts.iter().filter(|fact| fact.n >= from).cloned().collect())
    }

    fn post(&self, run: &RunId, message: &Posted) -> Result<(), StoreFault> {
        let mut shared = self.shared();
        let n = shared.messages_posted + 1;
        shared.log(run)?.messages.insert(n, message.clone());
        shared.messages_posted = n;
        Ok(())
    }

    fn messages(&self, lock: &Lock) -> Result<Vec<(u64, Posted)>, StoreFault> {
        let mut shared = self.shared();
        Ok(shared.held(lock)?.messages.iter().map(|(n, message)| (*n, message.clone())).collect())
    }

    fn has_messages(&self, run: &RunId) -> Result<bool, StoreFault> {
        Ok(!self.shared().log(run)?.messages.is_empty())
    }

    fn discard(&self, lock: &Lock, up_to: u64) -> Result<(), StoreFault> {
        let mut shared = self.shared();
        shared.held(lock)?.messages.retain(|n, _| *n > up_to);
        Ok(())
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault> {
        let id = BlobId::of(bytes);
        self.shared().blobs.entry(id.clone()).or_insert_with(|| bytes.to_vec());
        Ok(id)
    }

    fn persist(&self) -> Result<(), StoreFault> {
        Ok(())
    }

    fn stage_blob(&self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.staged().insert(id.clone(), bytes);
        id
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        if let Some(bytes) = self.staged().get(id) {
            return Ok(bytes.clone());
        }
        self.shared().blobs.get(id).cloned().ok_or_else(|| StoreFault::NoBlob(id.clone()))
    }
}
