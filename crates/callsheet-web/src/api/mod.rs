//! The HTTP interface for programs, under `/api/v1` (spec 11.22). It reads requests, passes them to
//! [`callsheet_app::RunControl`], and returns the results as JSON. It makes no decisions of its own.

mod access;
mod answer;
mod events;
mod limits;
mod once;
mod orders;
mod problem;
mod reading;
mod runs;
mod waiting;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use callsheet_app::{Clients, Refusal, RunControl, RunStarter};
use callsheet_runtime::shown::Shown;
use serde_json::Value;
use tokio::sync::Semaphore;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::drawn::Drawn;
use crate::guard::protect;
use crate::record::Record;

pub(crate) use limits::CONNECTIONS;
pub use limits::RUNS;

use once::Once;
use problem::{Code, Problem};

/// The path of the interface.
pub const PREFIX: &str = "/api/v1";

/// The JSON Schema of an event line.
const EVENT_SCHEMA: &str = include_str!("../../../../docs/schema/event.schema.json");

/// What all requests share.
pub(crate) struct Api {
    runs: Arc<dyn RunControl>,
    starter: Arc<dyn RunStarter>,
    clients: Arc<dyn Clients>,
    record: Record,
    once: Once,
    streams: Arc<Semaphore>,
}

type Shared = State<Arc<Api>>;

/// The OpenAPI document without the operations.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Callsheet",
        version = "1",
        description = "Runs of one project: start, watch, approve. docs/guide/http-api.md explains it with examples.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((url = "/api/v1")),
    modifiers(&WithTokens)
)]
struct Document;

/// Adds the bearer token to the document.
struct WithTokens;

impl Modify for WithTokens {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().security_schemes.insert("token".to_owned(), scheme.into());
    }
}

fn operations() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(runs::list, runs::start))
        .routes(routes!(runs::templates))
        .routes(routes!(runs::status))
        .routes(routes!(runs::result))
        .routes(routes!(runs::blob))
        .routes(routes!(events::events))
        .routes(routes!(waiting::waiting))
        .routes(routes!(orders::approve))
        .routes(routes!(orders::deny))
        .routes(routes!(orders::answer))
        .routes(routes!(orders::retry))
        .routes(routes!(orders::cancel))
        .routes(routes!(orders::resume))
}

/// The OpenAPI document.
pub fn openapi() -> Value {
    serde_json::to_value(operations().into_openapi()).unwrap_or_default()
}

/// The router for programs.
pub fn api(runs: Arc<dyn RunControl>, starter: Arc<dyn RunStarter>, clients: Arc<dyn Clients>) -> Router {
    let record = Record::new(Arc::clone(&runs));
    let streams = Arc::new(Semaphore::new(limits::STREAMS));
    let api = Arc::new(Api { runs, starter, clients, record, once: Once::default(), streams });
    let (router, document) = operations().split_for_parts();
    let document = serde_json::to_string(&document).unwrap_or_default();
    let router = router
        .route("/openapi.json", get(move || async move { Drawn::json(Shown::json(&document)) }))
        .route("/event.schema.json", get(|| async { Drawn::json(Shown::json(EVENT_SCHEMA)) }))
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(limits::BODY))
        .layer(from_fn_with_state(Arc::clone(&api), guarded))
        .with_state(api);
    Router::new().nest(PREFIX, router)
}

/// Refuses requests from web pages and requests with a foreign host name, before any handler runs.
async fn guarded(State(_): Shared, request: Request, next: Next) -> Response {
    let mut response = match access::from_a_program(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    protect(response.headers_mut());
    response
}

async fn nothing() -> Problem {
    Problem::new(Code::NotFound, "there is no such address", "openapi.json lists all addresses")
}

async fn wrong_method() -> Problem {
    Problem::new(Code::WrongMethod, "this address does not accept this method", "openapi.json lists all addresses")
}

/// Runs blocking work on another thread, so that other requests continue.
async fn blocking<T: Send + 'static>(
    api: &Arc<Api>,
    work: impl FnOnce(&Api) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let api = Arc::clone(api);
    let done = tokio::task::spawn_blocking(move || work(&api)).await;
    done.unwrap_or_else(|_| Err(Refusal::internal("this request failed", "please report it").into()))
}
