//! Sends changes of a page as they happen. Another process may drive the run, so its log is read a few times a
//! second.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use callsheet_core::nouns::RunId;
use callsheet_core::record::Outcome;
use callsheet_runtime::ports::{Clock, LiveText, SystemClock};
use futures_util::stream::{Stream, unfold};
use serde_json::Value;

use crate::app::{Visit, blocking};
use crate::page::run::View;
use crate::page::runs::{self, Which};
use crate::piece::{Has, Piece};
use callsheet_app::{Refusal, Started};

/// How often a log is read.
const TICK: Duration = Duration::from_millis(250);

/// How often the list of runs, or a page that takes longer to build, is read.
const SLOW_TICK: Duration = Duration::from_millis(1_500);

/// What is watched.
#[derive(Clone)]
pub(crate) enum Watched {
    Runs(Which),
    Run(RunId, View),
}

/// The state that determines a page. Nothing is drawn while it stays the same.
#[derive(Clone, PartialEq)]
struct Mark {
    last: u64,
    owner: Option<String>,
    outcome: Option<Outcome>,
    saved: bool,
    started: Option<Started>,
    /// The streamed text of the shown task.
    writing: Vec<LiveText>,
}

struct Watch {
    visit: Visit,
    watched: Watched,
    /// The last entry that the page in the browser shows.
    seen: Option<u64>,
    mark: Option<Mark>,
    shown: Option<Has>,
}

/// The changes of a page after the entry `seen`.
pub(crate) fn changes(
    visit: Visit,
    watched: Watched,
    seen: Option<u64>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let watch = Watch { visit, watched, seen, mark: None, shown: None };
    let stream = unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok(event), watch))
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

impl Watch {
    /// The next changes. `None` if nothing can be watched any more.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let news = match self.watched.clone() {
                Watched::Runs(which) => self.runs(which).await,
                Watched::Run(id, view) => self.run(id, view).await,
            };
            match news {
                Ok(None) => tokio::time::sleep(self.tick()).await,
                Ok(Some((last, changes))) => {
                    let event = Event::default().event("change").data(Value::from(changes).to_string());
                    return Some(event.id(last.to_string()));
                }
                Err(_) => {
                    // The browser connects again by itself after some time.
                    tokio::time::sleep(SLOW_TICK).await;
                    return None;
                }
            }
        }
    }

    fn tick(&self) -> Duration {
        match &self.watched {
            Watched::Runs(_) | Watched::Run(_, View::Timeline(_) | View::Changes) => SLOW_TICK,
            Watched::Run(..) => TICK,
        }
    }

    async fn runs(&mut self, which: Which) -> Result<News, Refusal> {
        let now = SystemClock.now_ms();
        let pieces =
            blocking(&self.visit, move |app| runs::pieces(&app.record, &which.find(&app.record)?, now)).await?;
        let changes = self.shown.get_or_insert_default().changes(&pieces);
        Ok((!changes.is_empty()).then_some((0, changes)))
    }

    async fn run(&mut self, id: RunId, view: View) -> Result<News, Refusal> {
        let before = self.mark.clone();
        let drawn = blocking(&self.visit, move |app| {
            let mark = mark(app, &id, &view)?;
            if before.as_ref() == Some(&mark) {
                return Ok(None);
            }
            let (last, pieces) = app.with_run(&id, |page| Ok((page.last(), page.pieces(&view)?)))?;
            Ok(Some((mark, last, pieces)))
        });
        let Some((mark, last, pieces)) = drawn.await? else { return Ok(None) };
        self.mark = Some(mark);
        let seen = self.seen;
        let shown = self.shown.get_or_insert_with(|| known(&pieces, seen == Some(last)));
        Ok(Some((last, shown.changes(&pieces))))
    }
}

/// The last entry that was read, and the changes. `None` if nothing happened.
type News = Option<(u64, Vec<Value>)>;

/// The pieces that a browser already has, if its page was built just now. Pieces that do not depend on the log alone
/// are always sent, and the browser compares them.
fn known(pieces: &[Piece], is_current: bool) -> Has {
    let of_log = |piece: &&Piece| {
        !matches!(piece.list.as_str(), "top" | "notices") && !matches!(piece.id.as_str(), "writing" | "t-writing")
    };
    if is_current { Has::of(pieces.iter().filter(of_log)) } else { Has::default() }
}

fn mark(app: &Visit, id: &RunId, view: &View) -> Result<Mark, Refusal> {
    let summary = app.record.summary(id)?;
    let writing = match (view, &summary.owner) {
        (View::Board(task), Some(owner)) => {
            let calls = app.runs.writing(id, owner).into_iter();
            calls.filter(|call| call.key.task == *task).collect()
        }
        _ => Vec::new(),
    };
    Ok(Mark {
        last: summary.facts,
        owner: summary.owner,
        outcome: summary.outcome,
        saved: app.runs.has_messages(id).unwrap_or(false),
        started: app.runs.started(id),
        writing,
    })
}
