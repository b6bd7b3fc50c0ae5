//! Fetches pages over HTTP behind the `Fetch` port (spec 5.7).
//!
//! A host name is looked up once for each hop, every address is checked, and the connection goes to exactly these
//! addresses: the client's own resolver knows no others. A name that would give another answer the second time (DNS
//! rebinding) is therefore never looked up a second time.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use callsheet_runtime::ports::{Fetch, FetchFault, Page};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::common::words::say;

use super::address::refusal;
use super::html::readable_text;
use super::media;

/// The maximum number of bytes of a page.
const CAP: usize = 1_048_576;
/// Time limit for a page, including redirects.
const TIME: Duration = Duration::from_secs(20);
/// The maximum number of redirects that are followed.
const REDIRECTS: usize = 5;

/// What a person allows.
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// Hosts that may have any address, as `host` or `host:port`. They are exempt from the refusal of loopback,
    /// link-local and private addresses.
    pub allow_hosts: Vec<String>,
}

/// Looks host names up.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// All addresses of a host.
    async fn lookup(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The machine's resolver.
#[derive(Clone, Copy, Debug, Default)]
struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }
}

/// Fetches pages over HTTP and HTTPS. It uses no proxy, because behind a proxy the addresses could not be checked.
pub struct HttpFetch {
    settings: HttpSettings,
    lookup: Arc<dyn Lookup>,
    pins: Arc<Pins>,
    /// Created at first use, because that reads the machine's certificates.
    client: OnceCell<Client>,
}

impl HttpFetch {
    /// Uses the machine's resolver.
    pub fn new(settings: HttpSettings) -> Self {
        Self::with_lookup(settings, Arc::new(SystemLookup))
    }

    /// Uses this resolver.
    pub fn with_lookup(settings: HttpSettings, lookup: Arc<dyn Lookup>) -> Self {
        Self { settings, lookup, pins: Arc::default(), client: OnceCell::new() }
    }

    async fn page(&self, url: &str) -> Result<Page, FetchFault> {
        let client = self.client.get_or_try_init(|| async { client(&self.pins) }).await?;
        let mut url =
            Url::parse(url).map_err(|error| refused("fetch-no-address", &[("url", &url), ("error", &error)]))?;
        for _ in 0..=REDIRECTS {
            url.set_fragment(None);
            self.admit(&url).await?;
            let response = client
                .get(url.clone())
                .header(ACCEPT, "text/html, text/plain, application/json;q=0.9, */*;q=0.5")
                .send()
                .await
                .map_err(|error| broken(&error))?;
            match redirect_of(&response, &url)? {
                Some(next) => url = next,
                None => return page_of(response, url).await,
            }
        }
        Err(refused("fetch-redirects", &[("count", &REDIRECTS), ("url", &url)]))
    }

    /// Checks an address before anything is sent to it, and pins the addresses that the client may connect to.
    async fn admit(&self, url: &Url) -> Result<(), FetchFault> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("fetch-scheme", &[("url", url)]));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("fetch-credentials", &[]));
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| refused("fetch-no-host", &[("url", url)]))?;
        let port = url.port_or_known_default().ok_or_else(|| refused("fetch-no-port", &[("url", url)]))?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let listed = self.is_listed(host, port);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return match refusal(address).filter(|_| !listed) {
                Some(kind) => {
                    let facts: Facts<'_> = &[("url", url), ("address", &address), ("kind", &say(kind, &[]))];
                    Err(refused("fetch-not-public", facts))
                }
                None => Ok(()),
            };
        }
        let addresses = self
            .lookup
            .lookup(host, port)
            .await
            .map_err(|error| network("fetch-lookup", &[("host", &host), ("error", &error)]))?;
        if addresses.is_empty() {
            return Err(network("fetch-no-addresses", &[("host", &host)]));
        }
        // One bad address among good ones is not an accident, so the whole host is refused.
        if let Some((address, kind)) = addresses
            .iter()
            .filter(|_| !listed)
            .find_map(|address| refusal(address.ip()).map(|kind| (address.ip(), kind)))
        {
            let facts: Facts<'_> = &[("url", url), ("host", &host), ("address", &address), ("kind", &say(kind, &[]))];
            return Err(refused("fetch-not-public-host", facts));
        }
        self.pins.set(host, addresses);
        Ok(())
    }

    fn is_listed(&self, host: &str, port: u16) -> bool {
        let with_port = format!("{host}:{port}");
        self.settings
            .allow_hosts
            .iter()
            .any(|listed| listed.eq_ignore_ascii_case(host) || listed.eq_ignore_ascii_case(&with_port))
    }
}

#[async_trait]
impl Fetch for HttpFetch {
    async fn fetch(&self, url: &str, cancel: &CancellationToken) -> Result<Page, FetchFault> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(FetchFault::Cancelled),
            page = tokio::time::timeout(TIME, self.page(url)) => {
                page.unwrap_or_else(|_| Err(network("fetch-no-answer", &[("seconds", &TIME.as_secs())])))
            }
        }
    }
}

fn client(pins: &Arc<Pins>) -> Result<Client, FetchFault> {
    // Another part of the process may have chosen a provider already. Any provider will do.
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .dns_resolver(Arc::clone(pins))
        .no_proxy()
        // A small compressed body could expand to a huge one.
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .redirect(redirect::Policy::none())
        .referer(false)
        // A kept-alive connection would use an address from an earlier check.
        .pool_max_idle_per_host(0)
        .connect_timeout(TIME)
        .user_agent(concat!("callsheet/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| network("fetch-no-client", &[("error", &error)]))
}

/// Where a response redirects to. `None` if it is not a redirect.
fn redirect_of(response: &Response, from: &Url) -> Result<Option<Url>, FetchFault> {
    let status = response.status().as_u16();
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let target = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .ok_or_else(|| network("fetch-redirect-nowhere", &[("url", from)]))?;
    let next = from.join(target).map_err(|error| {
        refused("fetch-redirect-no-address", &[("url", from), ("target", &target), ("error", &error)])
    })?;
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err(refused("fetch-redirect-insecure", &[("url", from)]));
    }
    Ok(Some(next))
}

async fn page_of(mut response: Response, url: Url) -> Result<Page, FetchFault> {
    if !response.status().is_success() {
        return Err(FetchFault::Status(response.status().as_u16()));
    }
    let encoding = header(response.headers(), CONTENT_ENCODING.as_str());
    if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
        return Err(FetchFault::NotText(say("fetch-compressed", &[("encoding", &encoding)])));
    }
    let (media, charset) = media::parse(&header(response.headers(), CONTENT_TYPE.as_str()));
    if !media.is_empty() && !media::is_text(&media) {
        return Err(FetchFault::NotText(media));
    }
    let (bytes, truncated) = body(&mut response).await?;
    if media.is_empty() && !media::looks_like_text(&bytes) {
        return Err(FetchFault::NotText(say("fetch-unknown-type", &[])));
    }
    let text = media::decode(&bytes, charset.as_deref());
    let text = if media::is_html(&media) { readable_text(&text, Some(&url)) } else { text };
    let media_type = if media.is_empty() { "text/plain".to_owned() } else { media };
    Ok(Page { url: url.into(), media_type, text, truncated })
}

/// The body up to the cap. The rest is never read.
async fn body(response: &mut Response) -> Result<(Vec<u8>, bool), FetchFault> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(&error))? {
        let room = CAP.saturating_sub(bytes.len());
        bytes.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
        if chunk.len() > room {
            return Ok((bytes, true));
        }
    }
    Ok((bytes, false))
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim().to_owned()
}

/// The values for the text of a fault.
type Facts<'a> = &'a [(&'a str, &'a dyn Display)];

fn refused(key: &str, facts: Facts<'_>) -> FetchFault {
    FetchFault::Refused(say(key, facts))
}

fn network(key: &str, facts: Facts<'_>) -> FetchFault {
    FetchFault::Network(say(key, facts))
}

/// The innermost cause says what happened; the outer ones repeat the address.
fn broken(error: &reqwest::Error) -> FetchFault {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    FetchFault::Network(cause.to_string())
}

/// The only addresses that the client knows, by host: those of the latest check. A check precedes every request.
#[derive(Debug, Default)]
struct Pins(Mutex<BTreeMap<String, Vec<SocketAddr>>>);

impl Pins {
    fn set(&self, host: &str, addresses: Vec<SocketAddr>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(host.to_ascii_lowercase(), addresses);
    }
}

impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let pins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pinned = pins.get(&name.as_str().to_ascii_lowercase()).cloned();
        Box::pin(async move {
            match pinned {
                Some(addresses) => Ok(Box::new(addresses.into_iter()) as Addrs),
                None => Err(io::Error::other("the host was not checked").into()),
            }
        })
    }
}
