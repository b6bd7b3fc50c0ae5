//! Slot pools: each provider serves a set number of calls at once. First come, first served.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The pools of all providers. Cheap to clone; clones share the pools.
#[derive(Clone, Debug)]
pub struct Slots {
    default: usize,
    sizes: Arc<BTreeMap<String, usize>>,
    pools: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
}

/// One call may be made while this is held.
#[derive(Debug)]
pub struct Permit {
    _permit: OwnedSemaphorePermit,
}

impl Slots {
    /// Pools of the given sizes, and of `default` slots for providers that are not named. A size of 0 counts as 1:
    /// a provider that serves nothing would hold a run for ever.
    pub fn new(sizes: BTreeMap<String, usize>, default: usize) -> Self {
        Self { default, sizes: Arc::new(sizes), pools: Arc::default() }
    }

    /// Waits for a slot of `provider`. Those who wait are served in the order they came.
    ///
    /// # Errors
    /// `None` if cancelled.
    pub async fn acquire(&self, provider: &str, cancel: &CancellationToken) -> Option<Permit> {
        let pool = self.pool(provider);
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            permit = pool.acquire_owned() => permit.ok().map(|permit| Permit { _permit: permit }),
        }
    }

    /// Slots that are free now.
    pub fn free(&self, provider: &str) -> usize {
        self.pool(provider).available_permits()
    }

    fn pool(&self, provider: &str) -> Arc<Semaphore> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let size = self.sizes.get(provider).copied().unwrap_or(self.default).clamp(1, Semaphore::MAX_PERMITS);
        pools.entry(provider.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(size))).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio_util::sync::CancellationToken;

    use super::Slots;

    #[tokio::test]
    async fn a_pool_serves_its_size_in_order_of_arrival() {
        let slots = Slots::new(BTreeMap::from([("local".to_owned(), 1)]), 4);
        let cancel = CancellationToken::new();
        let held = slots.acquire("local", &cancel).await.expect("free");
        let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
        for name in ["first", "second", "third"] {
            let (slots, cancel, sender) = (slots.clone(), cancel.clone(), sender.clone());
            tokio::spawn(async move {
                let permit = slots.acquire("local", &cancel).await;
                sender.send(name).expect("open");
                drop(permit);
            });
            // Each task must be waiting before the next comes; the test's runtime has one thread.
            tokio::task::yield_now().await;
        }
        assert!(order.try_recv().is_err(), "nobody is served while the only slot is held");
        assert_eq!((slots.free("local"), slots.free("hosted")), (0, 4));
        drop(held);
        let mut served = Vec::new();
        for _ in 0..3 {
            served.push(order.recv().await.expect("served"));
        }
        assert_eq!(served, ["first", "second", "third"]);
        drop(slots.acquire("local", &cancel).await.expect("all given back"));
    }

    #[tokio::test]
    async fn a_cancelled_wait_ends_and_takes_no_slot() {
        let slots = Slots::new(BTreeMap::new(), 0);
        let cancel = CancellationToken::new();
        let held = slots.acquire("any", &cancel).await.expect("one slot at least");
        let waiting = tokio::spawn({
            let (slots, cancel) = (slots.clone(), cancel.clone());
            async move { slots.acquire("any", &cancel).await.is_none() }
        });
        tokio::task::yield_now().await;
        cancel.cancel();
        assert!(waiting.await.expect("ends"));
        drop(held);
        assert_eq!(slots.free("any"), 1);
    }
}
