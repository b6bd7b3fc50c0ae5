//! Calls to a cluster and to its engine, over HTTP.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use axum::body::Bytes;
use callsheet_core::events::{LogEntry, VERSION};
use callsheet_core::nouns::RunId;
use reqwest::{Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::calls::{Answer, Head, Landing, NewerPages, Pages, RUN};
use crate::fault::ClusterFault;
use crate::tls::{Trust, pinned, untrusted};

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a node may take to say that it is there.
const ANSWERS: Duration = Duration::from_secs(5);
/// How long a call may take. A call waits for a run's earlier calls.
const CALL: Duration = Duration::from_secs(60);

/// How a cluster is reached.
#[derive(Clone)]
pub struct Access {
    /// Its address, such as `https://127.0.0.1:8080`.
    pub address: String,
    /// What is shown there.
    pub token: Option<String>,
    /// Who may answer there.
    pub trust: Trust,
}

/// Calls to a cluster at one address, or to its engine.
#[derive(Clone)]
pub(crate) struct Client {
    /// One way for each node that answers, and the one that is taken.
    ways: Arc<[reqwest::Client]>,
    way: Arc<AtomicUsize>,
    address: String,
    token: Option<String>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Client {
    /// A client for a cluster.
    pub fn new(access: &Access) -> Result<Self, ClusterFault> {
        let Access { address, token, trust } = access;
        if !reqwest::Url::parse(address).is_ok_and(|url| url.scheme() == "https" && url.has_host()) {
            let why = format!("\"{address}\" is not the address of a cluster, such as https://127.0.0.1:8080");
            return Err(ClusterFault::Refused(why));
        }
        let builder = reqwest::Client::builder();
        let builder = match trust {
            Trust::Pinned(fingerprint) => {
                builder.tls_backend_preconfigured(pinned(fingerprint).map_err(|error| machine(&error))?)
            }
            Trust::Authorities => builder,
        };
        Ok(Self::over([built(builder)?].into(), address.trim_end_matches('/'), token.clone()))
    }

    /// A client for the part of an engine that listens on these sockets of this machine, one for each node.
    pub fn at_sockets(sockets: impl IntoIterator<Item = PathBuf>) -> Result<Self, ClusterFault> {
        let way = |socket: PathBuf| built(reqwest::Client::builder().unix_socket(socket));
        let ways: Result<Arc<[_]>, _> = sockets.into_iter().map(way).collect();
        Ok(Self::over(ways?, "http://engine", None))
    }

    fn over(ways: Arc<[reqwest::Client]>, address: &str, token: Option<String>) -> Self {
        Self { ways, way: Arc::default(), address: address.to_owned(), token }
    }

    /// The address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Calls a handler with JSON and returns its answer as bytes.
    pub async fn call_bytes(&self, path: &str, body: Vec<u8>, kind: &str) -> Result<Vec<u8>, ClusterFault> {
        self.sent(path, Some(kind), body).await
    }

    /// Posts for somebody else, and returns the status and the body of the answer.
    pub async fn relay(&self, path: &str, kind: Option<&str>, body: Vec<u8>) -> Result<(u16, Vec<u8>), ClusterFault> {
        let answer = self.post(path, kind, body).await?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.map_err(|error| self.unreachable(&error))?;
        Ok((status, body.to_vec()))
    }

    /// Posts. An empty body is left out, because the engine refuses one where a handler takes nothing. If a node is away, the
    /// next one is called.
    async fn post(&self, path: &str, kind: Option<&str>, body: Vec<u8>) -> Result<Response, ClusterFault> {
        let body = Bytes::from(body);
        let mut tried = 0;
        loop {
            let at = self.way.load(Ordering::Relaxed);
            let Some(http) = self.ways.get(at % self.ways.len().max(1)) else {
                let why = "it has no nodes".to_owned();
                return Err(ClusterFault::Unreachable { address: self.address.clone(), why });
            };
            let request = http.post(format!("{}/{path}", self.address));
            let request = self.token.iter().fold(request, |request, token| request.bearer_auth(token));
            let request = kind.into_iter().fold(request, |request, kind| request.header("content-type", kind));
            let request = if body.is_empty() { request } else { request.body(body.clone()) };
            tried += 1;
            match request.send().await {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    self.leave(at);
                    // What may have arrived is not sent twice.
                    if !error.is_connect() || tried >= self.ways.len() {
                        return Err(self.unreachable(&error));
                    }
                }
            }
        }
    }

    /// Takes another way from now on, unless somebody has done so already.
    fn leave(&self, at: usize) {
        let _other = self.way.compare_exchange(at, at.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed);
    }

    async fn sent(&self, path: &str, kind: Option<&str>, body: Vec<u8>) -> Result<Vec<u8>, ClusterFault> {
        let at = self.way.load(Ordering::Relaxed);
        let answer = self.post(path, kind, body).await?;
        if !answer.status().is_success() {
            let refusal = self.refusal(answer).await;
            if matches!(refusal, ClusterFault::Unreachable { .. }) {
                self.leave(at);
            }
            return Err(refusal);
        }
        answer.bytes().await.map(|bytes| bytes.to_vec()).map_err(|error| self.unreachable(&error))
    }

    /// Calls a handler that takes and returns JSON.
    pub async fn call<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClusterFault> {
        let body = serde_json::to_vec(body).map_err(|error| ClusterFault::Refused(error.to_string()))?;
        read(path, &self.call_bytes(path, body, "application/json").await?)
    }

    /// Calls a handler that takes nothing and returns JSON. The engine refuses a body.
    pub async fn ask<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClusterFault> {
        read(path, &self.sent(path, None, Vec::new()).await?)
    }

    /// Whether the first node gives a page.
    pub async fn answers(&self, path: &str) -> bool {
        let Some(http) = self.ways.first() else { return false };
        let page = http.get(format!("{}/{path}", self.address)).timeout(ANSWERS).send().await;
        page.is_ok_and(|page| page.status().is_success())
    }

    /// Gives something to a run. Returns when the run has recorded it.
    pub async fn land(&self, run: &RunId, landing: &Landing) -> Result<Answer, ClusterFault> {
        self.call(&format!("{RUN}/{}/land", segment(run.as_str())), landing).await.map_err(|fault| named(fault, run))
    }

    /// The state of a run.
    pub async fn head(&self, run: &RunId) -> Result<Head, ClusterFault> {
        self.ask(&format!("{RUN}/{}/head", segment(run.as_str()))).await.map_err(|fault| named(fault, run))
    }

    /// The entries of a run from a page on, and its state after them.
    pub async fn log(&self, run: &RunId, from: u64) -> Result<(Head, Vec<LogEntry>), ClusterFault> {
        let path = format!("{RUN}/{}/pages", segment(run.as_str()));
        self.pages(&path, run, from, |from| serde_json::to_vec(&from)).await
    }

    /// The same from another place, which is asked for each part with this body.
    pub async fn pages(
        &self,
        path: &str,
        run: &RunId,
        from: u64,
        body: impl Fn(u64) -> serde_json::Result<Vec<u8>>,
    ) -> Result<(Head, Vec<LogEntry>), ClusterFault> {
        let (mut entries, mut next) = (Vec::new(), from);
        loop {
            let body = body(next).map_err(|error| ClusterFault::Refused(error.to_string()))?;
            let answer = self.call_bytes(path, body, "application/json").await.map_err(|fault| named(fault, run))?;
            let pages = read_pages(path, &answer)?;
            entries.extend(pages.entries);
            match pages.next {
                Some(page) => next = page,
                None => return Ok((pages.head, entries)),
            }
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ClusterFault {
        if let Some(why) = untrusted(error) {
            return ClusterFault::Untrusted { address: self.address.clone(), why };
        }
        let mut why = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            why = inner.to_string();
            source = inner.source();
        }
        ClusterFault::Unreachable { address: self.address.clone(), why }
    }

    async fn refusal(&self, answer: Response) -> ClusterFault {
        let status = answer.status();
        let text = answer.text().await.unwrap_or_default();
        let message = serde_json::from_str::<serde_json::Value>(&text)
            .ok()
            .and_then(|value| value.get("message")?.as_str().map(str::to_owned));
        let message = message.unwrap_or(text);
        let run = || RunId::new(String::new());
        match status {
            StatusCode::GONE => ClusterFault::NoRun(run()),
            StatusCode::CONFLICT => ClusterFault::RunExists(run()),
            StatusCode::LOCKED => ClusterFault::Replaced,
            StatusCode::UPGRADE_REQUIRED => ClusterFault::OtherVersion(message),
            StatusCode::FORBIDDEN => ClusterFault::NoRight(message),
            StatusCode::UNAUTHORIZED => ClusterFault::NoEntry(self.address.clone()),
            StatusCode::NOT_FOUND | StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => {
                ClusterFault::Unreachable { address: self.address.clone(), why: format!("it is not ready ({message})") }
            }
            _ => ClusterFault::Refused(format!("the cluster at {} refused ({status}): {message}", self.address)),
        }
    }
}

fn built(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, ClusterFault> {
    // Another part of the program may have chosen it already.
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    builder
        .connect_timeout(CONNECT)
        .timeout(CALL)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|error| machine(&error))
}

fn machine(error: &impl ToString) -> ClusterFault {
    ClusterFault::Machine { what: "HTTP".to_owned(), why: error.to_string() }
}

fn read<T: DeserializeOwned>(path: &str, answer: &[u8]) -> Result<T, ClusterFault> {
    // A handler without a result answers with nothing.
    let answer = if answer.is_empty() { b"null" } else { answer };
    serde_json::from_slice(answer)
        .map_err(|error| ClusterFault::Refused(format!("{path} answered something else: {error}")))
}

/// A part of a log. Entries of a newer version are told apart from damaged ones.
fn read_pages(path: &str, answer: &[u8]) -> Result<Pages, ClusterFault> {
    let pages = read::<Pages>(path, answer);
    if pages.as_ref().is_ok_and(|pages| pages.entries.iter().all(|entry| entry.v <= VERSION)) {
        return pages;
    }
    match read::<NewerPages>(path, answer).map(|newer| newer.version()) {
        Ok(found) if found > VERSION => Err(ClusterFault::TooNew { found, known: VERSION }),
        _ => pages,
    }
}

/// The fault with the name of the run, which only the caller knows.
fn named(fault: ClusterFault, run: &RunId) -> ClusterFault {
    match fault {
        ClusterFault::NoRun(_) => ClusterFault::NoRun(run.clone()),
        ClusterFault::RunExists(_) => ClusterFault::RunExists(run.clone()),
        fault => fault,
    }
}

/// A name as a segment of a path.
pub(crate) fn segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(one).collect()
}

type Work = Box<dyn FnOnce(&tokio::runtime::Runtime) + Send>;

/// Makes calls for code that cannot wait asynchronously, on a thread of its own.
#[derive(Clone, Debug)]
pub(crate) struct Blocking {
    client: Client,
    work: UnboundedSender<Work>,
}

impl Blocking {
    /// Starts the thread.
    pub fn new(client: Client) -> Result<Self, ClusterFault> {
        let failed = |error: std::io::Error| ClusterFault::Machine { what: "a thread".into(), why: error.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (work, mut queue) = unbounded_channel::<Work>();
        let serve = move || {
            while let Some(work) = queue.blocking_recv() {
                work(&runtime);
            }
        };
        std::thread::Builder::new().name("cluster".to_owned()).spawn(serve).map_err(failed)?;
        Ok(Self { client, work })
    }

    /// The address of the engine.
    pub fn address(&self) -> &str {
        self.client.address()
    }

    /// Waits for a call.
    pub fn wait<T, F>(&self, call: impl FnOnce(Client) -> F + Send + 'static) -> Result<T, ClusterFault>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClusterFault>>,
    {
        let (answer, answered) = sync_channel(1);
        let client = self.client.clone();
        let work: Work = Box::new(move |runtime| {
            // Nobody waits any more if the caller is gone.
            let _gone = answer.send(runtime.block_on(call(client)));
        });
        let ended = || ClusterFault::Refused("the thread for calls to the cluster ended; this is a bug".to_owned());
        self.work.send(work).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_one_segment_of_a_path() {
        assert_eq!(segment("20261130-a.b"), "20261130-a.b");
        assert_eq!(segment("../a b/ü?"), "..%2Fa%20b%2F%C3%BC%3F");
    }

    fn client(address: &str) -> Result<Client, ClusterFault> {
        Client::new(&Access { address: address.to_owned(), token: None, trust: Trust::Authorities })
    }

    #[test]
    fn what_is_no_address_is_refused_before_anything_is_sent() {
        for words in ["runs", "", "127.0.0.1:8080", "file:///tmp", "http://127.0.0.1:8080"] {
            assert!(matches!(client(words), Err(ClusterFault::Refused(_))), "{words}");
        }
        assert_eq!(client("https://127.0.0.1:8080/").unwrap().address(), "https://127.0.0.1:8080");
    }

    /// covers: 15.19
    #[test]
    fn a_log_of_a_newer_version_is_told_apart_from_a_damaged_one() {
        let pages = |entry: serde_json::Value| {
            let head = Head { position: 1, pages: 1, ..Head::default() };
            serde_json::to_vec(&serde_json::json!({ "head": head, "entries": [entry], "next": null })).unwrap()
        };
        let newer = pages(serde_json::json!({ "v": VERSION + 1, "n": 1, "at": 1, "event": "garden_watered" }));
        let fault = read_pages("pages", &newer).unwrap_err();
        assert!(matches!(fault, ClusterFault::TooNew { found, known } if found == VERSION + 1 && known == VERSION));
        let known =
            serde_json::json!({ "v": VERSION + 1, "n": 1, "at": 1, "event": "run_waiting", "outcome": "complete" });
        assert!(matches!(read_pages("pages", &pages(known)), Err(ClusterFault::TooNew { .. })));
        let damaged = pages(serde_json::json!({ "v": VERSION, "n": 1, "at": 1, "event": "garden_watered" }));
        assert!(matches!(read_pages("pages", &damaged), Err(ClusterFault::Refused(_))));
    }

    #[test]
    fn a_cluster_that_is_not_there_is_named() {
        let calls = Blocking::new(client("https://127.0.0.1:1").unwrap()).unwrap();
        let fault = calls.wait(|client| async move { client.head(&RunId::new("x")).await }).unwrap_err();
        assert!(
            matches!(&fault, ClusterFault::Unreachable { address, .. } if address == "https://127.0.0.1:1"),
            "{fault}"
        );
    }
}
