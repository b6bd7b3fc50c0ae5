//! Models behind our own dialects: OpenAI chat, llama.cpp, Ollama.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::record::Usage;
use callsheet_runtime::ports::{DeltaSink, Model, ModelFault, ModelInfo, ModelReply, ModelRequest, WindowFrom};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::adapt::{Adaptation, Change};
use crate::config::Prices;
use crate::fault;
use crate::notes::Notes;
use crate::tokens;
use crate::transport::{Failure, Framing, Transport, guarded};
use crate::wire::llamacpp::PrintGrammar;
use crate::wire::names::Names;
use crate::wire::{Decoded, Decoder, llamacpp, ollama, openai, with_ids};

/// Which of our dialects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChatProtocol {
    Openai,
    Llamacpp(PrintGrammar),
    Ollama,
}

/// One model of a server that speaks one of our dialects.
#[derive(Debug)]
pub(crate) struct LocalModel {
    /// What was known when it was built.
    given: ModelInfo,
    /// What the server told since.
    learned: OnceLock<ModelInfo>,
    model: String,
    speech: ChatProtocol,
    transport: Transport,
    prices: Prices,
    /// What its server refused, or is set not to get.
    adapted: Mutex<Adaptation>,
    notes: Notes,
    /// Ollama: the largest context asked for so far, since a smaller one would load the model again.
    context: AtomicU32,
    /// llama.cpp: it was asked for its window once more, after its first reply.
    asked_again: AtomicBool,
}

impl LocalModel {
    pub(crate) fn new(
        info: ModelInfo,
        model: &str,
        speech: ChatProtocol,
        transport: Transport,
        prices: Prices,
    ) -> Self {
        let context = AtomicU32::new(0);
        let (learned, asked_again) = (OnceLock::new(), AtomicBool::new(false));
        let (adapted, notes, model) = (Mutex::default(), Notes::default(), model.to_owned());
        Self { given: info, learned, model, speech, transport, prices, adapted, notes, context, asked_again }
    }

    /// The same, whose requests are changed like this.
    pub(crate) fn adapted(self, adaptation: Adaptation) -> Self {
        Self { adapted: Mutex::new(adaptation), ..self }
    }

    /// Asks the server for what it knows of the model: window and tool calling. Once; a failure is left to the call.
    pub(crate) async fn learn(&self) -> Result<(), ModelFault> {
        if self.learned.get().is_some() {
            return Ok(());
        }
        let mut info = self.given.clone();
        match self.speech {
            ChatProtocol::Openai => {
                let answer = self.transport.get_json(openai::MODELS).await?;
                told_window(&mut info, openai::window_of(&answer, &self.model));
            }
            ChatProtocol::Llamacpp(_) => {
                let properties = llamacpp::properties(&self.transport.get_json(llamacpp::PROPERTIES).await?);
                told_window(&mut info, properties.window);
            }
            ChatProtocol::Ollama => {
                let answer = self.transport.post_json(ollama::SHOW, &json!({"model": self.model})).await?;
                let described = ollama::description(&answer);
                told_window(&mut info, described.window);
                info.capabilities.tools = described.tools.unwrap_or(info.capabilities.tools);
            }
        }
        // Two calls may learn at once; both learned the same.
        let _ = self.learned.set(info);
        Ok(())
    }

    /// Sends until the server takes the request: what it refuses of it is changed, once for the model.
    async fn send(&self, request: &ModelRequest, deltas: DeltaSink<'_>) -> Result<ModelReply, ModelFault> {
        let plain = request;
        let names = Names::of(plain);
        let mut changes = 0;
        let decoded = loop {
            let adapted = self.adapted.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let request = adapted.request(&names.encode(plain));
            let (mut body, path, framing) = self.body(&request).await?;
            adapted.body(&mut body);
            let body = Value::Object(body);
            let decoder: Box<dyn Decoder> = match self.speech {
                ChatProtocol::Ollama => Box::<ollama::ChatDecoder>::default(),
                _ => Box::<openai::ChatDecoder>::default(),
            };
            match self.transport.exchange(path, &body, framing, decoder, deltas).await {
                Ok(decoded) => break self.checked(&request, decoded)?,
                Err(failure) if changes < MAX_CHANGES && self.learn_from(&failure, &body, &request) => changes += 1,
                Err(failure) => return Err(overflow_by_numbers(failure, &request)),
            }
        };
        self.learn_late().await;
        Ok(self.reply(plain, decoded))
    }

    /// The request for the wire, and how its answer is framed.
    async fn body(&self, request: &ModelRequest) -> Result<(Map<String, Value>, &'static str, Framing), ModelFault> {
        Ok(match self.speech {
            ChatProtocol::Openai => (openai::encode(&self.model, request), openai::PATH, Framing::Events),
            ChatProtocol::Llamacpp(print) => {
                (llamacpp::encode(&self.model, request, print), llamacpp::PATH, Framing::Events)
            }
            ChatProtocol::Ollama => {
                // A proxy may know no description; what is wrong with the model, the call says as well.
                if let Err(fault) = self.learn().await {
                    tracing::debug!(%fault, "the server did not describe its model");
                }
                let size = ollama::context_size(request, self.context.load(Ordering::Relaxed), self.info().window)?;
                let size = self.context.fetch_max(size, Ordering::Relaxed).max(size);
                (ollama::encode(&self.model, request, size), ollama::CHAT, Framing::Lines)
            }
        })
    }

    fn checked(&self, request: &ModelRequest, decoded: Decoded) -> Result<Decoded, ModelFault> {
        if matches!(self.speech, ChatProtocol::Ollama) {
            ollama::check_truncation(request, decoded.usage.map(|usage| usage.input))?;
        }
        Ok(decoded)
    }

    /// Takes in what a refusal asks for. False: it asks for nothing that can be changed.
    fn learn_from(&self, failure: &Failure, body: &Value, request: &ModelRequest) -> bool {
        let refusal = failure
            .refusal
            .as_ref()
            .filter(|_| !matches!(failure.fault, ModelFault::ContextOverflow { .. } | ModelFault::Exhausted { .. }));
        let refusal = refusal.filter(|refusal| !matches!(refusal.status, Some(401..=404 | 408 | 425 | 429)));
        let change = refusal.zip(body.as_object()).and_then(|(refusal, sent)| Change::of(&refusal.body, sent, request));
        let Some(change) = change else { return false };
        self.notes.note(change.words(&self.given.provider));
        // A call beside this one may have learned it already.
        self.adapted.lock().unwrap_or_else(PoisonError::into_inner).learn(change);
        true
    }

    /// A llama.cpp server that was still loading when the run began tells its window now.
    async fn learn_late(&self) {
        let is_unknown = matches!(self.speech, ChatProtocol::Llamacpp(_)) && self.learned.get().is_none();
        if is_unknown && !self.asked_again.swap(true, Ordering::Relaxed) {
            let learned = tokio::time::timeout(LEARN_TIMEOUT, self.learn()).await;
            tracing::debug!(known = matches!(learned, Ok(Ok(()))), "asked the server for its window");
        }
    }

    fn reply(&self, request: &ModelRequest, decoded: Decoded) -> ModelReply {
        let usage = priced(usage_or_estimate(&decoded, request), self.prices);
        ModelReply {
            calls: with_ids(decoded.calls, request),
            text: decoded.text,
            thinking: Some(decoded.thinking).filter(|text| !text.is_empty()),
            usage,
            stop: decoded.stop,
            model: self.given.id.clone(),
            notices: self.notes.take(decoded.unlisted_end.map(|word| unlisted_words(&self.given.provider, &word))),
        }
    }
}

/// Changes of a request that one call makes.
const MAX_CHANGES: u32 = 4;

/// What a person should know of a reply that ended with a word nobody knows.
pub(crate) fn unlisted_words(provider: &str, word: &str) -> String {
    format!("{provider} ended a reply with `{word}`, whose meaning is not known; it was read as a whole reply")
}

/// A refusal that names two numbers of tokens means that the prompt is too long.
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

/// What a server tells of its window counts before a vendor row, and after a setting.
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

/// Adds the cost, where prices are known.
fn priced(mut usage: Usage, prices: Prices) -> Usage {
    usage.cost_usd = prices.cost_usd(&usage);
    usage
}

#[async_trait]
impl Model for LocalModel {
    fn info(&self) -> &ModelInfo {
        self.learned.get().unwrap_or(&self.given)
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

/// Time a server has to tell about its model when a run starts.
pub(crate) const LEARN_TIMEOUT: Duration = Duration::from_millis(500);
