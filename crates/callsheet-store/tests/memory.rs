//! The store in memory against the conformance suite. A child process cannot share it, so the kill check is SQLite's.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::sync::Arc;

use callsheet_core::nouns::RunId;
use callsheet_runtime::conformance::store::World;
use callsheet_runtime::ports::{Lock, Store};
use callsheet_store::MemoryStore;

struct InMemory(MemoryStore);

fn world() -> InMemory {
    InMemory(MemoryStore::new())
}

impl World for InMemory {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.another_process())
    }

    fn lock_of_the_dead(&self, run: &RunId) -> Lock {
        let process = self.0.another_process();
        let lock = process.lock(run).unwrap();
        process.die();
        lock
    }
}

callsheet_runtime::store_conformance!(world);

#[test]
#[ignore = "skipped: no other process can share this memory, so none can be killed"]
fn kill_minus_nine_loses_nothing() {}
