//! Sends the recorded events of a run, as server-sent events or as JSON Lines. The lines are the same as those of
//! `callsheet show --events` and of `--json`.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use callsheet_app::Cursor;
use callsheet_core::events::LogEntry;
use callsheet_core::nouns::RunId;
use callsheet_runtime::shown::Shown;
use futures_util::stream::{Stream, unfold};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;

use super::access::Looking;
use super::problem::{Code, Problem};
use super::reading::{Asked, At};
use super::runs::summary;
use super::{Api, Shared, blocking, limits};
use crate::drawn::{Line, json_lines, server_sent};

/// Which events to send.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The number of the last event that the client has. The header `Last-Event-ID` takes precedence.
    after: Option<u64>,
    /// Whether to keep sending JSON Lines as events are recorded. Server-sent events always do this.
    #[serde(default)]
    follow: bool,
}

/// A client's reading position in the log of a run.
struct Reader {
    api: Arc<Api>,
    run: RunId,
    seen: Cursor,
    follows: bool,
    read: VecDeque<LogEntry>,
    /// Released when the client disconnects.
    _stream: OwnedSemaphorePermit,
}

/// Sends the events of a run. With `Accept: text/event-stream`, sends each event when it is recorded, with its number
/// as its id. Otherwise sends JSON Lines. `event.schema.json` describes a line.
#[utoipa::path(get, path = "/runs/{run}/events", security(("token" = [])),
    params(("run" = String, Path, description = "The name of the run."), Which,
        ("Last-Event-ID" = Option<u64>, Header, description = "The number of the last event that the client has.")),
    responses((status = 200, description = "The events.", content((String = "application/jsonl"), (String = "text/event-stream"))),
        (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn events(
    State(api): Shared,
    _: Looking,
    At(run): At<String>,
    Asked(which): Asked<Which>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let seen = Cursor(last_seen(&headers)?.or(which.after).unwrap_or(0));
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let as_events = accepted.contains("text/event-stream");
    let found = blocking(&api, move |api| summary(api, &run)).await?;
    let stream = Arc::clone(&api.streams).try_acquire_owned();
    let _stream = stream.map_err(|_| {
        Problem::new(
            Code::Busy,
            format!("{} streams are open, which is the limit", limits::STREAMS),
            "close one, or try again later",
        )
    })?;
    let follows = as_events || which.follow;
    let reader = Reader { api, run: found.run, seen, follows, read: VecDeque::new(), _stream };
    let lines = lines(reader);
    Ok(if as_events { server_sent(lines) } else { json_lines(lines) })
}

fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(given) = headers.get("last-event-id") else { return Ok(None) };
    let number = given.to_str().ok().and_then(|text| text.trim().parse().ok());
    let wrong = || Problem::new(Code::BadRequest, "Last-Event-ID is not a number", "send the id of the last event");
    number.map(Some).ok_or_else(wrong)
}

fn lines(reader: Reader) -> impl Stream<Item = io::Result<Line>> + Send + 'static {
    unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match reader.next().await {
            Ok(Some(line)) => Some((Ok(line), Some(reader))),
            Ok(None) => None,
            // The error breaks off the response, so the client sees that it is incomplete.
            Err(problem) => Some((Err(io::Error::other(format!("{problem:?}"))), None)),
        }
    })
}

impl Reader {
    /// The next event. `None` if there are no more and the client does not follow the run.
    async fn next(&mut self) -> Result<Option<Line>, Problem> {
        loop {
            if let Some(entry) = self.read.pop_front() {
                self.seen = Cursor(entry.n);
                let text = serde_json::to_string(&entry).unwrap_or_default();
                return Ok(Some(Line { number: entry.n, text: Shown::json(&text) }));
            }
            let (run, seen) = (self.run.clone(), self.seen);
            let new = blocking(&self.api, move |api| Ok(api.runs.watch(&run, seen)?)).await?;
            match new.is_empty() {
                true if !self.follows => return Ok(None),
                true => tokio::time::sleep(limits::TICK).await,
                false => self.read.extend(new),
            }
        }
    }
}
