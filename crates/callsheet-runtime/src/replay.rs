//! Restores a run from its log.

use std::sync::Arc;

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::RunId;
use callsheet_core::run::Run;

use crate::fault::DriveFault;
use crate::ports::Store;

/// Folds a run's log without writing.
pub(crate) fn replay(store: &Arc<dyn Store>, id: &RunId) -> Result<(Run, Vec<LogEntry>), DriveFault> {
    let mut run = Run::new();
    let entries = replay_from(store, id, &mut run)?;
    Ok((run, entries))
}

/// Folds the entries of a log after the last one that was folded.
pub(crate) fn replay_from(store: &Arc<dyn Store>, id: &RunId, run: &mut Run) -> Result<Vec<LogEntry>, DriveFault> {
    let entries = store.read(id, run.last_fact().saturating_add(1))?;
    for entry in &entries {
        run.apply(entry).map_err(|reject| DriveFault::Replay { n: entry.n, reject })?;
    }
    Ok(entries)
}
