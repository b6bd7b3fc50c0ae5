//! A run as its log says.

use std::sync::Arc;

use callsheet_core::record::LogEntry;
use callsheet_core::run::Run;
use callsheet_core::spec::RunId;

use crate::fault::DriveFault;
use crate::ports::Store;

/// Folds a run's log without writing.
pub(crate) fn replay(store: &Arc<dyn Store>, id: &RunId) -> Result<(Run, Vec<LogEntry>), DriveFault> {
    let entries = store.read(id, 1)?;
    let mut run = Run::new();
    for entry in &entries {
        run.apply(entry).map_err(|reject| DriveFault::Replay { n: entry.n, reject })?;
    }
    Ok((run, entries))
}
