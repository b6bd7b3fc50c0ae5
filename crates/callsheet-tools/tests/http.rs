//! Tests the HTTP adapter against a small server on loopback, which is reached by listing it.
//!
//! covers: 5.7
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use callsheet_runtime::ports::{Fetch, FetchFault, Page};
use callsheet_tools::{HttpFetch, HttpSettings, Lookup};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Answers each path with fixed bytes. `None` never answers.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(pages: Vec<(&'static str, Option<Vec<u8>>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let pages: Arc<BTreeMap<_, _>> = Arc::new(pages.into_iter().collect());
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (pages, seen) = (Arc::clone(&pages), Arc::clone(&seen));
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let mut line = String::new();
                    stream.read_line(&mut line).await.unwrap();
                    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                    seen.lock().unwrap().push(line.trim().to_owned());
                    while line.trim() != "" {
                        line.clear();
                        stream.read_line(&mut line).await.unwrap();
                    }
                    match pages.get(path.as_str()) {
                        Some(Some(bytes)) => drop(stream.write_all(bytes).await),
                        Some(None) => std::future::pending().await,
                        None => drop(stream.write_all(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n").await),
                    }
                });
            }
        });
        Self { address, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn response(head: &str, body: &[u8]) -> Option<Vec<u8>> {
    let head = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    Some([head.as_bytes(), body].concat())
}

fn redirect(to: &str) -> Option<Vec<u8>> {
    response(&format!("302 Found\r\nlocation: {to}"), b"")
}

/// Returns the addresses of each host in turn, one answer per lookup.
#[derive(Default)]
struct Names(Mutex<BTreeMap<String, Vec<Vec<SocketAddr>>>>);

impl Names {
    fn of(names: &[(&str, &[&[SocketAddr]])]) -> Arc<Self> {
        let answers = |list: &[&[SocketAddr]]| list.iter().map(|addresses| addresses.to_vec()).collect();
        Arc::new(Self(Mutex::new(names.iter().map(|(name, list)| ((*name).to_owned(), answers(list))).collect())))
    }

    fn left(&self, host: &str) -> usize {
        self.0.lock().unwrap().get(host).map_or(0, Vec::len)
    }
}

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        let mut names = self.0.lock().unwrap();
        let answers = names.get_mut(host).filter(|answers| !answers.is_empty());
        answers.map(|answers| answers.remove(0)).ok_or_else(|| io::Error::other("no such name"))
    }
}

fn fetcher(listed: &[&str], names: Arc<Names>) -> HttpFetch {
    let allow_hosts = listed.iter().map(|host| (*host).to_owned()).collect();
    HttpFetch::with_lookup(HttpSettings { allow_hosts }, names)
}

async fn get(fetch: &HttpFetch, url: &str) -> Result<Page, FetchFault> {
    fetch.fetch(url, &CancellationToken::new()).await
}

#[tokio::test]
async fn a_page_is_fetched_from_the_address_that_was_checked() {
    let server = Server::start(vec![(
        "/a?b",
        response("200 OK\r\ncontent-type: text/plain; charset=utf-8", "Grüße".as_bytes()),
    )])
    .await;
    // A second lookup would return another address; the test fails if there is one.
    let elsewhere: SocketAddr = "127.0.0.2:1".parse().unwrap();
    let names = Names::of(&[("pages.test", &[&[server.address], &[elsewhere]])]);
    let port = server.address.port();
    let page = get(&fetcher(&["pages.test"], Arc::clone(&names)), &format!("http://pages.test:{port}/a?b#part"))
        .await
        .unwrap();
    assert_eq!(page.text, "Grüße");
    assert_eq!(page.media_type, "text/plain");
    assert_eq!(page.url, format!("http://pages.test:{port}/a?b"));
    assert!(!page.truncated);
    assert_eq!(names.left("pages.test"), 1, "one lookup a hop");
    assert_eq!(server.requests(), ["GET /a?b HTTP/1.1"]);
}

#[tokio::test]
async fn a_name_with_a_private_address_is_refused_before_anything_is_sent() {
    let server = Server::start(vec![("/", response("200 OK", b"secret"))]).await;
    let public: SocketAddr = "93.184.216.34:80".parse().unwrap();
    let names = Names::of(&[("evil.test", &[&[server.address]]), ("mixed.test", &[&[public, server.address]])]);
    let fetch = fetcher(&[], names);
    for host in ["evil.test", "mixed.test"] {
        let fault = get(&fetch, &format!("http://{host}:{}/", server.address.port())).await.unwrap_err();
        assert!(matches!(&fault, FetchFault::Refused(text) if text.contains("loopback")), "{fault}");
    }
    assert_eq!(server.requests(), [] as [String; 0]);
}

#[tokio::test]
async fn listing_binds_to_host_and_port() {
    let server = Server::start(vec![("/", response("200 OK\r\ncontent-type: text/plain", b"ok"))]).await;
    let port = server.address.port();
    let listed = |entry: String| async move {
        get(&fetcher(&[&entry], Names::of(&[])), &format!("http://127.0.0.1:{port}/")).await
    };
    assert_eq!(listed("127.0.0.1".to_owned()).await.unwrap().text, "ok");
    assert_eq!(listed(format!("127.0.0.1:{port}")).await.unwrap().text, "ok");
    for other in ["127.0.0.1:1", "127.0.0", "example.com"] {
        assert!(matches!(listed(other.to_owned()).await, Err(FetchFault::Refused(_))), "{other}");
    }
}

#[tokio::test]
async fn each_redirect_is_checked_again() {
    let inner = Server::start(vec![("/", response("200 OK\r\ncontent-type: text/plain", b"secret"))]).await;
    let inner_url: &'static str = format!("http://127.0.0.1:{}/", inner.address.port()).leak();
    let server = Server::start(vec![
        ("/ok", redirect("/next")),
        ("/next", response("200 OK\r\ncontent-type: text/plain", b"arrived")),
        ("/private", redirect(inner_url)),
        ("/file", redirect("file:///etc/passwd")),
        ("/loop", redirect("/loop")),
        ("/nowhere", response("301 Moved", b"")),
    ])
    .await;
    let port = server.address.port();
    let answers: Vec<&[SocketAddr]> = vec![std::slice::from_ref(&server.address); 20];
    let fetch = fetcher(&["pages.test"], Names::of(&[("pages.test", &answers)]));
    let url = |path: &str| format!("http://pages.test:{port}{path}");
    let page = get(&fetch, &url("/ok")).await.unwrap();
    assert_eq!((page.text.as_str(), page.url), ("arrived", url("/next")));
    for path in ["/private", "/file", "/loop"] {
        let fault = get(&fetch, &url(path)).await.unwrap_err();
        assert!(matches!(fault, FetchFault::Refused(_)), "{path}: {fault}");
    }
    assert!(matches!(get(&fetch, &url("/nowhere")).await, Err(FetchFault::Network(_))));
    assert_eq!(inner.requests(), [] as [String; 0], "the private address was never asked");
    let loops = server.requests().iter().filter(|line| line.contains("/loop")).count();
    assert_eq!(loops, 6, "the first and five redirects");
}

#[tokio::test]
async fn bodies_are_bounded_and_must_be_text() {
    let long = vec![b'x'; 3_000_000];
    let html = b"<title>T</title><script>x()</script><p>Hi <a href='/b'>there</a>";
    let server = Server::start(vec![
        ("/long", response("200 OK\r\ncontent-type: text/plain", &long)),
        ("/html", response("200 OK\r\ncontent-type: text/html", html)),
        ("/image", response("200 OK\r\ncontent-type: image/png", b"\x89PNG")),
        ("/gzip", response("200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip", b"\x1f\x8b")),
        ("/unnamed", response("200 OK", b"plain")),
        ("/unnamed-binary", response("200 OK", b"\0\x01")),
        ("/error", response("500 Oops\r\ncontent-type: text/plain", b"oops")),
    ])
    .await;
    let fetch = fetcher(&["127.0.0.1"], Names::of(&[]));
    let at = |path: &str| format!("http://{}{path}", server.address);
    let page = get(&fetch, &at("/long")).await.unwrap();
    assert_eq!((page.text.len(), page.truncated), (1_048_576, true));
    let page = get(&fetch, &at("/html")).await.unwrap();
    assert_eq!(page.text, format!("T\n\nHi [there]({})", at("/b")));
    assert_eq!(get(&fetch, &at("/unnamed")).await.unwrap().text, "plain");
    for (path, said) in [("/image", "image/png"), ("/gzip", "gzip"), ("/unnamed-binary", "unknown")] {
        let fault = get(&fetch, &at(path)).await.unwrap_err();
        assert!(matches!(&fault, FetchFault::NotText(media) if media.contains(said)), "{fault}");
    }
    assert!(matches!(get(&fetch, &at("/error")).await, Err(FetchFault::Status(500))));
    assert!(matches!(get(&fetch, &at("/missing")).await, Err(FetchFault::Status(404))));
}

#[tokio::test]
async fn a_server_that_never_answers_can_be_cancelled() {
    let server = Server::start(vec![("/never", None)]).await;
    let fetch = fetcher(&["127.0.0.1"], Names::of(&[]));
    let cancel = CancellationToken::new();
    let url = format!("http://{}/never", server.address);
    let (fault, ()) = tokio::join!(fetch.fetch(&url, &cancel), async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert!(matches!(fault, Err(FetchFault::Cancelled)));
}

#[tokio::test]
async fn a_name_that_cannot_be_looked_up_is_network_trouble() {
    let fault = get(&fetcher(&[], Names::of(&[])), "http://nobody.test/").await.unwrap_err();
    assert!(matches!(&fault, FetchFault::Network(text) if text.contains("nobody.test")), "{fault}");
}
