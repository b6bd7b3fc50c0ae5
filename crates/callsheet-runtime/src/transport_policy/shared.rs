//! Slots and pauses that several processes share, because they use the same key of a provider.

use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// Slots and pauses that another process keeps.
#[async_trait]
pub trait SharedSlots: Debug + Send + Sync {
    /// Waits for a slot of a provider, and returns it with the rest of the provider's pause. The slot is free again when
    /// the returned value is dropped. `None` if cancelled.
    async fn acquire(
        &self,
        provider: &str,
        cancel: &CancellationToken,
    ) -> Option<(Box<dyn Any + Send + Sync>, Duration)>;

    /// Tells the others that a provider asked to wait.
    fn paused(&self, provider: &str, wait: Duration);
}
