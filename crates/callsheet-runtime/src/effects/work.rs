//! What every effect is given, and what it comes to.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use callsheet_core::events::Event;
use callsheet_core::record::{EffectKey, Outcome};
use tokio_util::sync::CancellationToken;

use crate::fault::DriveFault;
use crate::services::Services;
use crate::transport_policy::Turn;

/// An effect that came to its end.
pub(crate) struct Completion {
    pub(crate) key: EffectKey,
    pub(crate) result: Result<EffectResult, DriveFault>,
}

/// What an effect came to.
pub(crate) enum EffectResult {
    /// Events to record.
    Events(Vec<Event>),
    /// Nobody can be asked; the outcome this leads to once nothing else can be done.
    Unattended(Outcome),
}

/// What an effect has to work with.
pub(crate) struct Work {
    pub(crate) services: Arc<Services>,
    /// Nobody waits for the result any more.
    pub(crate) cancel: CancellationToken,
    /// Its place among those that were started.
    pub(crate) turn: Turn,
}

/// An effect in flight.
pub(crate) type EffectFuture = Pin<Box<dyn Future<Output = Result<EffectResult, DriveFault>> + Send>>;

/// A future that is already over.
pub(crate) fn ready(result: Result<Vec<Event>, DriveFault>) -> EffectFuture {
    Box::pin(async { result.map(EffectResult::Events) })
}
