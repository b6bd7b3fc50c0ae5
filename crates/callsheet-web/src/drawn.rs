//! Content for a browser or a program, which is always text that passed its door.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use callsheet_runtime::shown::Shown;
use futures_util::stream::{Stream, StreamExt};
use maud::Markup;

/// A page, a part of a page, a text, or a value for a program.
pub(crate) struct Drawn {
    text: Bytes,
    kind: &'static str,
}

impl Drawn {
    /// A page or a part of one.
    pub fn page(page: Markup) -> Self {
        Self::whole(Shown::html(&page.into_string()))
    }

    /// A page that was built elsewhere.
    pub fn whole(page: Shown) -> Self {
        Self::of(page, "text/html; charset=utf-8")
    }

    /// A text.
    pub fn text(text: Shown) -> Self {
        Self::of(text, "text/plain; charset=utf-8")
    }

    /// A value for a program.
    pub fn json(text: Shown) -> Self {
        Self::of(text, "application/json")
    }

    /// Why a program got no value.
    pub fn problem(text: Shown) -> Self {
        Self::of(text, "application/problem+json")
    }

    /// Masked bytes for a program.
    pub fn bytes(masked: &[u8]) -> Self {
        Self { text: Bytes::copy_from_slice(masked), kind: "application/octet-stream" }
    }

    fn of(text: Shown, kind: &'static str) -> Self {
        Self { text: text.into_string().into(), kind }
    }
}

impl IntoResponse for Drawn {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, self.kind)], self.text).into_response()
    }
}

/// A line of a stream for a program.
pub(crate) struct Line {
    pub number: u64,
    pub text: Shown,
}

/// Lines, each of them a JSON value.
pub(crate) fn json_lines(lines: impl Stream<Item = io::Result<Line>> + Send + 'static) -> Response {
    let bytes = lines.map(|line| line.map(|line| Bytes::from(line.text.into_string() + "\n")));
    ([(CONTENT_TYPE, "application/jsonl")], Body::from_stream(bytes)).into_response()
}

/// The same lines as server-sent events.
pub(crate) fn server_sent(lines: impl Stream<Item = io::Result<Line>> + Send + 'static) -> Response {
    let events =
        lines.map(|line| line.map(|line| Event::default().id(line.number.to_string()).data(line.text.as_str())));
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}
