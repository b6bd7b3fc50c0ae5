//! Slot pools: each provider serves a fixed number of calls at once. Of the waiting calls, the one that was started
//! first is served first, even if another had its prompt ready sooner. So a server with one slot works through a sheet
//! in its order.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Pauses, SharedSlots};
use crate::ports::{Clock, SystemClock};

/// The pools of all providers. Cheap to clone; clones share the pools.
#[derive(Clone, Debug)]
pub struct Slots {
    default: usize,
    sizes: Arc<BTreeMap<String, usize>>,
    pools: Pools,
    turns: Arc<AtomicU64>,
    pauses: Pauses,
    shared: Option<Arc<dyn SharedSlots>>,
}

type Pools = Arc<Mutex<BTreeMap<String, Pool>>>;

#[derive(Debug)]
struct Pool {
    free: usize,
    waiting: BTreeMap<Turn, oneshot::Sender<Permit>>,
}

/// A position in the queue, in the order in which positions were assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(u64);

/// Allows one call while it is held.
#[derive(Debug)]
pub struct Permit {
    provider: String,
    pools: Pools,
    /// The slot of pools in another process, in place of one of these.
    elsewhere: Option<Box<dyn Any + Send + Sync>>,
}

impl Slots {
    /// Pools with the given sizes, and with `default` slots for other providers. A size of 0 counts as 1, because a
    /// provider that serves nothing would block a run for ever.
    pub fn new(sizes: BTreeMap<String, usize>, default: usize) -> Self {
        Self {
            default,
            sizes: Arc::new(sizes),
            pools: Arc::default(),
            turns: Arc::default(),
            pauses: Pauses::default(),
            shared: None,
        }
    }

    /// The pools that another process keeps for several.
    pub fn shared(shared: Arc<dyn SharedSlots>) -> Self {
        let pauses = Pauses::shared(Arc::clone(&shared));
        Self { pauses, shared: Some(shared), ..Self::new(BTreeMap::new(), 1) }
    }

    /// The pauses that providers requested.
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// A position after all that were assigned before.
    pub fn turn(&self) -> Turn {
        Turn(self.turns.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits for a slot of `provider`. Of the waiting callers, the earliest turn is served first. Each waits for one
    /// slot at a time.
    ///
    /// # Errors
    /// `None` if cancelled.
    pub async fn acquire(&self, provider: &str, turn: Turn, cancel: &CancellationToken) -> Option<Permit> {
        if let Some(shared) = &self.shared {
            let (held, pause) = shared.acquire(provider, cancel).await?;
            self.pauses.extend(
                provider,
                SystemClock.now_ms().saturating_add(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
            );
            let pools = Arc::clone(&self.pools);
            return Some(Permit { provider: provider.to_owned(), pools, elsewhere: Some(held) });
        }
        let (sender, served) = oneshot::channel();
        {
            let mut pools = locked(&self.pools);
            let pool = pools.entry(provider.to_owned()).or_insert_with(|| self.new_pool(provider));
            if pool.free > 0 {
                pool.free -= 1;
                let pools = Arc::clone(&self.pools);
                return Some(Permit { provider: provider.to_owned(), pools, elsewhere: None });
            }
            pool.waiting.insert(turn, sender);
        }
        // A caller that leaves drops the other end; a slot that it was given then goes to the next caller.
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            permit = served => permit.ok(),
        }
    }

    /// Slots that are free now.
    pub fn free(&self, provider: &str) -> usize {
        locked(&self.pools).get(provider).map_or_else(|| self.size(provider), |pool| pool.free)
    }

    fn new_pool(&self, provider: &str) -> Pool {
        Pool { free: self.size(provider), waiting: BTreeMap::new() }
    }

    /// Slots of a provider, free or not.
    pub fn size(&self, provider: &str) -> usize {
        self.sizes.get(provider).copied().unwrap_or(self.default).max(1)
    }
}

impl Drop for Permit {
    /// The slot goes to the first waiting caller, or becomes free.
    fn drop(&mut self) {
        if self.elsewhere.is_some() {
            return;
        }
        let next = {
            let mut pools = locked(&self.pools);
            let Some(pool) = pools.get_mut(&self.provider) else { return };
            pool.waiting.retain(|_, waiting| !waiting.is_closed());
            let next = pool.waiting.pop_first();
            pool.free += usize::from(next.is_none());
            next
        };
        if let Some((_, waiting)) = next {
            // A caller that has just left returns the slot, which drops it once more.
            let (provider, pools) = (std::mem::take(&mut self.provider), Arc::clone(&self.pools));
            drop(waiting.send(Self { provider, pools, elsewhere: None }));
        }
    }
}

fn locked(pools: &Pools) -> MutexGuard<'_, BTreeMap<String, Pool>> {
    pools.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio_util::sync::CancellationToken;

    use super::Slots;

    #[tokio::test]
    async fn a_pool_serves_its_size_in_order_of_turns() {
        let slots = Slots::new(BTreeMap::from([("local".to_owned(), 1)]), 4);
        let cancel = CancellationToken::new();
        let held = slots.acquire("local", slots.turn(), &cancel).await.expect("free");
        let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
        let turns = [slots.turn(), slots.turn(), slots.turn()];
        for (name, turn) in [("third", turns[2]), ("first", turns[0]), ("second", turns[1])] {
            let (slots, cancel, sender) = (slots.clone(), cancel.clone(), sender.clone());
            tokio::spawn(async move {
                let permit = slots.acquire("local", turn, &cancel).await;
                sender.send(name).expect("open");
                drop(permit);
            });
            // Each task must wait before the next one comes. The test's runtime has one thread.
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
        drop(slots.acquire("local", slots.turn(), &cancel).await.expect("all given back"));
    }

    #[tokio::test]
    async fn a_cancelled_wait_ends_and_takes_no_slot() {
        let slots = Slots::new(BTreeMap::new(), 0);
        let cancel = CancellationToken::new();
        let held = slots.acquire("any", slots.turn(), &cancel).await.expect("one slot at least");
        let waiting = tokio::spawn({
            let (slots, cancel) = (slots.clone(), cancel.clone());
            async move { slots.acquire("any", slots.turn(), &cancel).await.is_none() }
        });
        tokio::task::yield_now().await;
        cancel.cancel();
        assert!(waiting.await.expect("ends"));
        drop(held);
        assert_eq!(slots.free("any"), 1);
    }
}
