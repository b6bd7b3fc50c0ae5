//! The shared state of all requests, and the data of one request.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::GateView;
use callsheet_runtime::shown::mask;

use crate::guard::Guard;
use crate::page::run::RunPage;
use crate::record::{Record, locked};
use callsheet_app::{Refusal, RunControl, new_key};

/// The outcome of the last action for a run.
pub(crate) type Said = Result<String, Refusal>;

/// The runs, the record, and the messages for the next pages.
pub(crate) struct App {
    pub runs: Arc<dyn RunControl>,
    pub guard: Guard,
    pub record: Record,
    said: Mutex<BTreeMap<RunId, Said>>,
}

impl App {
    pub fn new(runs: Arc<dyn RunControl>, guard: Guard) -> Self {
        Self { record: Record::new(Arc::clone(&runs)), runs, guard, said: Mutex::default() }
    }

    /// Sets the message for the next page of a run.
    pub fn say(&self, id: &RunId, said: Said) {
        self.record.forget_list();
        locked(&self.said).insert(id.clone(), said);
    }

    /// The message for this page, which is shown only once.
    pub fn said(&self, id: &RunId) -> Option<Said> {
        locked(&self.said).remove(id)
    }
}

/// One request.
#[derive(Clone)]
pub(crate) struct Visit {
    app: Arc<App>,
    /// The address of the request, relative to the first page.
    here: String,
    /// The id of the page that a person looks at. Requests for changes of the page have the same id.
    page: String,
}

impl Deref for Visit {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl FromRequestParts<Arc<App>> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Infallible> {
        Ok(Self::new(app, &parts.uri))
    }
}

impl Visit {
    pub fn new(app: &Arc<App>, uri: &Uri) -> Self {
        let here = uri.path_and_query().map_or("", |address| address.as_str());
        let here = here.strip_prefix('/').unwrap_or(here).to_owned();
        let is_key = |text: &&str| text.len() <= 64 && text.chars().all(|c| c.is_ascii_alphanumeric());
        let asked = here.split(['?', '&']).skip(1).find_map(|part| part.strip_prefix("page=")).filter(is_key);
        let page = asked.map_or_else(|| new_key().unwrap_or_default(), str::to_owned);
        Self { app: Arc::clone(app), here, page }
    }

    /// The address of the request, relative to the first page.
    pub fn here(&self) -> &str {
        &self.here
    }

    /// The id of the page that a person looks at. A form that is sent twice has the same id.
    pub fn page(&self) -> &str {
        &self.page
    }

    /// The address of the first page, relative to this one. The token may precede it in the address.
    pub fn root(&self) -> String {
        let path = self.here.split('?').next().unwrap_or_default();
        match path.matches('/').count() {
            0 => "./".to_owned(),
            folders => "../".repeat(folders),
        }
    }

    /// A run in its current state.
    ///
    /// # Errors
    /// There is no such run, or the store cannot be read.
    pub fn with_run<T>(&self, id: &RunId, see: impl FnOnce(&RunPage<'_>) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let summary = self.record.summary(id)?;
        let known = self.record.folded(id)?;
        let mut known = locked(&known);
        let board = known.board(summary.owner.is_some());
        let folded = &known.folded;
        let gates: Vec<GateView> = self.runs.gates(&folded.run)?.into_iter().map(masked).collect();
        see(&RunPage {
            visit: self,
            runs: &*self.runs,
            summary: &summary,
            run: &folded.run,
            entries: &folded.entries,
            broken: folded.broken.as_deref(),
            board: &board,
            gates: &gates,
            saved: self.runs.has_messages(id).unwrap_or(false),
            started: self.runs.started(id),
            typed: None,
            at: String::new(),
        })
    }
}

/// Masks known keys before code is coloured, because colours would separate the parts of a key.
fn masked(mut view: GateView) -> GateView {
    view.diff = mask(&view.diff).into_owned();
    for hunk in &mut view.hunks {
        hunk.text = mask(&hunk.text).into_owned();
    }
    view
}

/// Runs something that blocks without blocking other requests.
pub(crate) async fn blocking<T: Send + 'static>(
    visit: &Visit,
    work: impl FnOnce(&Visit) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let visit = visit.clone();
    let done = tokio::task::spawn_blocking(move || work(&visit)).await;
    done.unwrap_or_else(|_| Err(Refusal::internal("this page could not be built", "reload it; please report it")))
}
