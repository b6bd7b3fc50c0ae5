//! The HTTP transport for all dialects: kept connections to other machines, streaming with cancellation, and faults
//! from the one table. The client is built at the first request, never before.

pub(crate) mod client;
mod frames;
mod unpacked;

use std::fmt;
use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use callsheet_runtime::ports::{DeltaSink, ModelFault, Repetition};
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub use frames::{Frames, Framing, TooLong};

use crate::fault::{self, FaultContext};
use crate::wire::{Decoded, Decoder, Wire, WireError};

use unpacked::Unpacked;

/// How many bytes of an error body are read.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// How many characters of a page are quoted.
const PAGE_WORDS: usize = 120;

/// How long a stream may take to close after its end mark.
const END_OF_STREAM: Duration = Duration::from_millis(20);

/// How long a server may be silent. Exceeding one of these limits is a communication failure (spec 12.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Before the first byte of an answer.
    pub first_byte: Duration,
    /// Within an answer.
    pub idle: Duration,
}

impl Default for Silence {
    fn default() -> Self {
        Self { first_byte: Duration::from_secs(120), idle: Duration::from_secs(120) }
    }
}

impl Silence {
    /// The failure of a call whose server was silent for too long. `begun` means after the first byte.
    pub(crate) fn fault(self, begun: bool, provider: &str) -> ModelFault {
        fault::communication(if begun {
            format!(
                "{provider} stopped for {:?} in the middle of its answer ([providers.{provider}] idle_seconds)",
                self.idle
            )
        } else {
            format!(
                "{provider} did not begin to answer within {:?} ([providers.{provider}] first_byte_seconds)",
                self.first_byte
            )
        })
    }
}

/// What a server refused, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status of the answer, or of the error object in a stream.
    pub status: Option<u16>,
    /// The body, or the error object.
    pub body: String,
}

/// Why an exchange gave no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The fault for the port.
    pub fault: ModelFault,
    /// What the server said, if the server refused.
    pub refusal: Option<Refusal>,
}

impl From<ModelFault> for Failure {
    fn from(fault: ModelFault) -> Self {
        Self { fault, refusal: None }
    }
}

impl From<Failure> for ModelFault {
    fn from(failure: Failure) -> Self {
        failure.fault
    }
}

/// A server and the connection to it.
pub struct Transport {
    base_url: String,
    /// The query after each path, including its `?`.
    query: String,
    key: Option<SecretString>,
    /// Header for the key, and the text before the key in it.
    key_header: (&'static str, &'static str),
    /// Headers for every request.
    headers: &'static [(&'static str, &'static str)],
    context: FaultContext,
    silence: Silence,
    /// Keeps connections, as long as the server does.
    client: OnceLock<reqwest::Client>,
    /// Opens a connection for each call.
    fresh: OnceLock<reqwest::Client>,
    kept: Kept,
}

/// What is known of the connections that a server promises to keep.
#[derive(Default)]
struct Kept {
    /// It has answered, so a connection may be kept.
    answered: AtomicBool,
    /// It closes them all the same, as llama.cpp does after each stream.
    closed: AtomicBool,
}

impl fmt::Debug for Transport {
    /// Omits the key and the credentials of the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("address", &self.shown_address()).field("context", &self.context).finish()
    }
}

impl Transport {
    /// A transport to `base_url`. Opens nothing yet. The key, if any, is sent as a bearer token.
    pub fn new(base_url: &str, key: Option<SecretString>, context: FaultContext) -> Self {
        let (base_url, query) = match base_url.split_once('?') {
            Some((address, query)) => (address, format!("?{query}")),
            None => (base_url, String::new()),
        };
        let base_url = base_url.trim_end_matches('/').to_owned();
        let key_header = ("authorization", "Bearer ");
        let (headers, silence) = (&[] as &[_], Silence::default());
        let (client, fresh, kept) = (OnceLock::new(), OnceLock::new(), Kept::default());
        Self { base_url, query, key, key_header, headers, context, silence, client, fresh, kept }
    }

    /// Like `new`, but with the headers of a dialect.
    #[must_use]
    pub(crate) fn speaking(self, wire: &Wire) -> Self {
        Self { key_header: wire.key, headers: wire.headers, ..self }
    }

    /// Like `speaking`, but with other limits of silence.
    #[must_use]
    pub fn with_silence(self, silence: Silence) -> Self {
        Self { silence, ..self }
    }

    /// What its faults name.
    pub fn context(&self) -> &FaultContext {
        &self.context
    }

    /// Gets one JSON value.
    pub async fn get_json(&self, path: &str) -> Result<Value, ModelFault> {
        let request = self.client()?.get(self.url(path));
        Ok(self.read_json(request).await?)
    }

    /// Posts one JSON value and reads one.
    pub async fn post_json(&self, path: &str, body: &Value) -> Result<Value, ModelFault> {
        let request = self.post(path, body)?;
        Ok(self.read_json(request).await?)
    }

    /// One streamed exchange: feeds every frame to the decoder and its text to `deltas`.
    pub async fn exchange(
        &self,
        path: &str,
        body: &Value,
        framing: Framing,
        decoder: Box<dyn Decoder>,
        deltas: DeltaSink<'_>,
    ) -> Result<Decoded, Failure> {
        let begun = Instant::now();
        let exchanged = self.exchanged(path, body, framing, decoder, deltas).await;
        let (provider, ms) = (&self.context.provider, u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        match &exchanged {
            Ok(_) => tracing::info!(provider, ms, "a provider replied"),
            Err(failure) => {
                let status = failure.refusal.as_ref().and_then(|refusal| refusal.status);
                tracing::warn!(provider, ms, status, fault = failure.fault.kind(), "a provider did not reply");
                // A provider may quote the prompt.
                tracing::debug!(fault = %failure.fault, "why it did not");
            }
        }
        exchanged
    }

    async fn exchanged(
        &self,
        path: &str,
        body: &Value,
        framing: Framing,
        mut decoder: Box<dyn Decoder>,
        deltas: DeltaSink<'_>,
    ) -> Result<Decoded, Failure> {
        let request = self.post(path, body)?;
        let sent = Instant::now();
        let mut response = self.send(request).await?;
        let mut unpacked = Unpacked::of(response.headers());
        let mut frames = Frames::new(framing);
        let (mut open, mut begun, mut repetition) = (true, false, Repetition::default());
        while open {
            let limit = if begun { self.silence.idle } else { self.silence.first_byte.saturating_sub(sent.elapsed()) };
            let chunk = self.within(limit, begun, response.chunk()).await?.map_err(|error| self.broken(&error))?;
            (open, begun) = (chunk.is_some(), true);
            let ready = match chunk {
                Some(bytes) => {
                    let bytes = unpacked.push(&bytes).map_err(|error| self.garbled(&error))?;
                    frames.push(&bytes).map_err(|TooLong| self.too_long())?
                }
                None => Vec::new(),
            };
            if let Some(page) = frames.page(!open) {
                return Err(self.page(&response, &page).into());
            }
            let rest = if open { Vec::new() } else { std::mem::replace(&mut frames, Frames::new(framing)).end() };
            for frame in ready.into_iter().chain(rest) {
                let text = decoder.feed(&frame).map_err(|error| self.failed(error))?;
                if !text.is_empty() {
                    deltas(&text);
                }
                if repetition.push(&text) {
                    // This closes the connection, so the server stops as well.
                    return Ok(decoder.stop());
                }
            }
            if open && decoder.is_done() {
                drain(&mut response).await;
                open = false;
            }
        }
        decoder.finish().map_err(|error| self.failed(error))
    }

    fn url(&self, path: &str) -> String {
        match path.split_once('?') {
            Some((path, own)) => format!("{}{path}?{own}{}", self.base_url, self.query.replacen('?', "&", 1)),
            None => format!("{}{path}{}", self.base_url, self.query),
        }
    }

    fn failed(&self, error: WireError) -> Failure {
        let refusal = match &error {
            WireError::Refused(object) => {
                Some(Refusal { status: fault::stream_status(object), body: self.scrub(&object.to_string()) })
            }
            _ => None,
        };
        Failure { fault: error.into_fault(&self.context), refusal }
    }

    /// The fault for a page of a proxy or of another program that came instead of a reply.
    fn page(&self, response: &reqwest::Response, page: &str) -> ModelFault {
        let media = response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or("no type");
        let words: String = fault::page_words(&self.scrub(page)).chars().take(PAGE_WORDS).collect();
        ModelFault::Configuration {
            message: format!(
                "{} at {} answered with a page ({media}) instead of a reply: \"{words}\"; is its base_url right?",
                self.context.provider,
                self.shown_address()
            ),
        }
    }

    fn garbled(&self, error: &std::io::Error) -> ModelFault {
        fault::communication(format!("{} sent compressed data that cannot be read: {error}", self.context.provider))
    }

    fn post(&self, path: &str, body: &Value) -> Result<reqwest::RequestBuilder, ModelFault> {
        let bytes = serde_json::to_vec(body).map_err(|error| fault::communication(error.to_string()))?;
        let url = self.url(path);
        Ok(self.client()?.post(url).header("content-type", "application/json").body(bytes))
    }

    async fn read_json(&self, request: reqwest::RequestBuilder) -> Result<Value, Failure> {
        let mut response = self.send(request).await?;
        let mut bytes = Vec::new();
        let mut unpacked = Unpacked::of(response.headers());
        let idle = self.silence.idle;
        while let Some(chunk) = self.within(idle, true, response.chunk()).await?.map_err(|error| self.broken(&error))? {
            bytes.extend_from_slice(&unpacked.push(&chunk).map_err(|error| self.garbled(&error))?);
            if bytes.len() > frames::MAX_WHOLE {
                return Err(self.too_long().into());
            }
        }
        let no_json = |_| fault::communication(format!("{} sent no JSON", self.context.provider));
        Ok(serde_json::from_slice(&bytes).map_err(no_json)?)
    }

    async fn send(&self, mut request: reqwest::RequestBuilder) -> Result<reqwest::Response, Failure> {
        if let Some(key) = &self.key {
            request = request.header(self.key_header.0, self.key_value(key)?);
        }
        for (name, value) in self.headers {
            request = request.header(*name, *value);
        }
        let response = self.within(self.silence.first_byte, false, self.answer(request)).await??;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = self.scrub(&read_error_body(response, self.silence.idle).await);
        let pause = fault::pause::asked(header, &body, SystemTime::now());
        let fault = fault::from_status(status, &body, pause, &self.context);
        Err(Failure { fault, refusal: Some(Refusal { status: Some(status), body }) })
    }

    /// The beginning of an answer. A request on a connection that a server of this machine closed although it promised to
    /// keep it goes out once more; from then on each call has a connection of its own.
    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, ModelFault> {
        let may_be_lost = self.kept.answered.load(Ordering::Relaxed) && !self.kept.closed.load(Ordering::Relaxed);
        let again = may_be_lost.then(|| request.try_clone()).flatten();
        let again = again.filter(|_| crate::config::is_loopback(&self.base_url));
        let error = match request.send().await {
            Ok(response) => {
                self.kept.answered.store(true, Ordering::Relaxed);
                return Ok(response);
            }
            Err(error) => error,
        };
        let Some(again) = again.filter(|_| client::is_lost(&error)) else { return Err(self.unreachable(&error)) };
        self.kept.closed.store(true, Ordering::Relaxed);
        let request = again.build().map_err(|error| self.unreachable(&error))?;
        self.client()?.execute(request).await.map_err(|error| self.unreachable(&error))
    }

    fn key_value(&self, key: &SecretString) -> Result<HeaderValue, ModelFault> {
        let mut value =
            HeaderValue::from_str(&format!("{}{}", self.key_header.1, key.expose_secret())).map_err(|_| {
                let variable = self.context.key_variable.as_deref().unwrap_or("the key variable");
                ModelFault::Configuration { message: format!("{variable} contains characters that a key cannot have") }
            })?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn client(&self) -> Result<&reqwest::Client, ModelFault> {
        let keeps = !self.kept.closed.load(Ordering::Relaxed);
        let client = if keeps { &self.client } else { &self.fresh };
        if let Some(client) = client.get() {
            return Ok(client);
        }
        let built = client::build(&self.base_url, keeps);
        let built = built.map_err(|message| ModelFault::Configuration { message })?;
        Ok(client.get_or_init(|| built))
    }

    /// Removes the key from a text, because a provider may repeat it in an error that reaches a log.
    fn scrub(&self, text: &str) -> String {
        match &self.key {
            Some(key) if !key.expose_secret().is_empty() => text.replace(key.expose_secret(), "[key]"),
            _ => text.to_owned(),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ModelFault {
        let words = client::explain(error);
        if error.is_builder() {
            return ModelFault::Configuration {
                message: format!("[providers.{}] base_url `{}`: {words}", self.context.provider, self.shown_address()),
            };
        }
        fault::communication(format!("{} at {}: {words}", self.context.provider, self.shown_address()))
    }

    /// Waits for the server at most this long. `begun` means that its answer has begun.
    async fn within<T>(&self, limit: Duration, begun: bool, piece: impl Future<Output = T>) -> Result<T, ModelFault> {
        timeout(limit, piece).await.map_err(|_| self.silence.fault(begun, &self.context.provider))
    }

    fn too_long(&self) -> ModelFault {
        fault::communication(format!("{} sent a line that is too long to be part of a reply", self.context.provider))
    }

    fn broken(&self, error: &reqwest::Error) -> ModelFault {
        fault::communication(format!("{}: {}", self.context.provider, client::explain(error)))
    }

    /// The address without credentials and query.
    fn shown_address(&self) -> String {
        let Ok(mut url) = reqwest::Url::parse(&self.base_url) else { return "an address that is not a URL".to_owned() };
        url.set_query(None);
        if url.set_username("").is_err() || url.set_password(None).is_err() {
            return url.host_str().unwrap_or_default().to_owned();
        }
        url.to_string()
    }
}

/// Runs a call with its deadline and its cancellation. Both drop the call, which closes its connection.
pub(crate) async fn guarded<T>(
    deadline: Duration,
    cancel: &CancellationToken,
    call: impl Future<Output = Result<T, ModelFault>>,
) -> Result<T, ModelFault> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ModelFault::Cancelled),
        outcome = timeout(deadline, call) => outcome.unwrap_or(Err(ModelFault::Deadline)),
    }
}

/// Reads what follows the end mark, so that the connection can be used again. Does not wait for a server that never
/// closes its stream.
async fn drain(response: &mut reqwest::Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = timeout(END_OF_STREAM, rest).await;
}

async fn read_error_body(mut response: reqwest::Response, idle: Duration) -> String {
    let mut body = Vec::new();
    let mut unpacked = Unpacked::of(response.headers());
    while let Ok(Ok(Some(chunk))) = timeout(idle, response.chunk()).await {
        let Ok(bytes) = unpacked.push(&chunk) else { break };
        body.extend_from_slice(&bytes);
        if body.len() > MAX_ERROR_BODY {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}
