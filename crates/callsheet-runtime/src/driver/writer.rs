//! The only writer of one run: its machine, and the log behind it.

use std::sync::Arc;

use callsheet_core::events::{Event, LogEntry};
use callsheet_core::nouns::RunId;
use callsheet_core::record::OrderId;
use callsheet_core::run::{Reject, Run};

use crate::fault::DriveFault;
use crate::ports::{Lock, Store, StoreFault};
use crate::replay::replay_from;

/// Holds the lock of a run. Events are folded first and appended in batches, so the machine may be ahead of the log
/// until the next [`RunWriter::flush`].
pub struct RunWriter {
    run: Run,
    lock: Lock,
    store: Arc<dyn Store>,
    entries: u64,
    /// Entries that are folded but not in the log yet.
    noted: Vec<LogEntry>,
    last_at: u64,
}

impl RunWriter {
    /// Takes the run's lock and folds the entries after `known`, which is an empty run for a caller who has not read
    /// the log.
    ///
    /// # Errors
    /// If another process writes the run, or the log cannot be read.
    pub fn open(store: Arc<dyn Store>, id: &RunId, mut known: Run) -> Result<Self, DriveFault> {
        let lock = store.lock(id)?;
        match replay_from(&store, id, &mut known) {
            Ok(_) | Err(DriveFault::Store(StoreFault::NoRun(_))) => {}
            Err(fault) => {
                store.unlock(&lock)?;
                return Err(fault);
            }
        }
        let (entries, last_at) = (known.last_fact(), known.now_ms());
        Ok(Self { run: known, lock, store, entries, noted: Vec::new(), last_at })
    }

    /// The machine.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The machine of a finished writer.
    pub(crate) fn take_run(&mut self) -> Run {
        std::mem::take(&mut self.run)
    }

    /// Entries of the log.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Its lock.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// How many events wait for the next [`RunWriter::flush`].
    pub fn noted(&self) -> usize {
        self.noted.len()
    }

    /// Folds an event for the next [`RunWriter::flush`]. Before that, nothing outside this process may happen because
    /// of it. Time never runs backwards in a log, whatever a clock says.
    ///
    /// # Errors
    /// The machine's reason if the event does not fit. Nothing has changed then.
    pub fn note(&mut self, now_ms: u64, event: Event) -> Result<(), Reject> {
        self.note_for(now_ms, event, &[])
    }

    /// Like `note`, but for orders of persons.
    ///
    /// # Errors As [`RunWriter::note`].
    pub fn note_for(&mut self, now_ms: u64, event: Event, orders: &[OrderId]) -> Result<(), Reject> {
        let at = now_ms.max(self.last_at);
        let n = self.entries + self.noted.len() as u64 + 1;
        let entry = LogEntry { orders: orders.to_vec(), ..LogEntry::new(n, at, event) };
        self.run.apply(&entry)?;
        self.last_at = at;
        self.noted.push(entry);
        Ok(())
    }

    /// Appends the noted events in one transaction, and returns them.
    ///
    /// # Errors
    /// If the store refuses. The machine is then ahead of the log, and the writer must be dropped.
    pub fn flush(&mut self) -> Result<Vec<LogEntry>, StoreFault> {
        if self.noted.is_empty() {
            return Ok(Vec::new());
        }
        self.store.append(&self.lock, &self.noted)?;
        let entries = std::mem::take(&mut self.noted);
        self.entries += entries.len() as u64;
        Ok(entries)
    }

    /// Folds entries that are in the log already, from the first one that is not folded.
    ///
    /// # Errors
    /// An entry does not fit. The machine is then behind the log, and the writer must be dropped.
    pub fn follow(&mut self, entries: &[LogEntry]) -> Result<(), DriveFault> {
        for entry in entries {
            self.run.apply(entry).map_err(|reject| DriveFault::Replay { n: entry.n, reject })?;
            (self.entries, self.last_at) = (entry.n, entry.at);
        }
        Ok(())
    }

    /// Releases the run. Dropping a writer does the same.
    pub fn close(&mut self) {
        if let Err(fault) = self.store.unlock(&self.lock) {
            tracing::debug!(%fault, "unlock");
        }
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        self.close();
    }
}
