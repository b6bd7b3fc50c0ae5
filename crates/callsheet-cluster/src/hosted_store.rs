//! The store of a run inside the process that hosts it: what the engine has read, what it will write, and the texts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::{Lock, Posted, RunSummary, Store, StoreFault};

use crate::texts::Texts;

/// The store of one run. The engine lets one call at a time change the run, so its lock is always free.
#[derive(Debug)]
pub(crate) struct HostedStore {
    run: RunId,
    texts: Arc<Texts>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Entries that were read to fold the run.
    read: Vec<LogEntry>,
    /// Entries for the engine to write.
    appended: Vec<LogEntry>,
    messages: Vec<Posted>,
    staged: BTreeMap<BlobId, Vec<u8>>,
}

impl HostedStore {
    pub fn new(run: &RunId, texts: Arc<Texts>) -> Self {
        Self { run: run.clone(), texts, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the log that [`Store::read`] returns.
    pub fn set_log(&self, entries: Vec<LogEntry>) {
        self.state().read = entries;
    }

    /// Sets the messages of a landing, and drops what an earlier one left after a fault.
    pub fn begin(&self, messages: Vec<Posted>) {
        let mut state = self.state();
        state.appended.clear();
        state.messages = messages;
    }

    /// The entries that were appended since [`HostedStore::begin`].
    pub fn take_appended(&self) -> Vec<LogEntry> {
        std::mem::take(&mut self.state().appended)
    }

    /// Writes staged texts. Called before the events that name them leave this process.
    pub fn persist_staged(&self) -> Result<(), StoreFault> {
        let staged: Vec<Vec<u8>> = self.state().staged.values().cloned().collect();
        self.texts.put_all(&self.run, &staged)?;
        let mut state = self.state();
        staged.iter().for_each(|bytes| drop(state.staged.remove(&BlobId::of(bytes))));
        Ok(())
    }
}

impl Store for HostedStore {
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault> {
        Ok(Vec::new())
    }

    fn lock(&self, run: &RunId) -> Result<Lock, StoreFault> {
        Ok(Lock { run: run.clone(), token: "engine".to_owned() })
    }

    fn unlock(&self, _lock: &Lock) -> Result<(), StoreFault> {
        Ok(())
    }

    fn append(&self, _lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault> {
        self.persist_staged()?;
        self.state().appended.extend_from_slice(facts);
        Ok(())
    }

    fn read(&self, run: &RunId, from: u64) -> Result<Vec<LogEntry>, StoreFault> {
        if *run != self.run {
            return Err(StoreFault::NoRun(run.clone()));
        }
        Ok(self.state().read.iter().filter(|entry| entry.n >= from).cloned().collect())
    }

    fn post(&self, _run: &RunId, _message: &Posted) -> Result<(), StoreFault> {
        Err(StoreFault::ReadOnly("messages go to the cluster".to_owned()))
    }

    fn messages(&self, _lock: &Lock) -> Result<Vec<(u64, Posted)>, StoreFault> {
        Ok((1..).zip(self.state().messages.iter().cloned()).collect())
    }

    fn has_messages(&self, _run: &RunId) -> Result<bool, StoreFault> {
        Ok(!self.state().messages.is_empty())
    }

    fn discard(&self, _lock: &Lock, _up_to: u64) -> Result<(), StoreFault> {
        self.state().messages.clear();
        Ok(())
    }

    fn persist(&self) -> Result<(), StoreFault> {
        self.persist_staged()
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault> {
        self.texts.put_all(&self.run, &[bytes.to_vec()])?;
        Ok(BlobId::of(bytes))
    }

    fn stage_blob(&self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.state().staged.insert(id.clone(), bytes);
        id
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        let staged = self.state().staged.get(id).cloned();
        staged.map_or_else(|| self.texts.get(&self.run, id), Ok)
    }
}
