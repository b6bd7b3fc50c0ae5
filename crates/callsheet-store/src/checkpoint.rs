//! Copies the write-ahead log into the database in the background, so that neither recording a fact nor ending the
//! process waits for the disk.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::{Connection, OpenFlags};

/// Batches of facts between two copies: about a megabyte of the log.
const BATCHES: u32 = 32;

/// Runs at most one copy at a time, in a separate thread with its own connection. The copy blocks neither readers nor
/// the writer (`PASSIVE`). If it fails, the next one makes up for it.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    batches: u32,
    copying: Option<JoinHandle<()>>,
}

impl Checkpoints {
    /// Counts a batch that was committed to the log of `path`.
    pub fn note(&self, path: &Path) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.batches = state.batches.saturating_add(1);
        let busy = state.copying.as_ref().is_some_and(|copying| !copying.is_finished());
        if state.batches < BATCHES || busy {
            return;
        }
        state.batches = 0;
        let path = path.to_owned();
        match std::thread::Builder::new().name("checkpoint".to_owned()).spawn(move || copy(&path)) {
            Ok(copying) => state.copying = Some(copying),
            Err(error) => tracing::debug!(%error, "no thread for a checkpoint; the store makes one in its own time"),
        }
    }
}

/// This connection must close before the store's own, because the last connection to close cleans up.
impl Drop for Checkpoints {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if state.copying.take().is_some_and(|copying| copying.join().is_err()) {
            tracing::debug!("a checkpoint ended abnormally");
        }
    }
}

fn copy(path: &Path) {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copied = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
    });
    if let Err(error) = copied {
        tracing::debug!(%error, "a checkpoint failed; the next one makes up for it");
    }
}
