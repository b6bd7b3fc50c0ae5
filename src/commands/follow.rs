//! Follows a run by its growing record, from a process that does not drive it.

use std::sync::Arc;

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::{LiveText, Store};
use callsheet_store::LiveReader;

use crate::setup::Setup;

/// How many looks at the record there are for each check whether a process drives the run.
const OWNER_EVERY: u32 = 6;

/// Reads new entries.
pub(super) struct Follower {
    store: Arc<dyn Store>,
    live: LiveReader,
    id: RunId,
    next: u64,
    looks: u32,
    owner: Option<String>,
}

impl Follower {
    /// Starts at the first entry.
    pub fn new(setup: &Setup, store: Arc<dyn Store>, id: &RunId) -> Self {
        let live = LiveReader::new(&setup.store_folder(), id);
        Self { store, live, id: id.clone(), next: 1, looks: 0, owner: None }
    }

    /// The entries that were recorded since the last call. Entries that cannot be read now may be read by the next
    /// call.
    pub fn entries(&mut self) -> Vec<LogEntry> {
        let entries = self.store.read(&self.id, self.next).unwrap_or_default();
        self.next = entries.last().map_or(self.next, |entry| entry.n.saturating_add(1));
        entries
    }

    /// Whether a process drives the run, and whether that was checked just now.
    pub fn owner(&mut self) -> (bool, bool) {
        let is_fresh = self.looks.is_multiple_of(OWNER_EVERY);
        if is_fresh {
            let runs = self.store.runs().unwrap_or_default();
            self.owner = runs.into_iter().find(|run| run.run == self.id).and_then(|run| run.owner);
        }
        self.looks = self.looks.wrapping_add(1);
        (self.owner.is_some(), is_fresh)
    }

    /// The streamed text of calls in progress, from the process that drives the run. Reading it also tells that
    /// process that somebody is looking.
    pub fn streams(&mut self) -> Vec<LiveText> {
        let Some(owner) = &self.owner else { return Vec::new() };
        self.store.hosting().map_or_else(|| self.live.read(owner), |hosting| hosting.writing(&self.id))
    }
}
