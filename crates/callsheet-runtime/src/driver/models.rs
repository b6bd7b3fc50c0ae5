//! Which model answers a phase (spec 7.9). The configuration knows; the driver only asks.

use std::sync::Arc;

use callsheet_core::spec::Phase;

use crate::ports::{Model, ModelFault};

/// Finds models by phase and wish.
pub trait ModelSource: Send + Sync {
    /// The model of a phase. `wish` is what the skill asks for; it is granted if the provider offers it.
    ///
    /// # Errors
    /// `ModelFault::Configuration` with advice if there is none.
    fn model(&self, phase: Phase, wish: Option<&str>) -> Result<Arc<dyn Model>, ModelFault>;

    /// Those of `wishes` that can be used, in their order; the model of the phase if there is none.
    ///
    /// # Errors
    /// `ModelFault::Configuration` with advice if there is no model at all.
    fn models(&self, phase: Phase, wishes: &[&str]) -> Result<Vec<Arc<dyn Model>>, ModelFault>;
}
