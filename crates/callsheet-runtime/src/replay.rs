//! Restores a run from its log.

use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::RunId;
use callsheet_core::run::Run;

use crate::fault::DriveFault;
use crate::ports::{Store, StoreFault};

/// How many entries are read at once.
const PAGE: usize = 2_048;
/// How many pages may wait until they are folded.
const AHEAD: usize = 2;

type Page = Result<Vec<LogEntry>, StoreFault>;

/// Folds a run's log without writing.
pub(crate) fn replay(store: &Arc<dyn Store>, id: &RunId) -> Result<(Run, Vec<LogEntry>), DriveFault> {
    let mut run = Run::new();
    let entries = replay_from(store, id, &mut run)?;
    Ok((run, entries))
}

/// Folds the entries of a log after the last one that was folded. A long log is read on a thread of its own meanwhile.
pub(crate) fn replay_from(store: &Arc<dyn Store>, id: &RunId, run: &mut Run) -> Result<Vec<LogEntry>, DriveFault> {
    let mut entries = store.read_page(id, run.last_fact().saturating_add(1), PAGE)?;
    let Some(last) = entries.last().filter(|_| entries.len() >= PAGE).map(|entry| entry.n) else {
        fold(run, &entries)?;
        return Ok(entries);
    };
    std::thread::scope(|scope| {
        let (sender, pages) = mpsc::sync_channel(AHEAD);
        let reading = std::thread::Builder::new().spawn_scoped(scope, move || send_pages(store, id, last, &sender));
        reading.map_err(|error| DriveFault::defect(format!("no thread to read with: {error}")))?;
        fold(run, &entries)?;
        for page in pages {
            let page = page?;
            fold(run, &page)?;
            entries.extend(page);
        }
        Ok(entries)
    })
}

fn fold(run: &mut Run, entries: &[LogEntry]) -> Result<(), DriveFault> {
    let mut each = entries.iter();
    each.try_for_each(|entry| run.apply(entry).map(drop).map_err(|reject| DriveFault::Replay { n: entry.n, reject }))
}

/// Sends what follows an entry, until somebody no longer wants it.
fn send_pages(store: &Arc<dyn Store>, id: &RunId, mut last: u64, sender: &SyncSender<Page>) {
    loop {
        let page = store.read_page(id, last.saturating_add(1), PAGE);
        let next =
            page.as_ref().ok().filter(|page| page.len() >= PAGE).and_then(|page| page.last()).map(|entry| entry.n);
        if sender.send(page).is_err() {
            return;
        }
        let Some(next) = next else { return };
        last = next;
    }
}
