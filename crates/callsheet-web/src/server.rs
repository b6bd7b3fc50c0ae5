//! The server: which page each address shows.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use callsheet_core::nouns::{BlobId, RunId, Slug};
use callsheet_core::view::counted;
use callsheet_runtime::ports::{Clock, SystemClock};
use callsheet_runtime::shown::Shown;
use futures_util::future::try_join_all;
use maud::{Markup, html};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower_http::compression::CompressionLayer;

use crate::actions;
use crate::api::CONNECTIONS;
use crate::app::{App, Visit, blocking};
use crate::connections::Limited;
use crate::drawn::Drawn;
use crate::guard::{Guard, Passed, Refused, protect};
use crate::live::{Watched, changes};
use crate::page::layout::{self, Frame};
use crate::page::run::View;
use crate::page::runs::{self, Which};
use crate::page::{board, call};
use crate::record::locked;
use callsheet_app::{Refusal, RunControl, refuse_unmasked};

/// The largest size of a form in bytes. The form of a change contains the text of each hunk.
const FORM: usize = 32 * 1_024 * 1_024;

/// How many ports are tried until one is free at both addresses.
const TRIES: usize = 20;

type Asked = Query<BTreeMap<String, String>>;

/// The router for all addresses of the page.
pub fn router(runs: Arc<dyn RunControl>, guard: Guard) -> Router {
    let app = Arc::new(App::new(runs, guard));
    let pages = Router::new()
        .route("/", get(all_runs))
        .route("/live", get(live_runs))
        .route("/runs/{run}", get(run))
        .route("/runs/{run}/live", get(live_run))
        .route("/runs/{run}/tasks/{*task}", get(task))
        .route("/runs/{run}/calls/{number}", get(one_call))
        .route("/runs/{run}/text/{blob}", get(text))
        .route("/runs/{run}/entry/{number}", get(entry))
        .route("/runs/{run}/report", get(report))
        .route("/runs/{run}/gates/{gate}", post(actions::decide))
        .route("/runs/{run}/sheet/check", post(actions::check_sheet))
        .route("/runs/{run}/{what}", get(tab).post(actions::act))
        .route("/page.css", get(|| asset("text/css; charset=utf-8", include_str!("../assets/page.css"))))
        .route("/timeline.css", get(|| asset("text/css; charset=utf-8", callsheet_report::TIMELINE_STYLE)))
        .route("/page.js", get(|| asset("text/javascript; charset=utf-8", include_str!("../assets/page.js"))))
        .route("/icon.svg", get(|| asset("image/svg+xml", include_str!("../assets/icon.svg"))))
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(FORM))
        .with_state(Arc::clone(&app));
    // The guard wraps the routes, because it changes the address. Events are sent as they are, so none waits in a buffer.
    Router::new().fallback_service(pages).layer(from_fn_with_state(app, guarded)).layer(CompressionLayer::new())
}

/// The sockets on which the page listens.
pub struct Listeners {
    /// The port, which is the same for all of them.
    pub port: u16,
    each: Vec<TcpListener>,
}

/// Listens on this machine. Port 0 means any free port. A browser first connects to the IPv6 loopback address of the
/// page's host name. Another program that listened there would get the requests for this page, so this function
/// listens on both addresses.
///
/// # Errors
/// The port is in use.
pub async fn listen(port: u16) -> io::Result<Listeners> {
    for _ in 0..TRIES {
        let old = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let found = old.local_addr()?.port();
        match TcpListener::bind((Ipv6Addr::LOCALHOST, found)).await {
            Ok(new) => return Ok(Listeners { port: found, each: vec![old, new] }),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                return Ok(Listeners { port: found, each: vec![old] });
            }
            Err(error) if port != 0 => return Err(error),
            Err(_) => {}
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Serves until the future is dropped.
///
/// # Errors
/// A listener fails.
pub async fn serve(listeners: Listeners, router: Router) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let serving = listeners.each.into_iter().map(|listener| {
        let limited = Limited { listener, places: Arc::clone(&places) };
        axum::serve(limited, router.clone()).into_future()
    });
    try_join_all(serving).await.map(|_| ())
}

async fn guarded(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let passed = app.guard.check(request.method(), request.uri(), request.headers());
    // The page for a person without a token has the same style as the others.
    let is_open = matches!(request.uri().path(), "/page.css" | "/icon.svg");
    let mut response = match passed {
        Ok(Passed::Introduced { to }) => {
            let mut response = Redirect::to(&to).into_response();
            response.headers_mut().extend(app.guard.set_cookie().map(|cookie| (header::SET_COOKIE, cookie)));
            response
        }
        Ok(Passed::Folder { to }) => Redirect::to(&to).into_response(),
        Ok(Passed::Below { path }) => match path.parse::<Uri>() {
            Ok(path) => {
                *request.uri_mut() = path;
                next.run(request).await
            }
            Err(_) => StatusCode::BAD_REQUEST.into_response(),
        },
        Ok(Passed::Known) => next.run(request).await,
        Err(Refused::Token) if is_open => next.run(request).await,
        Err(Refused::Token) => {
            let page = stranger(&Visit::new(&app, request.uri()));
            (StatusCode::UNAUTHORIZED, Drawn::page(page)).into_response()
        }
        Err(Refused::Host) => {
            (StatusCode::FORBIDDEN, "This page answers only at the address that Callsheet printed.\n").into_response()
        }
        Err(Refused::Origin) => (StatusCode::FORBIDDEN, "This request came from another page.\n").into_response(),
    };
    protect(response.headers_mut());
    response
}

fn stranger(visit: &Visit) -> Markup {
    let frame = Frame { visit, title: "Not signed in", project: "", query: "", live: None };
    frame.page(&html! {
        section.empty {
            h1 { "Open the address that Callsheet printed" }
            p { "This page shows your project, so it asks for the token in that address. A browser keeps it until " code { "callsheet serve" } " ends." }
            p.soft { "If you have opened it already: start from the terminal once more, not from a link on another page." }
        }
    })
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}

/// The page that says why a request was refused.
pub(crate) fn refused(visit: &Visit, refusal: &Refusal) -> Response {
    (StatusCode::NOT_FOUND, Drawn::page(layout::refused(visit, refusal))).into_response()
}

async fn nothing(visit: Visit) -> Response {
    refused(&visit, &Refusal::usage("there is no such page".to_owned(), ""))
}

/// Builds a page without blocking other requests.
async fn shown(visit: &Visit, make: impl FnOnce(&Visit) -> Result<Markup, Refusal> + Send + 'static) -> Response {
    match blocking(visit, move |app| make(app).map(Drawn::page)).await {
        Ok(page) => page.into_response(),
        Err(refusal) => refused(visit, &refusal),
    }
}

fn which(asked: &BTreeMap<String, String>) -> Which {
    let text = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    Which { query: text("q").trim().chars().take(200).collect(), skip: text("skip").parse().unwrap_or(0) }
}

async fn all_runs(visit: Visit, Query(asked): Asked) -> Response {
    let which = which(&asked);
    shown(&visit, move |app| runs::page(app, &which, SystemClock.now_ms())).await
}

async fn live_runs(visit: Visit, Query(asked): Asked) -> Response {
    changes(visit, Watched::Runs(which(&asked)), None).into_response()
}

async fn run(visit: Visit, Path(run): Path<String>) -> Response {
    run_page(&visit, run, View::Board(None)).await
}

async fn run_page(visit: &Visit, run: String, view: View) -> Response {
    let id = RunId::new(run);
    shown(visit, move |app| app.with_run(&id, |page| page.page(&view, app.said(&id).as_ref()))).await
}

async fn tab(visit: Visit, Path((run, what)): Path<(String, String)>, Query(asked): Asked) -> Response {
    match view(&what, &asked) {
        Some(view) => run_page(&visit, run, view).await,
        None => nothing(visit).await,
    }
}

fn view(what: &str, asked: &BTreeMap<String, String>) -> Option<View> {
    let number = |name: &str| asked.get(name).and_then(|number| number.parse::<u64>().ok());
    Some(match what {
        "" => View::Board(asked.get("task").map(Slug::new)),
        "tasks" => View::Tasks(number("from").unwrap_or(0)),
        "timeline" => View::Timeline(number("from").zip(number("to")).filter(|(from, to)| from < to)),
        "changes" => View::Changes,
        "sheet" => View::Sheet,
        "log" => View::Log(number("before")),
        _ => return None,
    })
}

/// A task beside the board. A script that already has the board gets only the task.
async fn task(visit: Visit, Path((run, task)): Path<(String, String)>, Query(asked): Asked) -> Response {
    let slug = Slug::new(task);
    if !asked.contains_key("part") {
        return run_page(&visit, run, View::Board(Some(slug))).await;
    }
    let id = RunId::new(run);
    shown(&visit, move |app| {
        app.with_run(&id, |page| {
            let pieces = page.pieces(&View::Board(Some(slug.clone())))?;
            Ok(board::opened(page, Some(&slug), &pieces))
        })
    })
    .await
}

async fn one_call(visit: Visit, Path((run, number)): Path<(String, u32)>, Query(asked): Asked) -> Response {
    let id = RunId::new(run);
    let is_part = asked.contains_key("part");
    shown(&visit, move |app| {
        app.with_run(&id, |page| {
            let found = page.run.calls().iter().find(|call| call.number == number);
            let found = found.ok_or_else(|| {
                Refusal::internal(
                    format!("this run has no call {number}"),
                    format!("it has {}", counted(page.run.calls().len(), "call")),
                )
            })?;
            if is_part { call::part(page, found) } else { call::page(page, found) }
        })
    })
    .await
}

/// A recorded text as plain text.
async fn text(visit: Visit, Path((run, blob)): Path<(String, String)>) -> Response {
    let (id, blob) = (RunId::new(run), BlobId::new(blob));
    let read = blocking(&visit, move |app| {
        app.record.summary(&id)?;
        let bytes = app.runs.blob(&blob)?;
        Ok(Shown::text(&String::from_utf8_lossy(&bytes)))
    });
    plain(&visit, read.await)
}

async fn entry(visit: Visit, Path((run, number)): Path<(String, u64)>) -> Response {
    let id = RunId::new(run);
    let read = blocking(&visit, move |app| {
        app.with_run(&id, |page| {
            let found = page.entries.iter().find(|entry| entry.n == number);
            let found = found.ok_or_else(|| Refusal::usage(format!("there is no entry {number}"), ""))?;
            Ok(Shown::json(&serde_json::to_string_pretty(found).unwrap_or_default()))
        })
    });
    plain(&visit, read.await)
}

/// A report to save. It has its own styles, which this server never shows.
async fn report(visit: Visit, Path(run): Path<String>) -> Response {
    let id = RunId::new(run);
    let made = blocking(&visit, move |app| {
        let summary = app.record.summary(&id)?;
        let folded = app.record.folded(&id)?;
        let folded = &locked(&folded).folded;
        refuse_unmasked(&*app.runs, &folded.run, &[])?;
        let report = callsheet_report::report(&*app.runs, &summary, folded);
        Ok((format!("attachment; filename=\"{}.html\"", summary.run), report))
    });
    match made.await {
        Ok((name, text)) => ([(header::CONTENT_DISPOSITION, name)], Drawn::whole(text)).into_response(),
        Err(refusal) => refused(&visit, &refusal),
    }
}

fn plain(visit: &Visit, read: Result<Shown, Refusal>) -> Response {
    match read {
        Ok(text) => Drawn::text(text).into_response(),
        Err(refusal) => refused(visit, &refusal),
    }
}

async fn live_run(visit: Visit, Path(run): Path<String>, Query(asked): Asked, headers: HeaderMap) -> Response {
    let name = asked.get("view").map(String::as_str).unwrap_or_default();
    let Some(view) = view(name, &asked) else { return nothing(visit).await };
    // A browser that lost the connection also has the changes that were sent over it.
    let again = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let seen = again.or(asked.get("n").map(String::as_str)).and_then(|number| number.parse().ok());
    changes(visit, Watched::Run(RunId::new(run), view), seen).into_response()
}
