//! The context and its KV cache: what the cache holds, and how to add a prompt at low cost.

use callsheet_runtime::ports::ModelFault;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use super::load::Loaded;
use super::owner::Job;

/// One context and the tokens in its cache.
pub(super) struct Session<'a> {
    context: LlamaContext<'a>,
    loaded: &'a Loaded,
    batch: LlamaBatch<'a>,
    batch_size: usize,
    cached: Vec<LlamaToken>,
}

/// A fault of the engine that a retry may fix.
pub(super) fn engine_fault(message: impl std::fmt::Display) -> ModelFault {
    ModelFault::Communication { message: format!("the embedded engine failed: {message}") }
}

impl<'a> Session<'a> {
    pub fn new(context: LlamaContext<'a>, loaded: &'a Loaded) -> Self {
        let batch_size = usize::try_from(context.n_batch()).unwrap_or(1).max(1);
        Self { context, loaded, batch: LlamaBatch::new(batch_size, 1), batch_size, cached: Vec::new() }
    }

    pub fn model(&self) -> &'a LlamaModel {
        &self.loaded.model
    }

    pub fn loaded(&self) -> &'a Loaded {
        self.loaded
    }

    /// Empties the cache, because after a fault its content is unknown.
    pub fn forget(&mut self) {
        self.context.clear_kv_cache();
        self.cached.clear();
    }

    /// Keeps what the cache has in common with `prompt`, removes the rest, and returns how many tokens remain. The
    /// others must be fed. At least the last token is always left to feed, because that produces its logits.
    pub fn rewind(&mut self, prompt: &[LlamaToken]) -> usize {
        let common = self.cached.iter().zip(prompt).take_while(|(a, b)| a == b).count();
        let keep = common.min(prompt.len().saturating_sub(1));
        let from = u32::try_from(keep).ok();
        match self.context.clear_kv_cache_seq(Some(0), from, None) {
            Ok(true) => self.cached.truncate(keep),
            // Some architectures cannot remove a part of their state.
            _ => self.forget(),
        }
        self.cached.len()
    }

    /// Decodes `tokens`. Afterwards the logits are those after the last token.
    pub fn feed(&mut self, tokens: &[LlamaToken], job: &Job) -> Result<(), ModelFault> {
        let mut left = tokens.len();
        for chunk in tokens.chunks(self.batch_size) {
            job.check()?;
            left -= chunk.len();
            self.batch.clear();
            for (index, token) in chunk.iter().enumerate() {
                let position = i32::try_from(self.cached.len() + index).map_err(engine_fault)?;
                let wanted = left == 0 && index + 1 == chunk.len();
                self.batch.add(*token, position, &[0], wanted).map_err(engine_fault)?;
            }
            self.context.decode(&mut self.batch).map_err(engine_fault)?;
            self.cached.extend_from_slice(chunk);
        }
        Ok(())
    }

    /// Logits after the last token that was fed, one for each token of the vocabulary.
    pub fn logits(&self) -> &[f32] {
        self.context.get_logits_ith(-1)
    }
}
