//! Sampling: temperature and seed of a call.

use callsheet_core::nouns::Phase;
use callsheet_core::run::{ModelCall, Run};

use crate::ports::{Capabilities, ModelRequest};

/// Attempts after the first have at least this temperature. Otherwise a greedy reply that was rejected would come
/// again.
const AGAIN: f64 = 0.3;

/// Temperature and seed of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sampling {
    temperature: f64,
    seed: u64,
}

impl Sampling {
    /// The result of the settings and the attempt number. Forms are sampled greedily: their reader wants the likeliest
    /// name and nothing new.
    pub fn of(run: &Run, asked: &ModelCall) -> Self {
        let settings = run.settings();
        let temperature = if asked.key.phase == Phase::Execute { settings.temperature } else { 0.0 };
        // A review belongs to the attempt whose result it is about, and is asked once.
        let attempts = run.attempts(&asked.key).filter(|_| asked.key.phase != Phase::Review);
        let before = attempts.map_or(0, |attempts| attempts.attempt.saturating_sub(1));
        let temperature = if before == 0 { temperature } else { temperature.max(AGAIN) };
        Self { temperature, seed: settings.seed.wrapping_add(u64::from(before)) }
    }

    /// Writes into a request what its model accepts.
    pub fn write(self, request: &mut ModelRequest, capabilities: Capabilities) {
        request.temperature = capabilities.temperature.then_some(self.temperature);
        request.seed = capabilities.seed.then_some(self.seed);
    }
}
