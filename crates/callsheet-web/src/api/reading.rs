//! Reads requests. If a request cannot be read, the refusal gives the place and the reason.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use super::limits;
use super::problem::{Code, Problem};

/// A JSON body.
pub(super) struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        if kind.split(';').next().is_none_or(|kind| !kind.trim().eq_ignore_ascii_case("application/json")) {
            return Err(Problem::new(Code::NotJson, "the body is not JSON", "send Content-Type: application/json"));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(unread)?;
        let wrong = |error: serde_json::Error| {
            Problem::new(Code::BadRequest, format!("the body can't be used: {error}"), "openapi.json describes it")
        };
        serde_json::from_slice(&bytes).map(Self).map_err(wrong)
    }
}

fn unread(rejection: BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let most = limits::BODY / 1024;
        return Problem::new(Code::TooLarge, format!("the body is larger than {most} KiB"), "send less");
    }
    Problem::new(Code::BadRequest, "the body arrived incomplete", "send it again")
}

/// The variable parts of the path.
pub(super) struct At<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::from_request_parts(parts, state).await;
        path.map(|Path(path)| Self(path)).map_err(|error| Problem::new(Code::NotFound, error.to_string(), ""))
    }
}

/// The query parameters.
pub(super) struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::try_from_uri(&parts.uri);
        let wrong = |error: axum::extract::rejection::QueryRejection| {
            Problem::new(Code::BadRequest, error.to_string(), "openapi.json describes the parameters")
        };
        query.map(|Query(asked)| Self(asked)).map_err(wrong)
    }
}

/// Checks the key of an order. Returns the key under which the log keeps it, which differs for each client.
pub(super) fn key(client: &str, key: &str) -> Result<String, Problem> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || key.len() > limits::KEY || !key.chars().all(fits) {
        let what = format!("`key` must have 1 to {} letters, digits, `-`, `_` and `.`", limits::KEY);
        return Err(Problem::new(Code::BadRequest, what, "use a new random key, such as a UUID, for each order"));
    }
    Ok(format!("api/{client}/{key}"))
}
