//! Models behind our own dialects: OpenAI chat, llama.cpp, Ollama.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::record::Usage;
use callsheet_runtime::ports::{DeltaSink, Model, ModelFault, ModelInfo, ModelReply, ModelRequest, WindowFrom};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::config::Prices;
use crate::tokens;
use crate::transport::{Framing, Transport, guarded};
use crate::wire::llamacpp::PrintGrammar;
use crate::wire::names::Names;
use crate::wire::{Decoded, llamacpp, ollama, openai, with_ids};

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
        Self { given: info, learned, model: model.to_owned(), speech, transport, prices, context, asked_again }
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

    async fn send(&self, request: &ModelRequest, deltas: DeltaSink<'_>) -> Result<ModelReply, ModelFault> {
        let plain = request;
        let request = &*Names::of(plain).encode(plain);
        let decoded = match self.speech {
            ChatProtocol::Openai => {
                let body = Value::Object(openai::encode(&self.model, request));
                let decoder = Box::new(openai::ChatDecoder::default());
                self.transport.exchange(openai::PATH, &body, Framing::Events, decoder, deltas).await?
            }
            ChatProtocol::Llamacpp(print) => {
                let body = Value::Object(llamacpp::encode(&self.model, request, print));
                let decoder = Box::new(openai::ChatDecoder::default());
                self.transport.exchange(llamacpp::PATH, &body, Framing::Events, decoder, deltas).await?
            }
            ChatProtocol::Ollama => self.send_to_ollama(request, deltas).await?,
        };
        self.learn_late().await;
        Ok(self.reply(plain, decoded))
    }

    /// A llama.cpp server that was still loading when the run began tells its window now.
    async fn learn_late(&self) {
        let is_unknown = matches!(self.speech, ChatProtocol::Llamacpp(_)) && self.learned.get().is_none();
        if is_unknown && !self.asked_again.swap(true, Ordering::Relaxed) {
            let learned = tokio::time::timeout(LEARN_TIMEOUT, self.learn()).await;
            tracing::debug!(known = matches!(learned, Ok(Ok(()))), "asked the server for its window");
        }
    }

    async fn send_to_ollama(&self, request: &ModelRequest, deltas: DeltaSink<'_>) -> Result<Decoded, ModelFault> {
        self.learn().await?;
        let size = ollama::context_size(request, self.context.load(Ordering::Relaxed), self.info().window)?;
        let size = self.context.fetch_max(size, Ordering::Relaxed).max(size);
        let body = Value::Object(ollama::encode(&self.model, request, size));
        let decoder = Box::new(ollama::ChatDecoder::default());
        let decoded = self.transport.exchange(ollama::CHAT, &body, Framing::Lines, decoder, deltas).await?;
        ollama::check_truncation(request, decoded.usage.map(|usage| usage.input))?;
        Ok(decoded)
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
        }
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
