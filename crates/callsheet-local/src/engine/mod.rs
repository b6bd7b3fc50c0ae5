//! The engine: one thread owns a model, requests come over a channel, contexts are created under a mutex, prompts with
//! a common beginning share one KV cache, and forced text of a constraint is fed as a batch. No type of llama.cpp
//! leaves this module.

mod chat;
mod constraint;
mod generate;
mod load;
mod owner;
mod sampler;
mod session;
mod utf8;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use callsheet_runtime::ports::{DeltaSink, Model, ModelFault, ModelInfo, ModelReply, ModelRequest};
use llama_cpp_2::model::LlamaModel;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use load::{EmbeddedOptions, LoadFault, Timing};
use owner::{Job, News, Owner};

/// A model from a GGUF file, run in this process.
///
/// The thread that owns the model answers requests one after the other. It ends when the last handle is dropped.
pub struct EmbeddedModel {
    info: ModelInfo,
    owner: Owner,
    model: Arc<LlamaModel>,
    parameters: u64,
    timing: Arc<Mutex<Timing>>,
}

impl EmbeddedModel {
    /// Loads the file. The call blocks while it reads the file, so async callers use a blocking thread.
    ///
    /// # Errors
    /// If the file is missing, is no GGUF file, or llama.cpp cannot use it. A retry does not help.
    pub fn load(path: &Path, options: &EmbeddedOptions) -> Result<Self, LoadFault> {
        let loaded = load::load(path, options)?;
        let (info, model) = (loaded.info.clone(), Arc::clone(&loaded.model));
        let (parameters, timing) = (model.n_params(), Arc::clone(&loaded.timing));
        let owner = Owner::start(loaded)?;
        Ok(Self { info, owner, model, parameters, timing })
    }

    /// How the time of the replies so far was spent.
    pub fn timing(&self) -> Timing {
        *self.timing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of parameters according to the file.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }
}

#[async_trait]
impl Model for EmbeddedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        // The owner watches this token, so it also stops when this future is dropped.
        let stop = cancel.child_token();
        let _guard = stop.clone().drop_guard();
        let deadline = Instant::now().checked_add(request.deadline);
        let (news, mut heard) = mpsc::unbounded_channel();
        self.owner.send(Job { request: request.clone(), deadline, stop, news })?;
        let answer = async {
            while let Some(told) = heard.recv().await {
                match told {
                    News::Text(text) => deltas(&text),
                    News::Done(result) => return *result,
                }
            }
            Err(owner::gone())
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelFault::Cancelled),
            answer = tokio::time::timeout(request.deadline, answer) => answer.unwrap_or(Err(ModelFault::Deadline)),
        }
    }

    fn count_tokens(&self, text: &str) -> Option<u32> {
        u32::try_from(self.model.vocab().tokenize(text.as_bytes(), false, false).len()).ok()
    }
}
