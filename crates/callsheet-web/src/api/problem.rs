//! Refusals as RFC 9457 problem details: what is wrong, whose fault it is, and what to do.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use callsheet_app::{Advice, AdviceStep, Kind, Refusal};
use callsheet_runtime::shown::Shown;
use serde::Serialize;
use utoipa::ToSchema;

use crate::drawn::Drawn;

/// The kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Code {
    /// The request cannot be read.
    BadRequest,
    /// The token is missing or unknown.
    NoToken,
    /// The token does not include this right.
    NoRight,
    /// The request came from a web page, or named a foreign host.
    NotAProgram,
    /// There is no such run, text or address.
    NotFound,
    /// The address does not accept this method.
    WrongMethod,
    /// The state of the run does not allow this, or is no longer the state that the client saw.
    NotNow,
    /// The body of the request or the requested text is too large.
    TooLarge,
    /// The body is not JSON.
    NotJson,
    /// The request, sheet or template cannot be run.
    CannotRun,
    /// Too many streams are open.
    Busy,
    /// Callsheet or the machine failed.
    Failed,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::NoToken => StatusCode::UNAUTHORIZED,
            Self::NoRight | Self::NotAProgram => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotNow => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::CannotRun => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Who caused the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fault {
    /// The program that sent the request.
    Client,
    /// Callsheet, or the machine that it runs on.
    Server,
}

/// One thing to do, or to know.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Step {
    /// What it is.
    text: String,
    /// The arguments with which a person does it on the command line, such as `["show", "20260301"]`. Absent if no
    /// command does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
}

/// Why a request was refused (RFC 9457).
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Problem {
    /// Always `about:blank`. `code` names the problem.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The name of the HTTP status.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What is wrong.
    detail: String,
    /// The kind of problem.
    code: Code,
    /// Who caused the problem.
    fault: Fault,
    /// Whether the same request may succeed later.
    retry: bool,
    /// What to do, in steps.
    advice: Vec<Step>,
}

impl Step {
    /// The steps of advice.
    pub fn all(advice: &Advice) -> Vec<Self> {
        let of = |step: &AdviceStep| Self { text: step.text.clone(), command: step.command.clone() };
        advice.steps().iter().map(of).collect()
    }
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>, advice: impl Into<Advice>) -> Self {
        let status = code.status();
        let fault = if status.is_server_error() { Fault::Server } else { Fault::Client };
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail: detail.into(),
            code,
            fault,
            retry: matches!(code, Code::Busy | Code::Failed),
            advice: Step::all(&advice.into()),
        }
    }

    /// The problem for a refusal. If the client caused the refusal, the problem gets this `code`.
    pub fn of(refusal: Refusal, code: Code) -> Self {
        match refusal.kind {
            Kind::Usage => Self::new(code, refusal.what, refusal.advice),
            Kind::Internal | Kind::Incomplete => Self::new(Code::Failed, refusal.what, refusal.advice),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::of(refusal, Code::NotNow)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let text = serde_json::to_string(&self).unwrap_or_default();
        let mut response = (status, Drawn::problem(Shown::json(&text))).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let value = axum::http::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(axum::http::header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_steps_with_commands() {
        let advice = Advice::command("inspect it", ["show", "r1"]).and("or wait");
        let problem = Problem::from(Refusal::usage("it has ended", advice));
        let wanted = serde_json::json!([{ "text": "inspect it", "command": ["show", "r1"] }, { "text": "or wait" }]);
        assert_eq!(serde_json::json!(problem)["advice"], wanted);
    }
}
