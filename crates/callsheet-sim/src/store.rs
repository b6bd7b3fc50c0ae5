//! The store as one process sees it: the memory store, with the errors of a disk, and not usable after the process
//! has ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::{Lock, Posted, RunSummary, Store, StoreFault};
use callsheet_store::MemoryStore;

use crate::faults::Fault;

/// How a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// The disk is full, and nothing is written.
    Full,
    /// The disk refuses, and nothing is written.
    Refused,
    /// Everything is written, but the process gets an error.
    Unheard,
}

impl WriteError {
    pub const ALL: [Self; 3] = [Self::Full, Self::Refused, Self::Unheard];

    fn fault(self) -> StoreFault {
        match self {
            Self::Full => StoreFault::Full("simulated".to_owned()),
            Self::Refused | Self::Unheard => StoreFault::Broken("simulated".to_owned()),
        }
    }
}

/// A process's view of the store.
pub(crate) struct ProcessStore {
    memory: MemoryStore,
    gone: AtomicBool,
    next: Mutex<Option<WriteError>>,
    fault: Option<Fault>,
}

impl ProcessStore {
    /// The store as another process sees it.
    pub fn new(memory: &MemoryStore, fault: Option<Fault>) -> Arc<Self> {
        let (memory, gone, next) = (memory.another_process(), AtomicBool::new(false), Mutex::default());
        Arc::new(Self { memory, gone, next, fault })
    }

    /// Makes the next write fail.
    pub fn fail_next_write(&self, error: WriteError) {
        *self.next() = Some(error);
    }

    /// Simulates `kill -9`: nothing reaches the store any more, not even the release of the lock.
    pub fn kill(&self) {
        self.gone.store(true, Ordering::SeqCst);
        self.memory.die();
    }

    fn next(&self) -> MutexGuard<'_, Option<WriteError>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alive(&self) -> Result<&MemoryStore, StoreFault> {
        match self.gone.load(Ordering::SeqCst) {
            true => Err(StoreFault::Broken("the process is gone".to_owned())),
            false => Ok(&self.memory),
        }
    }
}

impl Store for ProcessStore {
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault> {
        self.alive()?.runs()
    }

    fn lock(&self, run: &RunId) -> Result<Lock, StoreFault> {
        if self.fault == Some(Fault::LocksTwice) {
            self.memory.break_lock(run);
        }
        self.alive()?.lock(run)
    }

    fn unlock(&self, lock: &Lock) -> Result<(), StoreFault> {
        self.alive()?.unlock(lock)
    }

    fn append(&self, lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault> {
        let memory = self.alive()?;
        let error = self.next().take();
        if let Some(error) = error.filter(|error| *error != WriteError::Unheard) {
            return Err(error.fault());
        }
        match (self.fault, facts) {
            (Some(Fault::WritesHalf), [first, _, ..]) if error.is_some() => {
                memory.append(lock, std::slice::from_ref(first))?;
            }
            (Some(Fault::WritesNothing), _) if facts.len() > 3 => {}
            (Some(Fault::HeedsNoLock), _) => heedless(memory, lock, facts)?,
            _ => memory.append(lock, facts)?,
        }
        error.map_or(Ok(()), |error| Err(error.fault()))
    }

    fn read(&self, run: &RunId, from: u64) -> Result<Vec<LogEntry>, StoreFault> {
        let mut facts = self.alive()?.read(run, from)?;
        match self.fault {
            Some(Fault::ReadsOldCopy) => facts.truncate(facts.len().saturating_sub(1)),
            Some(Fault::ReadsTwice) => facts.extend(facts.last().cloned()),
            Some(Fault::ReadsOutOfOrder) => {
                let last = facts.len().saturating_sub(1);
                if let Some([one, other]) = facts.get_mut(last.saturating_sub(1)..) {
                    std::mem::swap(&mut one.event, &mut other.event);
                }
            }
            _ => {}
        }
        Ok(facts)
    }

    fn persist(&self) -> Result<(), StoreFault> {
        self.alive()?.persist()
    }

    fn post(&self, run: &RunId, message: &Posted) -> Result<(), StoreFault> {
        self.alive()?.post(run, message)
    }

    fn messages(&self, lock: &Lock) -> Result<Vec<(u64, Posted)>, StoreFault> {
        self.alive()?.messages(lock)
    }

    fn has_messages(&self, run: &RunId) -> Result<bool, StoreFault> {
        self.alive()?.has_messages(run)
    }

    fn discard(&self, lock: &Lock, up_to: u64) -> Result<(), StoreFault> {
        self.alive()?.discard(lock, up_to)
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault> {
        self.alive()?.put_blob(bytes)
    }

    fn stage_blob(&self, bytes: Vec<u8>) -> BlobId {
        self.memory.stage_blob(bytes)
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        self.alive()?.blob(id)
    }
}

/// A planted fault: this process writes, whichever process has the lock.
fn heedless(memory: &MemoryStore, lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault> {
    if memory.append(lock, facts).is_ok() {
        return Ok(());
    }
    memory.break_lock(&lock.run);
    let own = memory.lock(&lock.run)?;
    memory.append(&own, facts)
}
