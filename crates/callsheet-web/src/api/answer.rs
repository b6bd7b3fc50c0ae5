//! Responses in JSON. Every one passes `Shown::json`, which masks keys.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use callsheet_runtime::shown::Shown;
use serde::Serialize;

use super::problem::Problem;
use crate::drawn::Drawn;

/// A response with a value as JSON.
pub(super) struct Answer<T> {
    pub status: StatusCode,
    pub value: T,
}

pub(super) type Answered<T> = Result<Answer<T>, Problem>;

impl<T> Answer<T> {
    pub fn ok(value: T) -> Self {
        Self { status: StatusCode::OK, value }
    }
}

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        let text = serde_json::to_string(&self.value).unwrap_or_default();
        (self.status, Drawn::json(Shown::json(&text))).into_response()
    }
}
