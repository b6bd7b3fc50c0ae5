//! Hosted vendors through the library `genai`: Anthropic, Gemini, OpenAI responses, and vendors with quirks of their own.
//! No type of the library leaves this module.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use callsheet_core::record::Usage;
use callsheet_core::spec::ToolCall;
use callsheet_runtime::ports::{
    DeltaSink, Message, Model, ModelFault, ModelInfo, ModelReply, ModelRequest, NativeTool,
};
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    self, CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatStream, ChatStreamEvent, ContentPart, JsonSpec,
    MessageContent, StreamEnd,
};
use genai::resolver::{AuthData, Endpoint};
use genai::webc::StreamTimeout;
use genai::{Client, ModelIden, ServiceTarget};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::adapt::{Adaptation, Change};
use crate::config::Prices;
use crate::fault::{self, FaultContext};
use crate::local::unlisted_words;
use crate::notes::Notes;
use crate::tokens;
use crate::transport::{Silence, TooLong, client, guarded};
use crate::wire::end::{End, Stopped};
use crate::wire::names::Names;
use crate::wire::{self, RawCall, native, with_ids};

/// Conversations whose signatures are remembered; loops are short and few run at once.
const MAX_SIGNED: usize = 4096;

/// Work that the library may do without an event. It copies all it has of a line with each piece that arrives, so a line
/// without an end costs more and more; the line itself is not seen here. A line of a reply costs less than a millisecond.
const MAX_WORK: Duration = Duration::from_secs(1);

/// The thread of the library. Connections and their readers take turns on it, so that no reader works for longer than a
/// piece of a stream costs ([`MAX_WORK`]), and what one costs is no burden of the run.
static THREAD: OnceLock<Handle> = OnceLock::new();

/// One model of a hosted vendor, called on the thread of the library.
pub(crate) struct HostedModel(Arc<Hosted>);

/// One model of a hosted vendor.
struct Hosted {
    info: ModelInfo,
    model: String,
    kind: AdapterKind,
    base_url: String,
    key: Option<SecretString>,
    context: FaultContext,
    prices: Prices,
    silence: Silence,
    native: Vec<NativeTool>,
    /// What its vendor refused, or is set not to get.
    adapted: Mutex<Adaptation>,
    notes: Notes,
    client: OnceLock<Client>,
    /// Proofs of thinking that a vendor wants back beside the call they came with, by call id. The canonical reply has
    /// no place for them; after a resume the vendor gets the conversation without them, which it accepts or refuses.
    signatures: Mutex<BTreeMap<String, Vec<String>>>,
}

/// What a hosted model is made of.
pub(crate) struct Parts {
    pub info: ModelInfo,
    pub model: String,
    pub adapter: String,
    pub base_url: String,
    pub key: Option<SecretString>,
    pub context: FaultContext,
    pub prices: Prices,
    /// How long the vendor may say nothing.
    pub silence: Silence,
    /// Tools that its models know by heart.
    pub native: Vec<NativeTool>,
    /// What it is set not to get.
    pub adaptation: Adaptation,
}

/// Ends that vendors tell and the library does not hand on, read from the frames of a stream.
#[derive(Clone, Default)]
struct ToldEnd(Arc<Mutex<Option<String>>>);

impl ToldEnd {
    /// Where a frame tells why a reply is incomplete (OpenAI responses), or that a prompt was blocked (Gemini), and the word
    /// for it; `None`: that which stands there.
    const PLACES: [(&str, Option<&str>); 2] =
        [("/response/incomplete_details/reason", None), ("/promptFeedback/blockReason", Some("blocked"))];

    fn watch(&self, options: ChatOptions) -> ChatOptions {
        let told = Self::clone(self);
        options.with_raw_frame_fn(move |_, frame| {
            // Most frames are pieces of text, which nobody parses twice.
            if !frame.data.contains("incomplete_details") && !frame.data.contains("blockReason") {
                return;
            }
            let Ok(data) = serde_json::from_str::<Value>(frame.data) else { return };
            let found = Self::PLACES.iter().find_map(|(place, word)| {
                let reason = data.pointer(place)?.as_str()?;
                Some(word.unwrap_or(reason).to_owned())
            });
            if found.is_some() {
                *told.0.lock().unwrap_or_else(PoisonError::into_inner) = found;
            }
        })
    }

    fn word(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl HostedModel {
    /// Nothing is opened yet. `None`: the library has no such adapter.
    pub(crate) fn new(parts: Parts) -> Option<Self> {
        Some(Self(Arc::new(Hosted::new(parts)?)))
    }

    async fn send(&self, request: &ModelRequest, deltas: DeltaSink<'_>) -> Result<ModelReply, ModelFault> {
        let (told, mut heard) = mpsc::unbounded_channel::<String>();
        let (model, request) = (Arc::clone(&self.0), request.clone());
        let call = async move {
            let tell = |text: &str| {
                let _gone = told.send(text.to_owned());
            };
            model.send(&request, &tell).await
        };
        let call = AbortOnDropHandle::new(library()?.spawn(call));
        // Until the call is over, which drops its end.
        while let Some(text) = heard.recv().await {
            deltas(&text);
        }
        let provider = &self.0.context.provider;
        call.await.unwrap_or_else(|_| Err(fault::communication(format!("the stream of {provider} broke off"))))
    }
}

impl Hosted {
    fn new(parts: Parts) -> Option<Self> {
        Some(Self {
            kind: AdapterKind::from_lower_str(&parts.adapter)?,
            info: parts.info,
            model: parts.model,
            // The library joins paths to the address, which drops the last part unless it ends with a slash.
            base_url: format!("{}/", parts.base_url.trim_end_matches('/')),
            key: parts.key,
            context: parts.context,
            prices: parts.prices,
            silence: parts.silence,
            native: parts.native,
            adapted: Mutex::new(parts.adaptation),
            notes: Notes::default(),
            client: OnceLock::new(),
            signatures: Mutex::new(BTreeMap::new()),
        })
    }

    fn client(&self) -> Result<&Client, ModelFault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let configuration = |message: String| ModelFault::Configuration { message };
        let transport = client::build(&self.base_url).map_err(configuration)?;
        let built =
            Client::builder().with_reqwest(transport).build().map_err(|error| configuration(error.to_string()))?;
        Ok(self.client.get_or_init(|| built))
    }

    fn target(&self) -> ServiceTarget {
        let key = self.key.as_ref().map(|key| key.expose_secret().to_owned()).unwrap_or_default();
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.base_url.as_str()),
            auth: AuthData::Key(key),
            model: ModelIden::new(self.kind, self.model.as_str()),
        }
    }

    async fn send(&self, request: &ModelRequest, deltas: DeltaSink<'_>) -> Result<ModelReply, ModelFault> {
        let plain = request;
        let mut changed = false;
        let told = ToldEnd::default();
        let mut stream = loop {
            let adapted = self.adapted.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let request = adapted.request(&Names::of(plain).encode(plain));
            let options = told.watch(self.options(&request));
            let stream = self.client()?.exec_chat_stream(self.target(), self.chat_request(&request), Some(&options));
            match stream.await {
                Ok(response) => break response.stream,
                Err(error) if !changed && self.learn_from(&error, &request) => changed = true,
                Err(error) => return Err(self.fault(&error)),
            }
        };
        let (mut text, mut thinking, mut end) = (String::new(), String::new(), None);
        let too_long = |TooLong| fault::communication(format!("{} sent a line without an end", self.context.provider));
        while let Some(event) = next_event(&mut stream).await.map_err(too_long)? {
            let event = match event {
                // The library knows no frame without a candidate.
                Err(_) if told.word().is_some() => break,
                event => event.map_err(|error| self.fault(&error))?,
            };
            match event {
                ChatStreamEvent::Chunk(chunk) => {
                    text.push_str(&chunk.content);
                    if !chunk.content.is_empty() {
                        deltas(&chunk.content);
                    }
                }
                ChatStreamEvent::ReasoningChunk(chunk) => thinking.push_str(&chunk.content),
                ChatStreamEvent::End(last) => {
                    end = Some(last);
                    break;
                }
                _ => {}
            }
        }
        // Some adapters of the library invent an end when the stream breaks off; only a real one has a reason.
        let broken = || fault::communication(format!("the stream of {} broke off", self.context.provider));
        let end = end.unwrap_or_default();
        let word = end.captured_stop_reason.as_ref().map(|reason| reason.raw().to_owned());
        let word = told.word().or(word).ok_or_else(broken)?;
        self.reply(plain, (text, thinking), end, &word)
    }

    /// Takes in what a refusal asks for. The library writes the cap of the reply under the name that each model takes.
    fn learn_from(&self, error: &genai::Error, request: &ModelRequest) -> bool {
        let genai::Error::HttpError { status, body, .. } = error else { return false };
        let sampling = json!({"temperature": request.temperature, "seed": request.seed, "max_tokens": 0});
        let sent = sampling.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let sent = sent.map(|(name, value)| (name.clone(), value.clone())).collect();
        let change = Change::of(body, &sent, request).filter(|_| matches!(status.as_u16(), 400 | 422));
        let Some(change) = change.filter(|change| !matches!(change, Change::NameCap(_))) else { return false };
        self.notes.note(change.words(&self.context.provider));
        self.adapted.lock().unwrap_or_else(PoisonError::into_inner).learn(change);
        true
    }

    fn reply(
        &self,
        request: &ModelRequest,
        (text, thinking): (String, String),
        end: StreamEnd,
        word: &str,
    ) -> Result<ModelReply, ModelFault> {
        let usage = usage_or_estimate(end.captured_usage.as_ref(), request, &text);
        let details = end.captured_usage.as_ref().and_then(|usage| usage.prompt_tokens_details.as_ref());
        let written = details.and_then(|details| details.cache_creation_tokens).unwrap_or_default();
        let written = u64::try_from(written).unwrap_or_default();
        let calls = self.take_calls(request, end);
        // The library's own sorting of reasons takes what it does not know for an ordinary end.
        let stopped = End::marked_with(word).reason(!calls.is_empty());
        let Stopped { reason: stop, unlisted } = stopped.map_err(|error| error.into_fault(&self.context))?;
        Ok(ModelReply {
            text,
            thinking: Some(thinking).filter(|text| !text.is_empty()),
            calls,
            usage: Usage { cost_usd: self.prices.cost_with_writes_usd(&usage, written), ..usage },
            stop,
            model: self.info.id.clone(),
            notices: self.notes.take(unlisted.map(|word| unlisted_words(&self.context.provider, &word))),
        })
    }

    fn take_calls(&self, request: &ModelRequest, end: StreamEnd) -> Vec<ToolCall> {
        let theirs = end.captured_into_tool_calls().unwrap_or_default();
        let signed: Vec<Option<Vec<String>>> = theirs.iter().map(|call| call.thought_signatures.clone()).collect();
        let raw = theirs.into_iter().map(|call| {
            let given = Some(call.fn_arguments).filter(|given| !given.is_null());
            let given = given.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            let (name, arguments) = native::canonical(&call.fn_name, &given, &request.native_tools);
            RawCall { id: call.call_id, name, arguments }
        });
        let calls = with_ids(raw.collect(), request);
        let mut memory = self.signatures.lock().unwrap_or_else(PoisonError::into_inner);
        for (call, signatures) in calls.iter().zip(signed) {
            if let Some(signatures) = signatures {
                if memory.len() >= MAX_SIGNED {
                    memory.clear();
                }
                memory.insert(call.id.clone(), signatures);
            }
        }
        calls
    }

    fn chat_request(&self, request: &ModelRequest) -> ChatRequest {
        let mut chat = ChatRequest::new(self.messages(request));
        if !request.system.is_empty() {
            chat = chat.with_system(request.system.as_str());
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                let mut theirs = chat::Tool::new(tool.name.as_str())
                    .with_description(tool.description.as_str())
                    .with_schema(tool.parameters.clone());
                // Unset means strict on this wire, which refuses schemas with optional properties.
                theirs.strict = (self.kind == AdapterKind::OpenAIResp).then_some(false);
                theirs
            });
            chat.tools = Some(tools.collect());
        }
        chat
    }

    fn messages(&self, request: &ModelRequest) -> Vec<ChatMessage> {
        let memory = self.signatures.lock().unwrap_or_else(PoisonError::into_inner);
        let mut messages: Vec<ChatMessage> = Vec::new();
        let mut results: Vec<ContentPart> = Vec::new();
        for message in &request.messages {
            if let Message::Tool { id, name, text, .. } = message {
                let result = chat::ToolResponse::new(id.as_str(), text.as_str()).with_fn_name(name.as_str());
                results.push(ContentPart::ToolResponse(result));
                continue;
            }
            flush(&mut results, &mut messages);
            messages.push(match message {
                Message::User { text } => ChatMessage::user(text.as_str()),
                Message::Assistant { text, calls } => {
                    let calls = calls.iter().map(|call| native::native_call(call, &request.native_tools));
                    assistant(text, &calls.collect::<Vec<_>>(), &memory)
                }
                Message::Tool { .. } => continue,
            });
        }
        flush(&mut results, &mut messages);
        if self.kind == AdapterKind::Anthropic
            && messages.len() > 1
            && let Some(last) = messages.pop()
        {
            messages.push(last.with_options(CacheControl::Ephemeral));
        }
        messages
    }

    fn options(&self, request: &ModelRequest) -> ChatOptions {
        let mut options = ChatOptions::default()
            .with_stream_header_timeout(self.silence.first_byte)
            .with_stream_read_timeout(self.silence.idle)
            .with_max_tokens(request.max_output_tokens)
            .with_capture_usage(true)
            .with_capture_tool_calls(true);
        if let Some(temperature) = request.temperature {
            options = options.with_temperature(temperature);
        }
        if let Some(seed) = request.seed.filter(|_| self.info.capabilities.seed) {
            options = options.with_seed(seed);
        }
        // Other vendors cache prefixes unasked. In a conversation the last message is marked instead.
        if self.kind == AdapterKind::Anthropic && request.messages.len() == 1 {
            options = options.with_cache_control(CacheControl::Ephemeral);
        }
        if !request.native_tools.is_empty() {
            options = options.with_extra_body(json!({ "tools": anthropic_tools(request) }));
        }
        if let Some(constraint) = request.constraint.as_ref().filter(|_| self.info.capabilities.json_schema)
            && let Some(schema) = &constraint.json_schema
        {
            let twin = constraint.form.is_some();
            let schema = if twin { wire::without_bounds(schema) } else { schema.clone() };
            options = options.with_response_format(JsonSpec::new("reply", schema));
        }
        options
    }

    /// The library's errors carry statuses and headers in several shapes.
    fn fault(&self, error: &genai::Error) -> ModelFault {
        match error {
            genai::Error::HttpError { status, body, headers, .. } => {
                let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
                let body = self.scrub(body);
                let wait = fault::pause::asked(header, &body, SystemTime::now());
                fault::from_status(status.as_u16(), &body, wait, &self.context)
            }
            genai::Error::ChatResponse { body, .. } => {
                let body = self.scrub(&body.to_string());
                fault::from_stream(&serde_json::from_str(&body).unwrap_or(Value::String(body)), &self.context)
            }
            genai::Error::WebStream { error, cause, .. } => {
                if let Some(inner) = error.downcast_ref::<genai::Error>() {
                    return self.fault(inner);
                }
                if let Some(phase) = error.downcast_ref::<StreamTimeout>() {
                    return self.silence.fault(*phase == StreamTimeout::Read, &self.context.provider);
                }
                let words = match error.downcast_ref::<reqwest::Error>() {
                    Some(error) => client::explain(error),
                    None => self.scrub(cause),
                };
                fault::communication(format!("{}: {words}", self.context.provider))
            }
            genai::Error::StreamParse { serde_error, .. } => {
                let words = self.scrub(&serde_error.to_string());
                if fault::is_overflow(&words) {
                    return ModelFault::ContextOverflow { message: words };
                }
                fault::communication(format!("{} sent a frame that cannot be read: {words}", self.context.provider))
            }
            genai::Error::WebModelCall { webc_error, .. } => match webc_error.status() {
                Some(status) => fault::from_status(status.as_u16(), "", None, &self.context),
                None => fault::communication(format!("{}: the request failed", self.context.provider)),
            },
            // Its text may hold the whole request, so only the kind is told.
            genai::Error::ChatResponseGeneration { cause, .. } => {
                fault::communication(format!("{}: {}", self.context.provider, self.scrub(cause)))
            }
            other => ModelFault::Configuration {
                message: format!(
                    "{} cannot take this request: {}",
                    self.context.provider,
                    self.scrub(&other.to_string())
                ),
            },
        }
    }

    fn scrub(&self, text: &str) -> String {
        match &self.key {
            Some(key) if !key.expose_secret().is_empty() => text.replace(key.expose_secret(), "[key]"),
            _ => text.to_owned(),
        }
    }
}

/// The thread of the library, started when it is first needed.
fn library() -> Result<Handle, ModelFault> {
    if let Some(handle) = THREAD.get() {
        return Ok(handle.clone());
    }
    let failed = |error: std::io::Error| ModelFault::Configuration {
        message: format!("the thread for hosted models cannot be started: {error}"),
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let handle = runtime.handle().clone();
    let forever = move || runtime.block_on(std::future::pending::<()>());
    std::thread::Builder::new().name("hosted".to_owned()).spawn(forever).map_err(failed)?;
    Ok(THREAD.get_or_init(|| handle).clone())
}

/// The next event of a stream, unless the library works too long for it.
async fn next_event(stream: &mut ChatStream) -> Result<Option<genai::Result<ChatStreamEvent>>, TooLong> {
    let mut worked = Duration::ZERO;
    poll_fn(|context| {
        let begun = Instant::now();
        let polled = stream.poll_next_unpin(context);
        worked += begun.elapsed();
        if polled.is_pending() && worked > MAX_WORK { Poll::Ready(Err(TooLong)) } else { polled.map(Ok) }
    })
    .await
}

/// The tools of a request with native ones. The library knows no native tool but one, so the whole list is ours: native
/// tools by type and name, the others as the library would write them.
fn anthropic_tools(request: &ModelRequest) -> Vec<Value> {
    let native = request.native_tools.iter().map(|tool| json!({"type": tool.kind, "name": tool.name}));
    let executed = |name: &str| request.native_tools.iter().any(|tool| tool.executes.iter().any(|one| one == name));
    let others = request
        .tools
        .iter()
        .filter(|tool| !executed(&tool.name))
        .map(|tool| json!({"name": tool.name, "input_schema": tool.parameters, "description": tool.description}));
    native.chain(others).collect()
}

/// Results of one turn belong into one message: some wires want them together.
fn flush(results: &mut Vec<ContentPart>, messages: &mut Vec<ChatMessage>) {
    if !results.is_empty() {
        messages.push(ChatMessage::tool(MessageContent::from_parts(std::mem::take(results))));
    }
}

fn assistant(text: &str, calls: &[ToolCall], memory: &BTreeMap<String, Vec<String>>) -> ChatMessage {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(ContentPart::Text(text.to_owned()));
    }
    parts.extend(calls.iter().map(|call| {
        ContentPart::ToolCall(chat::ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: call.arguments.clone(),
            thought_signatures: memory.get(&call.id).cloned(),
        })
    }));
    ChatMessage::assistant(MessageContent::from_parts(parts))
}

fn usage_or_estimate(theirs: Option<&chat::Usage>, request: &ModelRequest, text: &str) -> Usage {
    let number = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
    let input = theirs.and_then(|usage| number(usage.prompt_tokens));
    let output = theirs.and_then(|usage| number(usage.completion_tokens));
    let details = theirs.and_then(|usage| usage.prompt_tokens_details.as_ref());
    Usage {
        input: input.unwrap_or_else(|| request.estimated_tokens()),
        output: output.unwrap_or_else(|| tokens::estimate(text)),
        cached: details.and_then(|details| number(details.cached_tokens)).unwrap_or_default(),
        cost_usd: None,
    }
}

#[async_trait]
impl Model for HostedModel {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn native_tools(&self) -> &[NativeTool] {
        &self.0.native
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        guarded(request.deadline, cancel, self.send(request, deltas)).await
    }
}
