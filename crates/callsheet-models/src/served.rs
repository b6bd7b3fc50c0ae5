//! A model behind one of our dialects and the transport: of a hosted vendor, or of a server on this machine.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::nouns::ToolCall;
use callsheet_core::record::Usage;
use callsheet_core::visible::visible_line;
use callsheet_runtime::ports::{
    DeltaSink, Model, ModelFault, ModelInfo, ModelReply, ModelRequest, NativeTool, WindowFrom,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::adapt::{Adaptation, Change};
use crate::config::{Dialect, Prices};
use crate::fault;
use crate::notes::Notes;
use crate::tokens;
use crate::transport::{Failure, Transport, guarded};
use crate::wire::names::Names;
use crate::wire::{Asked, Decoded, RawCall, Shape, Wire, llamacpp, native, ollama, openai, with_ids};

/// How many calls have their thinking remembered. Loops are short, and few run at once.
const MAX_THOUGHTS: usize = 4096;

/// The parts of a model.
pub(crate) struct Parts {
    /// What is known about it.
    pub info: ModelInfo,
    /// Its name at its server.
    pub model: String,
    pub dialect: Dialect,
    /// Whether its server is on this machine.
    pub local: bool,
    pub wire: Wire,
    pub shape: Shape,
    pub transport: Transport,
    pub prices: Prices,
    /// Tools that it was trained on.
    pub native: Vec<NativeTool>,
    /// Whether it sees pictures, if that is set.
    pub vision_set: Option<bool>,
    /// What its vendor does not get, or gets under another name.
    pub adaptation: Adaptation,
}

/// One model of a server or vendor.
pub(crate) struct ServedModel {
    parts: Parts,
    /// What the server reported since the model was built.
    learned: OnceLock<ModelInfo>,
    /// What its server refused, or does not get by configuration.
    adapted: Mutex<Adaptation>,
    notes: Notes,
    /// The thinking behind calls, by call id. Several vendors require it beside the calls. The canonical reply has no
    /// place for it, so after a resume the vendor gets the conversation without it.
    thoughts: Mutex<BTreeMap<String, Value>>,
    /// For Ollama: the largest context requested so far, because a smaller one would load the model again.
    context: AtomicU32,
    /// For llama.cpp: whether it was asked for its window once more, after its first reply.
    asked_again: AtomicBool,
}

impl ServedModel {
    /// Opens nothing yet.
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            adapted: Mutex::new(parts.adaptation.clone()),
            parts,
            learned: OnceLock::new(),
            notes: Notes::default(),
            thoughts: Mutex::default(),
            context: AtomicU32::new(0),
            asked_again: AtomicBool::new(false),
        }
    }

    /// Asks the server once for the context window of the model and whether it supports tool calls. If this fails, the call
    /// itself will report what is wrong.
    pub(crate) async fn learn(&self) -> Result<(), ModelFault> {
        if self.learned.get().is_some() {
            return Ok(());
        }
        let (mut info, transport) = (self.parts.info.clone(), &self.parts.transport);
        match self.parts.dialect {
            Dialect::Openai => {
                let answer = transport.get_json(openai::MODELS).await?;
                told_window(&mut info, openai::window_of(&answer, &self.parts.model));
                self.told_vision(&mut info, openai::vision_of(&answer, &self.parts.model));
            }
            Dialect::Llamacpp => {
                let properties = llamacpp::properties(&transport.get_json(llamacpp::PROPERTIES).await?);
                told_window(&mut info, properties.window);
                self.told_vision(&mut info, properties.vision);
            }
            Dialect::Ollama => {
                let answer = transport.post_json(ollama::SHOW, &json!({"model": self.parts.model})).await?;
                let described = ollama::description(&answer);
                told_window(&mut info, described.window);
                info.capabilities.tools = described.tools.unwrap_or(info.capabilities.tools);
                self.told_vision(&mut info, described.vision);
            }
            // Other dialects report nothing about that.
            _ => return Ok(()),
        }
        // Two calls may learn at once; both learn the same.
        let _ = self.learned.set(info);
        Ok(())
    }

    /// Notes what the server says about pictures. A setting wins.
    fn told_vision(&self, info: &mut ModelInfo, told: Option<bool>) {
        info.capabilities.vision = self.parts.vision_set.or(told).unwrap_or(info.capabilities.vision);
    }

    /// Sends until the server accepts the request. What it refuses is changed, once for this model.
    async fn send(&self, request: &ModelRequest, deltas: DeltaSink<'_>) -> Result<ModelReply, ModelFault> {
        let plain = request;
        let names = Names::of(plain);
        let wire = &self.parts.wire;
        let path = wire.path.replace("{model}", &self.parts.model);
        let mut changes = 0;
        let decoded = loop {
            let adapted = self.adapted.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let request = adapted.request(&names.encode(&native::encode(plain)));
            let mut body = self.body(&request).await?;
            adapted.body(&mut body);
            let body = Value::Object(body);
            match self.parts.transport.exchange(&path, &body, wire.framing, (wire.decoder)(), deltas).await {
                Ok(decoded) => break self.checked(&request, decoded)?,
                Err(failure) if changes < MAX_CHANGES && self.learn_from(&failure, &body, &request) => changes += 1,
                Err(failure) => return Err(overflow_by_numbers(failure, &request)),
            }
        };
        self.learn_late().await;
        Ok(self.reply(plain, decoded))
    }

    /// The request for the wire.
    async fn body(&self, request: &ModelRequest) -> Result<Map<String, Value>, ModelFault> {
        let mut context = 0;
        if self.parts.dialect == Dialect::Ollama {
            // A proxy may not know the model's description. If something is wrong with the model, the call reports it
            // as well.
            if let Err(fault) = self.learn().await {
                tracing::debug!(%fault, "the server did not describe its model");
            }
            let size = ollama::context_size(request, self.context.load(Ordering::Relaxed), self.info().window)?;
            context = self.context.fetch_max(size, Ordering::Relaxed).max(size);
        }
        let thoughts = self.thoughts.lock().unwrap_or_else(PoisonError::into_inner);
        let (model, shape) = (self.parts.model.as_str(), &self.parts.shape);
        Ok((self.parts.wire.encode)(&Asked { model, request, shape, thoughts: &thoughts, context }))
    }

    fn checked(&self, request: &ModelRequest, decoded: Decoded) -> Result<Decoded, ModelFault> {
        if self.parts.dialect == Dialect::Ollama {
            ollama::check_truncation(request, decoded.usage.map(|usage| usage.input))?;
        }
        Ok(decoded)
    }

    /// Learns what a refusal asks for. Returns false if it asks for nothing that can be changed.
    fn learn_from(&self, failure: &Failure, body: &Value, request: &ModelRequest) -> bool {
        let refusal = failure
            .refusal
            .as_ref()
            .filter(|_| !matches!(failure.fault, ModelFault::ContextOverflow { .. } | ModelFault::Exhausted { .. }));
        let refusal = refusal.filter(|refusal| !matches!(refusal.status, Some(401..=404 | 408 | 425 | 429)));
        let change = refusal.zip(body.as_object()).and_then(|(refusal, sent)| Change::of(&refusal.body, sent, request));
        let Some(change) = change else { return false };
        self.notes.note(change.words(&self.parts.info.provider));
        // A parallel call may have learned it already.
        self.adapted.lock().unwrap_or_else(PoisonError::into_inner).learn(change);
        true
    }

    /// Asks a llama.cpp server for its window again, if it was still loading when the run began.
    /// Asks the server for something that costs nothing, to know whether it answers and accepts the key.
    pub(crate) async fn greet(&self) -> Result<(), ModelFault> {
        match self.parts.dialect {
            // These lists say nothing about a model that helps here, but a server gives them only for a valid key.
            Dialect::OpenaiResponses | Dialect::Anthropic | Dialect::Gemini => {
                self.parts.transport.get_json(openai::MODELS).await.map(drop)
            }
            // A server on this machine lists every model that it has.
            Dialect::Openai if self.parts.local => {
                let answer = self.parts.transport.get_json(openai::MODELS).await?;
                openai::others_than(&answer, &self.parts.model).map_or(Ok(()), |others| {
                    let (model, others) = (&self.parts.model, named(&others));
                    Err(ModelFault::Configuration { message: format!("it lists no model `{model}`, but {others}") })
                })
            }
            Dialect::Ollama => match self.learn().await {
                Err(fault @ ModelFault::Configuration { .. }) => Err(self.not_pulled().await.unwrap_or(fault)),
                learned => learned,
            },
            _ => self.learn().await,
        }
    }

    /// The fault that names the models that Ollama has. `None` if it has the model, or does not say.
    async fn not_pulled(&self) -> Option<ModelFault> {
        let listed = ollama::listed(&self.parts.transport.get_json(ollama::TAGS).await.ok()?);
        let others: Vec<String> = listed.into_iter().map(|model| model.name).collect();
        let model = &self.parts.model;
        if others.iter().any(|other| other == model || other.strip_suffix(":latest") == Some(model)) {
            return None;
        }
        let but = if others.is_empty() { String::new() } else { format!(", but {}", named(&others)) };
        Some(ModelFault::Configuration {
            message: format!("it has no model `{model}`{but}; fetch it: ollama pull {model}"),
        })
    }

    async fn learn_late(&self) {
        let is_unknown = self.parts.dialect == Dialect::Llamacpp && self.learned.get().is_none();
        if is_unknown && !self.asked_again.swap(true, Ordering::Relaxed) {
            let learned = tokio::time::timeout(LEARN_TIMEOUT, self.learn()).await;
            tracing::debug!(known = matches!(learned, Ok(Ok(()))), "asked the server for its window");
        }
    }

    fn reply(&self, request: &ModelRequest, decoded: Decoded) -> ModelReply {
        let mut usage = usage_or_estimate(&decoded, request);
        usage.cost_usd = self.parts.prices.cost_with_writes_usd(&usage, decoded.cache_written);
        let unlisted = decoded.unlisted_end.map(|word| unlisted_words(&self.parts.info.provider, &word));
        ModelReply {
            calls: self.calls(decoded.calls, request),
            text: decoded.text,
            thinking: Some(decoded.thinking).filter(|text| !text.is_empty()),
            usage,
            stop: decoded.stop,
            model: self.parts.info.id.clone(),
            notices: self.notes.take(unlisted),
        }
    }

    /// The canonical calls. Keeps the thinking behind them.
    fn calls(&self, mut raw: Vec<RawCall>, request: &ModelRequest) -> Vec<ToolCall> {
        let thoughts: Vec<Option<Value>> = raw.iter_mut().map(|call| call.thought.take()).collect();
        for call in &mut raw {
            (call.name, call.arguments) = native::canonical(&call.name, &call.arguments, &request.native_tools);
        }
        let calls = with_ids(raw, request);
        let mut kept = self.thoughts.lock().unwrap_or_else(PoisonError::into_inner);
        for (call, thought) in calls.iter().zip(thoughts) {
            if let Some(thought) = thought {
                if kept.len() >= MAX_THOUGHTS {
                    kept.clear();
                }
                kept.insert(call.id.clone(), thought);
            }
        }
        calls
    }
}

/// The maximum number of changes to a request within one call.
const MAX_CHANGES: u32 = 4;

/// The note about a reply that ended with an unknown word.
/// The first names of a list, each on one line.
fn named(names: &[String]) -> String {
    const NAMED: usize = 10;
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    let first: Vec<String> = names.iter().take(NAMED).map(|name| visible_line(name)).collect();
    format!("{}{more}", first.join(", "))
}

fn unlisted_words(provider: &str, word: &str) -> String {
    format!("{provider} ended a reply with `{word}`, whose meaning is unknown; Callsheet treated the reply as complete")
}

/// Turns a refusal that names two numbers of tokens into an overflow: the prompt is too long.
fn overflow_by_numbers(failure: Failure, request: &ModelRequest) -> ModelFault {
    match (failure.fault, failure.refusal) {
        (ModelFault::Configuration { message }, Some(refusal))
            if matches!(refusal.status, Some(400 | 413 | 422))
                && fault::counts_overflow(&fault::words_of(&refusal.body), request.estimated_tokens()) =>
        {
            ModelFault::ContextOverflow { message }
        }
        (fault, _) => fault,
    }
}

/// Sets the window that a server reports. It overrides a vendor row, but not a setting.
fn told_window(info: &mut ModelInfo, told: Option<u32>) {
    if told.is_some() && info.window_from != Some(WindowFrom::Setting) {
        info.window = told;
        info.window_from = Some(WindowFrom::Server);
    }
}

/// The server's count, else the estimate of spec 5.8.
fn usage_or_estimate(decoded: &Decoded, request: &ModelRequest) -> Usage {
    let mut usage = decoded.usage.unwrap_or_else(|| Usage {
        output: tokens::estimate(&decoded.text).saturating_add(tokens::estimate(&decoded.thinking)),
        ..Usage::default()
    });
    if usage.input == 0 {
        usage.input = request.estimated_tokens();
    }
    usage
}

#[async_trait]
impl Model for ServedModel {
    fn info(&self) -> &ModelInfo {
        self.learned.get().unwrap_or(&self.parts.info)
    }

    fn native_tools(&self) -> &[NativeTool] {
        &self.parts.native
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

/// How long a server may take to describe its model when a run starts.
pub(crate) const LEARN_TIMEOUT: Duration = Duration::from_millis(500);
