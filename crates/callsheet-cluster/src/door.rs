//! The ports of a cluster: one for workers and clients, and one for the engine. Whoever comes shows the token.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use callsheet_app::{Client, Clients};
use callsheet_core::nouns::RunId;
use restate_sdk::endpoint::{Endpoint, HandleOptions, ProtocolMode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use subtle::ConstantTimeEq;

use crate::calls::{BLOBS, Done, Grant, INDEX, RUN, Take};
use crate::fault::ClusterFault;
use crate::host::Project;
use crate::limits::{Paused, Slot};
use crate::live::{Spoken, Streams};
use crate::placement::{Placement, Receipt};
use crate::rights::{needed, stamped};

/// The longest body that is taken.
const LONGEST: usize = 64 * 1024 * 1024;

/// Where a worker asks for work.
pub(crate) const TAKE: &str = "work/take";
/// Where it gives results.
pub(crate) const DONE: &str = "work/done";
/// Where it says that it goes.
pub(crate) const LEAVE: &str = "work/leave";

/// Where a client asks which workers there are.
pub(crate) const WORKERS: &str = "workers";
/// Where a client allows something.
pub(crate) const GRANT: &str = "grants/add";
/// Where a worker asks for a slot of a provider.
pub(crate) const SLOT: &str = "slots/ask";
/// Where it gives one back.
pub(crate) const GIVE: &str = "slots/give";
/// Where it says that a provider asked to wait.
pub(crate) const PAUSE: &str = "slots/pause";

/// Where a worker tells what its calls stream.
pub(crate) const SPEAK: &str = "live/speak";
/// Where a client looks at it.
pub(crate) const LOOK: &str = "live/look";

/// What is behind the door.
#[derive(Clone)]
pub(crate) struct Door {
    pub token: Arc<str>,
    /// Those with tokens of their own.
    pub clients: Arc<dyn Clients>,
    pub placement: Arc<Placement>,
    pub project: Arc<dyn Project>,
    pub streams: Arc<Streams>,
    pub endpoint: Endpoint,
}

/// What the engine calls.
pub(crate) fn engine_router(door: Door) -> Router {
    behind(door, Router::new().fallback(engine))
}

/// What workers and clients call.
pub(crate) fn router(door: Door) -> Router {
    let mut router = Router::new()
        .route(&format!("/{TAKE}"), post(take))
        .route(&format!("/{DONE}"), post(done))
        .route(&format!("/{LEAVE}"), post(leave))
        .route(&format!("/{WORKERS}"), post(workers))
        .route(&format!("/{SPEAK}"), post(speak))
        .route(&format!("/{LOOK}"), post(look))
        .route(&format!("/{GRANT}"), post(grant))
        .route(&format!("/{SLOT}"), post(slot))
        .route(&format!("/{GIVE}"), post(give))
        .route(&format!("/{PAUSE}"), post(pause));
    // Clients and workers use these parts of the engine.
    for service in [RUN, INDEX, BLOBS] {
        router = router.route(&format!("/{service}/{{*rest}}"), post(relay));
    }
    behind(door, router)
}

fn behind(door: Door, router: Router<Door>) -> Router {
    router
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(middleware::from_fn_with_state(door.clone(), let_in))
        .with_state(door)
}

/// Refuses whoever has neither the token of the cluster nor one with the right to make this call. Notes a client with a
/// token of its own at the request.
async fn let_in(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default().to_owned();
    if bool::from(shown.as_bytes().ct_eq(door.token.as_bytes())) {
        return next.run(request).await;
    }
    let known = tokio::task::spawn_blocking(move || door.clients.client(&shown)).await;
    let client = match known {
        Ok(Ok(Some(client))) => client,
        Ok(Ok(None)) => return (StatusCode::UNAUTHORIZED, "the token is missing or wrong").into_response(),
        Ok(Err(refusal)) => return (StatusCode::INTERNAL_SERVER_ERROR, refusal.to_string()).into_response(),
        Err(error) => return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    };
    let lacks = match needed(request.uri().path()) {
        Some(right) => client.lacks(right),
        None => Some(format!("the token {} is not that of a part of the cluster", client.name)),
    };
    if let Some(words) = lacks {
        return (StatusCode::FORBIDDEN, words).into_response();
    }
    request.extensions_mut().insert(client);
    next.run(request).await
}

async fn take(State(door): State<Door>, Said(asks): Said<Take>) -> Response {
    if let Some(words) = asks.versions.refusal() {
        return (StatusCode::UPGRADE_REQUIRED, words).into_response();
    }
    match door.placement.take(&asks).await {
        Ok(taken) => json(&taken),
        Err(_replaced) => (StatusCode::LOCKED, "another worker has this name").into_response(),
    }
}

async fn done(State(door): State<Door>, Said(done): Said<Done>) -> Response {
    match door.placement.done(done).await {
        Ok(Receipt::Taken) => json(&true),
        Ok(Receipt::Late) => json(&false),
        Ok(Receipt::Later) => (StatusCode::SERVICE_UNAVAILABLE, "this work is not known yet").into_response(),
        Err(fault) => failed(&fault),
    }
}

async fn leave(State(door): State<Door>, Said(process): Said<String>) -> Response {
    door.placement.desk.leave(&process);
    json(&true)
}

async fn workers(State(door): State<Door>) -> Response {
    json(&door.placement.desk.workers())
}

async fn speak(State(door): State<Door>, Said(spoken): Said<Spoken>) -> Response {
    json(&door.streams.hear(spoken))
}

async fn look(State(door): State<Door>, Said(run): Said<RunId>) -> Response {
    json(&door.streams.look(&run))
}

async fn grant(State(door): State<Door>, Said(Grant { what, only }): Said<Grant>) -> Response {
    json(&door.project.grant(what, only))
}

async fn slot(State(door): State<Door>, Said(slot): Said<Slot>) -> Response {
    json(&door.placement.limits.ask(&slot).await)
}

async fn give(State(door): State<Door>, Said(slot): Said<Slot>) -> Response {
    door.placement.limits.give(&slot);
    json(&true)
}

async fn pause(State(door): State<Door>, Said(paused): Said<Paused>) -> Response {
    door.placement.limits.pause(&paused);
    json(&true)
}

/// Passes a call on to the engine.
async fn relay(
    State(door): State<Door>,
    client: Option<Extension<Client>>,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = match client {
        Some(Extension(client)) if uri.path().ends_with("/land") => match in_name_of(&client, &body) {
            Ok(body) => body,
            Err((status, words)) => return (status, words).into_response(),
        },
        _ => body.to_vec(),
    };
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    match door.placement.client.relay(uri.path().trim_start_matches('/'), kind, body).await {
        Ok((status, body)) => (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY), body).into_response(),
        Err(fault) => failed(&fault),
    }
}

/// What a client gives to a run, in its name.
fn in_name_of(client: &Client, body: &[u8]) -> Result<Vec<u8>, (StatusCode, String)> {
    let wrong = |error: serde_json::Error| (StatusCode::BAD_REQUEST, error.to_string());
    let landing = serde_json::from_slice(body).map_err(wrong)?;
    let landing = stamped(client, landing).map_err(|words| (StatusCode::FORBIDDEN, words))?;
    serde_json::to_vec(&landing).map_err(wrong)
}

/// A call of the engine.
async fn engine(State(door): State<Door>, request: Request) -> Response {
    let options = HandleOptions { protocol_mode: ProtocolMode::BidiStream };
    door.endpoint.handle_with_options(request, options).map(Body::new)
}

/// A body as JSON.
struct Said<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Said<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let body = Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        let read = serde_json::from_slice(&body);
        read.map(Self).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()).into_response())
    }
}

fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn failed(fault: &ClusterFault) -> Response {
    (StatusCode::BAD_GATEWAY, fault.to_string()).into_response()
}
