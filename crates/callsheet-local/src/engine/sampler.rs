//! Choosing a token.

use callsheet_runtime::ports::ModelRequest;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;
use llguidance::toktrie::SimpleVob;

/// Temperature for a request that names none.
const TEMPERATURE: f64 = 0.2;
const TOP_K: i32 = 40;
const TOP_P: f32 = 0.95;
const MIN_P: f32 = 0.05;
/// Models below this many parameters repeat themselves without a penalty.
const TINY: u64 = 1_000_000_000;
const PENALTY: f32 = 1.15;
const PENALTY_WINDOW: i32 = 128;

/// A chain of samplers for one reply.
pub(super) struct Sampler {
    chain: LlamaSampler,
}

impl Sampler {
    pub fn new(model: &LlamaModel, request: &ModelRequest) -> Self {
        #[allow(clippy::cast_possible_truncation, reason = "llama.cpp counts so")]
        let temperature = request.temperature.unwrap_or(TEMPERATURE) as f32;
        let mut chain = Vec::new();
        if model.n_params() < TINY {
            chain.push(LlamaSampler::penalties(model.n_vocab(), PENALTY_WINDOW, PENALTY, 0.0, 0.0));
        }
        if temperature > 0.0 && temperature.is_finite() {
            // The low bits are the seed. Without a seed, llama.cpp draws one.
            let seed = request.seed.map_or(u32::MAX, |seed| u32::try_from(seed & 0x7fff_ffff).unwrap_or(0));
            chain.extend([
                LlamaSampler::top_k(TOP_K),
                LlamaSampler::top_p(TOP_P, 1),
                LlamaSampler::min_p(MIN_P, 1),
                LlamaSampler::temp(temperature),
                LlamaSampler::dist(seed),
            ]);
        } else {
            chain.push(LlamaSampler::greedy());
        }
        Self { chain: LlamaSampler::chain(chain, true) }
    }

    /// Chooses one token of `allowed`, or `None` if there is none. Forced text never comes here, so the repetition
    /// penalty counts only free tokens.
    pub fn pick(&mut self, logits: &[f32], allowed: Option<&SimpleVob>) -> Option<LlamaToken> {
        let data = |id: usize, logit: f32| Some(LlamaTokenData::new(LlamaToken(i32::try_from(id).ok()?), logit, 0.0));
        let candidates: Vec<LlamaTokenData> = match allowed {
            None => logits.iter().enumerate().filter_map(|(id, logit)| data(id, *logit)).collect(),
            Some(mask) => {
                let mut found = Vec::new();
                mask.iter_set_entries(|id| found.extend(logits.get(id).and_then(|logit| data(id, *logit))));
                found
            }
        };
        if candidates.is_empty() {
            return None;
        }
        let mut candidates = LlamaTokenDataArray::new(candidates, false);
        self.chain.apply(&mut candidates);
        let token = candidates.selected_token()?;
        self.chain.accept(token);
        Some(token)
    }
}
