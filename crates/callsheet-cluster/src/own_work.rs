//! What a worker has in hand. What it asks of the dispatcher about a run, it asks with this.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use callsheet_core::nouns::RunId;
use tokio_util::sync::CancellationToken;

use crate::calls::{Claim, Key, Lease};

/// Work in progress, or with a result that the dispatcher has not taken yet.
#[derive(Debug)]
struct Live {
    number: u32,
    cancel: CancellationToken,
}

/// The work of a process, each piece under its key.
#[derive(Debug)]
pub(crate) struct OwnWork {
    /// A name that no other process has. Nobody but the dispatcher hears of it.
    pub process: String,
    live: Mutex<BTreeMap<Key, Live>>,
}

impl OwnWork {
    pub fn new(process: &str) -> Self {
        Self { process: process.to_owned(), live: Mutex::default() }
    }

    /// Every piece, with how often it was given out.
    pub fn all(&self) -> Vec<(Key, u32)> {
        self.live().iter().map(|(key, live)| (key.clone(), live.number)).collect()
    }

    /// What shows that this process works for a run.
    pub fn claim(&self, run: &RunId) -> Claim {
        let live = self.live();
        let of_run = live.iter().filter(|(key, _)| key.run == *run);
        let leases = of_run.map(|(key, live)| (key.attempt, live.number)).collect();
        Claim { run: run.clone(), process: self.process.clone(), leases }
    }

    /// The right to a piece. `None` if this process no longer has it.
    pub fn lease(&self, key: &Key) -> Option<Lease> {
        self.live().get(key).map(|live| Lease { process: self.process.clone(), number: live.number })
    }

    /// Notes a piece that begins. What this process did of it under an earlier lease is cancelled.
    pub fn begin(&self, key: Key, number: u32) -> CancellationToken {
        let cancel = CancellationToken::new();
        let before = self.live().insert(key, Live { number, cancel: cancel.clone() });
        before.inspect(|live| live.cancel.cancel());
        cancel
    }

    /// Forgets a piece that has ended under this lease.
    pub fn end(&self, key: &Key, number: u32) {
        let mut live = self.live();
        if live.get(key).is_some_and(|live| live.number == number) {
            live.remove(key);
        }
    }

    /// Drops a piece.
    pub fn cancel(&self, key: &Key) {
        let dropped = self.live().remove(key);
        dropped.inspect(|live| live.cancel.cancel());
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<Key, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
