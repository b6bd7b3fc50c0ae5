//! Pauses of providers. If a provider asks to wait, all calls to it wait, not only the one that was told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::SharedSlots;
use crate::ports::Clock;

/// The pauses of all providers. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    by_provider: Arc<Mutex<BTreeMap<String, Pause>>>,
    shared: Option<Arc<dyn SharedSlots>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// When it began.
    from_ms: u64,
    /// The time before which nobody calls.
    until_ms: u64,
    /// Number of consecutive pauses.
    count: u32,
}

impl Pauses {
    /// Pauses of which other processes hear.
    pub fn shared(shared: Arc<dyn SharedSlots>) -> Self {
        Self { shared: Some(shared), ..Self::default() }
    }

    /// Records that the provider asks to wait, and tells other processes that share its slots. A longer pause stays.
    /// Returns when it ends.
    pub fn request(&self, provider: &str, wait: Duration, now_ms: u64) -> u64 {
        let until = now_ms.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self.extend(provider, until);
        self.shared.iter().for_each(|shared| shared.paused(provider, wait));
        until
    }

    /// How long a call to this provider must wait now.
    pub fn left(&self, provider: &str, now_ms: u64) -> Duration {
        let until = self.locked().get(provider).map_or(0, |pause| pause.until_ms);
        Duration::from_millis(until.saturating_sub(now_ms))
    }

    /// Waits until the provider may be called. If the pause is extended in the meantime, waits for that too.
    pub async fn over(&self, provider: &str, clock: &dyn Clock) {
        let mut waited = 0;
        loop {
            let until = self.locked().get(provider).map_or(0, |pause| pause.until_ms);
            let left = until.saturating_sub(clock.now_ms());
            if left == 0 || until == waited {
                return;
            }
            clock.sleep(Duration::from_millis(left)).await;
            waited = until;
        }
    }

    /// Records that a call sent at `sent_ms` was told to wait. A call that was sent before the pause began does not add
    /// to the number of consecutive pauses. Returns this number, from 1.
    pub fn in_a_row(&self, provider: &str, sent_ms: u64, now_ms: u64) -> u32 {
        let mut pauses = self.locked();
        let pause = pauses.entry(provider.to_owned()).or_default();
        if pause.count == 0 || sent_ms >= pause.until_ms {
            pause.count = pause.count.saturating_add(1);
            pause.from_ms = now_ms;
        }
        pause.count
    }

    /// Sets the time before which the provider is not called. A longer pause stays.
    pub fn extend(&self, provider: &str, until_ms: u64) {
        let mut pauses = self.locked();
        let pause = pauses.entry(provider.to_owned()).or_default();
        pause.until_ms = pause.until_ms.max(until_ms);
    }

    /// Records that the provider answered a call sent at `sent_ms`. A call that was sent after the last pause began
    /// ends the sequence of pauses.
    pub fn answered(&self, provider: &str, sent_ms: u64) {
        if let Some(pause) = self.locked().get_mut(provider).filter(|pause| sent_ms >= pause.from_ms) {
            pause.count = 0;
        }
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, Pause>> {
        self.by_provider.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 12.1
    #[test]
    fn calls_that_were_under_way_make_no_second_pause() {
        let pauses = Pauses::default();
        assert_eq!(pauses.in_a_row("acme", 0, 10), 1);
        pauses.extend("acme", 1_000);
        assert_eq!(pauses.in_a_row("acme", 5, 20), 1, "it was sent before the pause");
        pauses.extend("acme", 500);
        assert_eq!(pauses.left("acme", 100), Duration::from_millis(900), "a longer pause stays");
        assert_eq!(pauses.left("other", 100), Duration::ZERO);
        assert_eq!(pauses.in_a_row("acme", 1_000, 1_001), 2);
        pauses.answered("acme", 1_000);
        assert_eq!(pauses.in_a_row("acme", 2_000, 2_001), 3, "that answer was sent before");
        pauses.answered("acme", 2_500);
        assert_eq!(pauses.in_a_row("acme", 3_000, 3_001), 1);
    }
}
