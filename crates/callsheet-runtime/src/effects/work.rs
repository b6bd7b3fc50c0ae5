//! The input and the result of every effect.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use callsheet_core::events::Event;
use callsheet_core::record::{EffectKey, Outcome};
use tokio_util::sync::CancellationToken;

use crate::fault::DriveFault;
use crate::services::Services;
use crate::transport_policy::Turn;

/// A finished effect.
pub(crate) struct Completion {
    pub(crate) key: EffectKey,
    pub(crate) result: Result<EffectResult, DriveFault>,
}

/// The result of an effect.
pub(crate) enum EffectResult {
    /// Events to record.
    Events(Vec<Event>),
    /// Nobody can be asked. This is the outcome once nothing else can be done.
    Unattended(Outcome),
}

/// What an effect works with.
pub(crate) struct Work {
    pub(crate) services: Arc<Services>,
    /// Cancelled when nobody waits for the result any more.
    pub(crate) cancel: CancellationToken,
    /// Its position among the started effects.
    pub(crate) turn: Turn,
}

/// An effect in flight.
pub(crate) type EffectFuture = Pin<Box<dyn Future<Output = Result<EffectResult, DriveFault>> + Send>>;

/// A future that is already complete.
pub(crate) fn ready(result: Result<Vec<Event>, DriveFault>) -> EffectFuture {
    Box::pin(async { result.map(EffectResult::Events) })
}
