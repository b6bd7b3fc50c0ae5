//! What a model can really do, for `callsheet model test`: the conformance suite's positive checks and its speed, as
//! data.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use callsheet_runtime::conformance::{Finding, Scene, Subject, check_model, story_request};
use callsheet_runtime::ports::{Model, ModelFault, ModelInfo};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// Tokens written to measure the speed.
const SPEED_TOKENS: u32 = 128;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// What the model says of itself: window and abilities.
    pub info: ModelInfo,
    /// Calls its server works on at once, if it tells.
    pub slots: Option<u32>,
    /// The checks, each passed, failed or skipped.
    pub findings: Vec<Finding>,
    /// Its speed; `None` if that call failed.
    pub speed: Option<Speed>,
    /// Why there is no speed.
    pub fault: Option<String>,
}

/// Speed of one call alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// Until the first text arrived, milliseconds.
    pub first_text_ms: u64,
    /// Tokens written.
    pub tokens: u64,
    /// Tokens a second, from the first text to the last.
    pub tokens_per_second: f64,
}

/// Asks the model a handful of small questions. `slots` is what its server told: see [`crate::probe::slots_of`].
pub async fn measure(model: Arc<dyn Model>, slots: Option<u32>, cancel: &CancellationToken) -> Measured {
    let findings = check_model(&Alone(Arc::clone(&model))).await;
    let (speed, fault) = match speed(&model, cancel).await {
        Ok(speed) => (Some(speed), None),
        Err(fault) => (None, Some(fault.to_string())),
    };
    Measured { info: model.info().clone(), slots, findings, speed, fault }
}

/// Measures one long reply.
pub async fn speed(model: &Arc<dyn Model>, cancel: &CancellationToken) -> Result<Speed, ModelFault> {
    let started = Instant::now();
    let first: Mutex<Option<Instant>> = Mutex::new(None);
    let sink = |text: &str| {
        if !text.is_empty() {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
        }
    };
    let reply = model.ask(&story_request(SPEED_TOKENS), &sink, cancel).await?;
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(Instant::now);
    let seconds = first.elapsed().as_secs_f64();
    let tokens = reply.usage.output;
    let tokens_per_second = if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 };
    let first_text = first.saturating_duration_since(started).as_millis();
    Ok(Speed { first_text_ms: u64::try_from(first_text).unwrap_or(u64::MAX), tokens, tokens_per_second })
}

/// A model that plays every scene a sound server can play.
struct Alone(Arc<dyn Model>);

impl Subject for Alone {
    fn model(&self, scene: Scene) -> Result<Arc<dyn Model>, String> {
        match scene {
            Scene::Text
            | Scene::Length
            | Scene::Slow
            | Scene::Tool
            | Scene::Results
            | Scene::Schema
            | Scene::Grammar => Ok(Arc::clone(&self.0)),
            _ => Err("a sound server does not fail on demand".to_owned()),
        }
    }
}
