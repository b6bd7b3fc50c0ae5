//! One HTTP transport for our own dialects: kept connections to other machines, streaming with cancellation, faults
//! mapped by the one table. The client is built at the first request, never before.

pub(crate) mod client;
mod frames;

use std::fmt;
use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use callsheet_runtime::ports::{DeltaSink, ModelFault, Repetition};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub use frames::{Frames, Framing, TooLong};

use crate::fault::{self, FaultContext};
use crate::wire::{Decoded, Decoder};

/// Bytes of an error body that are read.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// Time a stream has to close after its end mark.
const END_OF_STREAM: Duration = Duration::from_millis(20);

/// How long a server may say nothing. A call that meets one of these limits is a communication failure (spec 12.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Before the first byte of an answer.
    pub first_byte: Duration,
    /// In an answer that has begun.
    pub idle: Duration,
}

impl Default for Silence {
    fn default() -> Self {
        Self { first_byte: Duration::from_secs(120), idle: Duration::from_secs(120) }
    }
}

impl Silence {
    /// The failure of a call whose server was silent for too long; `begun`: after the first byte.
    pub(crate) fn fault(self, begun: bool, provider: &str) -> ModelFault {
        fault::communication(if begun {
            format!(
                "{provider} said nothing more for {:?} in the middle of its answer ([providers.{provider}] idle_seconds)",
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

/// A server and the way to it.
pub struct Transport {
    base_url: String,
    key: Option<SecretString>,
    context: FaultContext,
    silence: Silence,
    client: OnceLock<reqwest::Client>,
}

impl fmt::Debug for Transport {
    /// Neither the key nor credentials of the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("address", &self.shown_address()).field("context", &self.context).finish()
    }
}

impl Transport {
    /// A way to `base_url`; nothing is opened yet. The key, if any, is sent as a bearer token.
    pub fn new(base_url: &str, key: Option<SecretString>, context: FaultContext) -> Self {
        let base_url = base_url.trim_end_matches('/').to_owned();
        Self { base_url, key, context, silence: Silence::default(), client: OnceLock::new() }
    }

    /// The same, with other limits of silence.
    #[must_use]
    pub fn with_silence(self, silence: Silence) -> Self {
        Self { silence, ..self }
    }

    /// Whom its faults name.
    pub fn context(&self) -> &FaultContext {
        &self.context
    }

    /// One JSON value by GET.
    pub async fn get_json(&self, path: &str) -> Result<Value, ModelFault> {
        let request = self.client()?.get(format!("{}{path}", self.base_url));
        self.read_json(request).await
    }

    /// One JSON value by POST.
    pub async fn post_json(&self, path: &str, body: &Value) -> Result<Value, ModelFault> {
        let request = self.post(path, body)?;
        self.read_json(request).await
    }

    /// One streamed exchange: feeds every frame to the decoder and its text to `deltas`.
    pub async fn exchange(
        &self,
        path: &str,
        body: &Value,
        framing: Framing,
        mut decoder: Box<dyn Decoder>,
        deltas: DeltaSink<'_>,
    ) -> Result<Decoded, ModelFault> {
        let request = self.post(path, body)?;
        let sent = Instant::now();
        let mut response = self.send(request).await?;
        let mut frames = Frames::new(actual_framing(&response, framing));
        let (mut open, mut begun, mut repetition) = (true, false, Repetition::default());
        while open {
            let limit = if begun { self.silence.idle } else { self.silence.first_byte.saturating_sub(sent.elapsed()) };
            let chunk = self.within(limit, begun, response.chunk()).await?.map_err(|error| self.broken(&error))?;
            (open, begun) = (chunk.is_some(), true);
            let ready = match chunk {
                Some(bytes) => frames.push(&bytes).map_err(|TooLong| self.too_long())?,
                None => std::mem::replace(&mut frames, Frames::new(framing)).end(),
            };
            for frame in ready {
                let text = decoder.feed(&frame).map_err(|error| error.into_fault(&self.context))?;
                if !text.is_empty() {
                    deltas(&text);
                }
                if repetition.push(&text) {
                    // The connection is closed with it, so that the server stops as well.
                    return Ok(decoder.stop());
                }
            }
            if open && decoder.is_done() {
                drain(&mut response).await;
                open = false;
            }
        }
        decoder.finish().map_err(|error| error.into_fault(&self.context))
    }

    fn post(&self, path: &str, body: &Value) -> Result<reqwest::RequestBuilder, ModelFault> {
        let bytes = serde_json::to_vec(body).map_err(|error| fault::communication(error.to_string()))?;
        let url = format!("{}{path}", self.base_url);
        Ok(self.client()?.post(url).header("content-type", "application/json").body(bytes))
    }

    async fn read_json(&self, request: reqwest::RequestBuilder) -> Result<Value, ModelFault> {
        let mut response = self.send(request).await?;
        let mut bytes = Vec::new();
        let idle = self.silence.idle;
        while let Some(chunk) = self.within(idle, true, response.chunk()).await?.map_err(|error| self.broken(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > frames::MAX_WHOLE {
                return Err(self.too_long());
            }
        }
        serde_json::from_slice(&bytes)
            .map_err(|_| fault::communication(format!("{} sent no JSON", self.context.provider)))
    }

    async fn send(&self, mut request: reqwest::RequestBuilder) -> Result<reqwest::Response, ModelFault> {
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, self.bearer(key)?);
        }
        let response = self.within(self.silence.first_byte, false, request.send()).await?;
        let response = response.map_err(|error| self.unreachable(&error))?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let retry_after = fault::retry_after(header, SystemTime::now());
        let body = self.scrub(&read_error_body(response, self.silence.idle).await);
        Err(fault::from_status(status, &body, retry_after, &self.context))
    }

    fn bearer(&self, key: &SecretString) -> Result<HeaderValue, ModelFault> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret())).map_err(|_| {
            let variable = self.context.key_variable.as_deref().unwrap_or("the key variable");
            ModelFault::Configuration { message: format!("{variable} holds characters a key cannot have") }
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn client(&self) -> Result<&reqwest::Client, ModelFault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let built = client::build(&self.base_url).map_err(|message| ModelFault::Configuration { message })?;
        Ok(self.client.get_or_init(|| built))
    }

    /// A provider that repeats the key in its error must not bring it into a log.
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

    /// Waits for the server at most this long; `begun`: its answer has.
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

/// Runs a call under its deadline and its cancellation; both drop the call, which closes its connection.
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

/// Reads what follows the end mark, so that the connection can be used again; a server that never closes its stream is
/// not waited for.
async fn drain(response: &mut reqwest::Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = timeout(END_OF_STREAM, rest).await;
}

/// A server that answers in one piece although a stream was asked for says so by its media type.
fn actual_framing(response: &reqwest::Response, wanted: Framing) -> Framing {
    let media = response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if wanted == Framing::Events && media.starts_with("application/json") { Framing::Whole } else { wanted }
}

async fn read_error_body(mut response: reqwest::Response, idle: Duration) -> String {
    let mut body = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout(idle, response.chunk()).await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ERROR_BODY {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}
