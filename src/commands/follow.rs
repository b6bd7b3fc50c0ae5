//! A run as its record grows, for whoever looks at it from another process.

use std::sync::Arc;

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::{LiveText, Store};
use callsheet_store::LiveReader;

use crate::setup::Setup;

/// Looks between two questions whether a process drives the run.
const OWNER_EVERY: u32 = 6;

/// Reads what is new.
pub(super) struct Follower {
    store: Arc<dyn Store>,
    live: LiveReader,
    id: RunId,
    next: u64,
    looks: u32,
    owner: Option<String>,
}

impl Follower {
    /// Begins with the first fact.
    pub fn new(setup: &Setup, store: Arc<dyn Store>, id: &RunId) -> Self {
        let live = LiveReader::new(&setup.store_folder(), id);
        Self { store, live, id: id.clone(), next: 1, looks: 0, owner: None }
    }

    /// What was recorded since. What cannot be read now may be read the next time.
    pub fn entries(&mut self) -> Vec<LogEntry> {
        let entries = self.store.read(&self.id, self.next).unwrap_or_default();
        self.next = entries.last().map_or(self.next, |entry| entry.n.saturating_add(1));
        entries
    }

    /// Whether a process drives the run, and whether that was looked at just now.
    pub fn owner(&mut self) -> (bool, bool) {
        let is_fresh = self.looks.is_multiple_of(OWNER_EVERY);
        if is_fresh {
            let runs = self.store.runs().unwrap_or_default();
            self.owner = runs.into_iter().find(|run| run.run == self.id).and_then(|run| run.owner);
        }
        self.looks = self.looks.wrapping_add(1);
        (self.owner.is_some(), is_fresh)
    }

    /// What the process that drives the run has streamed of calls in progress. Reading it says that somebody looks.
    pub fn streams(&mut self) -> Vec<LiveText> {
        self.owner.as_deref().map(|owner| self.live.read(owner)).unwrap_or_default()
    }
}
