//! Builds HTTP clients. Reading the machine's root certificates costs tens of milliseconds, so a client for plain
//! `http`, which carries no secret, never does it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;

/// Time to connect. The whole call has a separate deadline.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long idle connections are kept, so that the next call of a run can reuse one.
const KEEP_ALIVE: Duration = Duration::from_secs(90);

/// Root certificates, read once per process.
static ROOTED: OnceLock<ClientConfig> = OnceLock::new();

/// A client for addresses that start like `base_url`; `keeps`: connections are used for more than one call. The error text is
/// for people.
pub(crate) fn build(base_url: &str, keeps: bool) -> Result<reqwest::Client, String> {
    let secure = base_url.starts_with("https:");
    let tls = if secure { rooted()? } else { rootless()? };
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .no_gzip()
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(KEEP_ALIVE)
        // A redirect could carry the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("callsheet/", env!("CARGO_PKG_VERSION")));
    if crate::config::is_loopback(base_url) {
        builder = builder.no_proxy();
    }
    if !keeps {
        builder = builder.pool_max_idle_per_host(0);
    }
    builder.build().map_err(|error| explain(&error))
}

/// An error and its causes on one line, because `reqwest` hides the useful cause. Addresses are omitted, because they
/// may contain credentials.
pub(crate) fn explain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let words = match error.downcast_ref::<reqwest::Error>() {
            Some(error) => reqwest_words(error),
            None => error.to_string(),
        };
        if !text.contains(&words) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&words);
        }
        next = error.source();
    }
    text
}

/// Whether the connection ended before any answer, as one does that the server had closed already.
pub(crate) fn is_lost(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

fn reqwest_words(error: &reqwest::Error) -> String {
    let kind = if error.is_connect() {
        "could not connect"
    } else if error.is_timeout() {
        "timed out"
    } else if error.is_body() || error.is_decode() {
        "the stream broke off"
    } else if error.is_builder() {
        "the address or the key cannot be used"
    } else {
        "the request failed"
    };
    kind.to_owned()
}

fn rootless() -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

fn rooted() -> Result<ClientConfig, String> {
    if let Some(config) = ROOTED.get() {
        return Ok(config.clone());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider)).map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(ROOTED.get_or_init(|| config).clone())
}
