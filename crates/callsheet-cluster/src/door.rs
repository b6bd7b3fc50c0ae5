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
use callsheet_core::events::Event;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::StoreFault;
use restate_sdk::endpoint::{Endpoint, HandleOptions, ProtocolMode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use subtle::ConstantTimeEq;

use crate::bucket::Blobs;
use crate::calls::{
    BLOBS, Bring, Brought, Claim, Done, GetText, Grant, Hello, INDEX, Job, RUN, ReadLog, Take, Unperformed,
};
use crate::client::segment;
use crate::collect::collect;
use crate::fault::ClusterFault;
use crate::host::{Host, Project};
use crate::limits::{Paused, Slot};
use crate::live::{Spoken, Streams};
use crate::placement::{Admission, Placement, Receipt};
use crate::records::NamedTexts;
use crate::rights::{needed, of_workers, stamped};
use crate::snapshots::Snapshots;

/// The longest body that is taken: a file, and who gives it.
const LONGEST: usize = 65 * 1024 * 1024;

/// Where a worker asks for work.
pub(crate) const TAKE: &str = "work/take";
/// Where it gives results.
pub(crate) const DONE: &str = "work/done";
/// Where it says that it goes.
pub(crate) const LEAVE: &str = "work/leave";

/// Where it reads the record of a run that it works for.
pub(crate) const LOG: &str = "work/log";
/// Where it reads a text of that run.
pub(crate) const TEXT: &str = "work/text";
/// Where it gives a text: its claim as a line of JSON, then the text.
pub(crate) const TEXTS: &str = "work/texts";

/// Where it reads which files the project has now.
pub(crate) const FILES: &str = "work/files";
/// Where it reads one of them.
pub(crate) const FILE: &str = "work/file";

/// Where it brings what a command wrote in its copy of the project.
pub(crate) const BRING: &str = "work/bring";

/// Where it asks for a text that is in the object store of the cluster.
pub(crate) const STORE: &str = "work/store";

/// Where a client asks which workers there are.
pub(crate) const WORKERS: &str = "workers";
/// Where a client allows something.
pub(crate) const GRANT: &str = "grants/add";
/// Where a client asks what is allowed.
pub(crate) const GRANTS: &str = "grants/list";
/// Where it takes a grant back.
pub(crate) const REVOKE: &str = "grants/revoke";
/// Where it removes texts that no run names.
pub(crate) const COLLECT: &str = "texts/collect";
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
    /// What workers show.
    pub worker_token: Arc<str>,
    /// What workers show that run commands elsewhere.
    pub commands_token: Arc<str>,
    /// Those with tokens of their own.
    pub clients: Arc<dyn Clients>,
    pub placement: Arc<Placement>,
    pub host: Arc<Host>,
    pub project: Arc<dyn Project>,
    pub streams: Arc<Streams>,
    pub blobs: Blobs,
    /// A text that only the object store has, if there is one.
    pub marked: Option<BlobId>,
    pub named: Arc<NamedTexts>,
    pub snapshots: Arc<Snapshots>,
    pub endpoint: Endpoint,
}

/// What the engine calls.
pub(crate) fn engine_router(door: Door) -> Router {
    let router = Router::new().fallback(engine).layer(middleware::from_fn_with_state(door.clone(), let_engine_in));
    router.with_state(door)
}

/// What workers and clients call.
pub(crate) fn router(door: Door) -> Router {
    let mut router = Router::new()
        .route(&format!("/{TAKE}"), post(take))
        .route(&format!("/{DONE}"), post(done))
        .route(&format!("/{LEAVE}"), post(leave))
        .route(&format!("/{LOG}"), post(log))
        .route(&format!("/{TEXT}"), post(text))
        .route(&format!("/{TEXTS}"), post(give_text))
        .route(&format!("/{FILES}"), post(files))
        .route(&format!("/{FILE}"), post(file))
        .route(&format!("/{BRING}"), post(bring))
        .route(&format!("/{STORE}"), post(store))
        .route(&format!("/{WORKERS}"), post(workers))
        .route(&format!("/{SPEAK}"), post(speak))
        .route(&format!("/{LOOK}"), post(look))
        .route(&format!("/{GRANT}"), post(grant))
        .route(&format!("/{GRANTS}"), post(grants))
        .route(&format!("/{REVOKE}"), post(revoke))
        .route(&format!("/{COLLECT}"), post(unnamed))
        .route(&format!("/{SLOT}"), post(slot))
        .route(&format!("/{GIVE}"), post(give))
        .route(&format!("/{PAUSE}"), post(pause));
    // Clients and workers use these parts of the engine.
    for service in [RUN, INDEX, BLOBS] {
        router = router.route(&format!("/{service}/{{*rest}}"), post(relay));
    }
    router
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(middleware::from_fn_with_state(door.clone(), let_in))
        .with_state(door)
}

/// The token that a request shows.
fn shown(request: &Request) -> &str {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    shown.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default()
}

fn is(shown: &str, token: &str) -> bool {
    bool::from(shown.as_bytes().ct_eq(token.as_bytes()))
}

fn unknown() -> Response {
    (StatusCode::UNAUTHORIZED, "the token is missing or wrong").into_response()
}

/// Refuses whoever has not the token of the cluster, with which the engine was told to call.
async fn let_engine_in(State(door): State<Door>, request: Request, next: Next) -> Response {
    if is(shown(&request), &door.token) { next.run(request).await } else { unknown() }
}

/// Refuses whoever has neither the token of the cluster nor one with the right to make this call. Notes a client with a
/// token of its own at the request.
async fn let_in(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let shown = shown(&request).to_owned();
    if is(&shown, &door.token) {
        return next.run(request).await;
    }
    let commands = is(&shown, &door.commands_token);
    if commands || is(&shown, &door.worker_token) {
        if of_workers(request.uri().path(), commands) {
            request.extensions_mut().insert(Elsewhere { commands });
            return next.run(request).await;
        }
        return (StatusCode::FORBIDDEN, "the token of workers lets nobody do this").into_response();
    }
    let known = tokio::task::spawn_blocking(move || door.clients.client(&shown)).await;
    let client = match known {
        Ok(Ok(Some(client))) => client,
        Ok(Ok(None)) => return unknown(),
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

/// Whoever came with a token of workers.
#[derive(Clone, Copy)]
struct Elsewhere {
    /// Whether it lets them run commands elsewhere.
    commands: bool,
}

async fn take(State(door): State<Door>, worker: Option<Extension<Elsewhere>>, body: Bytes) -> Response {
    // The question of another version may have another form.
    let hello = serde_json::from_slice::<Hello>(&body).unwrap_or_default();
    if let Some(words) = hello.versions.refusal() {
        return (StatusCode::UPGRADE_REQUIRED, words).into_response();
    }
    let mut asks: Take = match serde_json::from_slice(&body) {
        Ok(asks) => asks,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    asks.offer.commands &= worker.is_none_or(|Extension(worker)| worker.commands);
    match door.placement.take(&asks).await {
        Ok(taken) => json(&taken),
        Err(_replaced) => (StatusCode::LOCKED, "another worker has this name").into_response(),
    }
}

async fn done(State(door): State<Door>, Said(mut done): Said<Done>) -> Response {
    // What a worker put into another store than this one is nowhere for the run.
    if door.blobs.bucket.is_some() {
        let blobs = door.blobs.clone();
        done = match tokio::task::spawn_blocking(move || with_texts(&blobs, done)).await {
            Ok(done) => done,
            Err(error) => return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        };
    }
    match door.placement.done(done).await {
        Ok(Receipt::Taken) => json(&true),
        Ok(Receipt::Late) => json(&false),
        Ok(Receipt::Later) => (StatusCode::SERVICE_UNAVAILABLE, "this work is not known yet").into_response(),
        Err(fault) => failed(&fault),
    }
}

/// A result whose texts are here, or else a failure.
fn with_texts(blobs: &Blobs, mut done: Done) -> Done {
    let named = done.result.iter().flatten().flatten().flat_map(Event::blobs);
    let missing = named.cloned().find_map(|id| blobs.get(&id).err());
    if let Some(fault) = missing {
        done.result = Err(Unperformed { begun: true, why: format!("a text of the result: {fault}") });
    }
    done
}

/// Refuses a worker that has no work of a run.
async fn admit(door: &Door, claim: &Claim) -> Result<(), Response> {
    match door.placement.admits(claim).await {
        Ok(Admission::Yes) => Ok(()),
        Ok(Admission::Later) => Err((StatusCode::SERVICE_UNAVAILABLE, "this work is not known yet").into_response()),
        Ok(Admission::No) => {
            Err((StatusCode::FORBIDDEN, format!("this worker has no work of {}", claim.run)).into_response())
        }
        Err(fault) => Err(failed(&fault)),
    }
}

async fn log(State(door): State<Door>, Said(ReadLog { claim, from }): Said<ReadLog>) -> Response {
    if let Err(refused) = admit(&door, &claim).await {
        return refused;
    }
    let path = format!("{RUN}/{}/pages", segment(claim.run.as_str()));
    relayed(&door, &path, Some("application/json"), from.to_string().into_bytes()).await
}

async fn text(State(door): State<Door>, Said(GetText { claim, id }): Said<GetText>) -> Response {
    if let Err(refused) = admit(&door, &claim).await {
        return refused;
    }
    match door.named.has(&door.placement.client, &claim.run, &id).await {
        Ok(true) => {}
        Ok(false) => {
            return (StatusCode::FORBIDDEN, format!("{} names no text {id}", claim.run)).into_response();
        }
        Err(fault) => return failed(&fault),
    }
    let (blobs, wanted) = (door.blobs, id.clone());
    match tokio::task::spawn_blocking(move || blobs.get(&wanted)).await {
        Ok(Ok(bytes)) => bytes.into_response(),
        Ok(Err(StoreFault::NoBlob(_))) => (StatusCode::GONE, format!("there is no text {id}")).into_response(),
        Ok(Err(fault)) => (StatusCode::INTERNAL_SERVER_ERROR, fault.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn give_text(State(door): State<Door>, body: Bytes) -> Response {
    let end = body.iter().position(|byte| *byte == b'\n').unwrap_or(body.len());
    let claim: Claim = match serde_json::from_slice(&body[..end]) {
        Ok(claim) => claim,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    if let Err(refused) = admit(&door, &claim).await {
        return refused;
    }
    let (blobs, bytes) = (door.blobs, body.slice((end + 1).min(body.len())..).to_vec());
    let id = BlobId::of(&bytes);
    match tokio::task::spawn_blocking(move || blobs.put_all(&[bytes])).await {
        Ok(Ok(())) => json(&id),
        Ok(Err(fault)) => (StatusCode::INSUFFICIENT_STORAGE, fault.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn files(State(door): State<Door>, Said(claim): Said<Claim>) -> Response {
    if let Err(refused) = admit(&door, &claim).await {
        return refused;
    }
    let (project, snapshots) = (door.project, door.snapshots);
    match tokio::task::spawn_blocking(move || snapshots.take(project.files())).await {
        Ok(snapshot) => json(&snapshot),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn file(State(door): State<Door>, Said(GetText { claim, id }): Said<GetText>) -> Response {
    if let Err(refused) = admit(&door, &claim).await {
        return refused;
    }
    let snapshots = door.snapshots;
    match tokio::task::spawn_blocking(move || snapshots.read(&id)).await {
        Ok(Some(bytes)) => {
            // The next worker finds it there.
            if let Some(bucket) = door.blobs.bucket {
                let texts = [bytes.clone()];
                tokio::task::spawn_blocking(move || {
                    let put = bucket.put_all(&texts);
                    put.unwrap_or_else(
                        |fault| tracing::warn!(%fault, "a file of the project is not in the object store"),
                    );
                });
            }
            bytes.into_response()
        }
        Ok(None) => (StatusCode::GONE, "the file has changed").into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn bring(State(door): State<Door>, Said(Bring { key, lease, written }): Said<Bring>) -> Response {
    let leases = vec![(key.attempt, lease.number)];
    let claim = Claim { run: key.run.clone(), process: lease.process.clone(), leases };
    let job = match door.placement.admits(&claim).await {
        Ok(Admission::Yes) => door.placement.desk.job(&key, &lease).filter(Job::is_command),
        Ok(Admission::Later) => return (StatusCode::SERVICE_UNAVAILABLE, "this work is not known yet").into_response(),
        Ok(Admission::No) => None,
        Err(fault) => return failed(&fault),
    };
    let Some(job) = job else { return json(&Brought::Late) };
    let (host, runtime) = (door.host, tokio::runtime::Handle::current());
    let made = tokio::task::spawn_blocking(move || runtime.block_on(host.bring_back(&job, &written)));
    match made.await {
        Ok(Ok(brought)) => json(&brought),
        Ok(Err(fault)) => (StatusCode::BAD_GATEWAY, fault.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn store(State(door): State<Door>) -> Response {
    json(&door.marked)
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

async fn grants(State(door): State<Door>) -> Response {
    json(&door.project.grants())
}

async fn revoke(State(door): State<Door>, Said(number): Said<u32>) -> Response {
    json(&door.project.revoke(number))
}

async fn unnamed(State(door): State<Door>, Said(dry_run): Said<bool>) -> Response {
    match collect(&door.placement.client, door.blobs, dry_run).await {
        Ok(removed) => json(&removed),
        Err(fault) => failed(&fault),
    }
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
    relayed(&door, uri.path().trim_start_matches('/'), kind, body).await
}

async fn relayed(door: &Door, path: &str, kind: Option<&str>, body: Vec<u8>) -> Response {
    match door.placement.client.relay(path, kind, body).await {
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
