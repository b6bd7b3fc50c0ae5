//! What all requests share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use callsheet_core::spec::RunId;
use callsheet_core::view::Board;

use crate::desk::{Desk, Refusal};
use crate::guard::Guard;
use crate::page::run::RunPage;
use crate::record::{Record, locked};

/// What came of the last thing that was done for a run.
pub(crate) type Said = Result<String, Refusal>;

/// The desk, the record, and what is to be said on the next page.
pub(crate) struct App {
    pub desk: Arc<dyn Desk>,
    pub guard: Guard,
    pub record: Record,
    said: Mutex<BTreeMap<RunId, Said>>,
}

impl App {
    pub fn new(desk: Arc<dyn Desk>, guard: Guard) -> Self {
        Self { record: Record::new(Arc::clone(&desk)), desk, guard, said: Mutex::default() }
    }

    /// Says something on the next page of a run.
    pub fn say(&self, id: &RunId, said: Said) {
        self.record.forget_list();
        locked(&self.said).insert(id.clone(), said);
    }

    /// What is to be said now; it is said once.
    pub fn said(&self, id: &RunId) -> Option<Said> {
        locked(&self.said).remove(id)
    }

    /// A run as it is now.
    ///
    /// # Errors
    /// There is no such run, or what the store says.
    pub fn with_run<T>(&self, id: &RunId, see: impl FnOnce(&RunPage<'_>) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let summary = self.record.summary(id)?;
        let store = self.record.store(id)?;
        let folded = self.record.folded(id)?;
        let folded = locked(&folded);
        let gates = self.desk.gates(&folded.run)?;
        let board = Board::of(&folded.run, summary.owner.is_some());
        see(&RunPage {
            desk: &*self.desk,
            store: &*store,
            summary: &summary,
            run: &folded.run,
            entries: &folded.entries,
            broken: folded.broken.as_deref(),
            board: &board,
            gates: &gates,
            saved: store.has_messages(id).unwrap_or(false),
            started: self.desk.started(id),
            typed: None,
        })
    }
}

/// Does something that blocks, beside the requests of others.
pub(crate) async fn blocking<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let app = Arc::clone(app);
    let done = tokio::task::spawn_blocking(move || work(&app)).await;
    done.unwrap_or_else(|_| {
        Err(Refusal {
            what: "this page could not be made".to_owned(),
            advice: "reload it; please report it".to_owned(),
        })
    })
}
