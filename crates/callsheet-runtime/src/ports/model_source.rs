//! Chooses the model for a phase (spec 7.9). The configuration decides; the driver only asks.

use std::sync::Arc;

use callsheet_core::nouns::Phase;

use super::{Model, ModelFault};

/// Finds models by phase and request.
pub trait ModelSource: Send + Sync {
    /// The model for a phase. `wish` is the model that the skill asks for; it is used if the provider offers it.
    ///
    /// # Errors
    /// `ModelFault::Configuration` with advice if there is none.
    fn model(&self, phase: Phase, wish: Option<&str>) -> Result<Arc<dyn Model>, ModelFault>;

    /// Those of `wishes` that can be used, in their order. If there is none, the model of the phase.
    ///
    /// # Errors
    /// `ModelFault::Configuration` with advice if there is no model at all.
    fn models(&self, phase: Phase, wishes: &[&str]) -> Result<Vec<Arc<dyn Model>>, ModelFault>;
}
