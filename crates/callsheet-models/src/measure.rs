//! How fast a model is, for `callsheet model test`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use callsheet_runtime::conformance::story_request;
use callsheet_runtime::ports::{Model, ModelFault};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// Enough tokens to measure the speed well.
pub const SPEED_TOKENS: u32 = 128;

/// Speed of a single call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// Milliseconds until the first text arrived.
    pub first_text_ms: u64,
    /// Tokens written.
    pub tokens: u64,
    /// Tokens per second, from the first text to the last.
    pub tokens_per_second: f64,
}

/// Measures one reply of at most `tokens` tokens.
pub async fn speed(model: &Arc<dyn Model>, tokens: u32, cancel: &CancellationToken) -> Result<Speed, ModelFault> {
    let started = Instant::now();
    let first: Mutex<Option<Instant>> = Mutex::new(None);
    let sink = |text: &str| {
        if !text.is_empty() {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
        }
    };
    let reply = model.ask(&story_request(tokens), &sink, cancel).await?;
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(Instant::now);
    let seconds = first.elapsed().as_secs_f64();
    let tokens = reply.usage.output;
    let tokens_per_second = if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 };
    let first_text = first.saturating_duration_since(started).as_millis();
    Ok(Speed { first_text_ms: u64::try_from(first_text).unwrap_or(u64::MAX), tokens, tokens_per_second })
}
