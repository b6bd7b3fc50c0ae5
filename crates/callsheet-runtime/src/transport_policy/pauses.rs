//! Pauses of providers: a provider that asks to wait means all calls, not only the one that it told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ports::Clock;

/// The pauses of all providers. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Pauses(Arc<Mutex<BTreeMap<String, Pause>>>);

#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// When it began.
    from_ms: u64,
    /// Until when nobody calls.
    until_ms: u64,
    /// Pauses in a row.
    count: u32,
}

impl Pauses {
    /// How long a call of this provider has to wait now.
    pub fn left(&self, provider: &str, now_ms: u64) -> Duration {
        let until = self.locked().get(provider).map_or(0, |pause| pause.until_ms);
        Duration::from_millis(until.saturating_sub(now_ms))
    }

    /// Waits until the provider may be called. A pause that grows meanwhile is waited for as well.
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

    /// A call that was sent at `sent_ms` was told to wait. Calls that were sent before the pause began do not make it one
    /// more in a row. Returns how many there are, from 1.
    pub fn in_a_row(&self, provider: &str, sent_ms: u64, now_ms: u64) -> u32 {
        let mut pauses = self.locked();
        let pause = pauses.entry(provider.to_owned()).or_default();
        if pause.count == 0 || sent_ms >= pause.until_ms {
            pause.count = pause.count.saturating_add(1);
            pause.from_ms = now_ms;
        }
        pause.count
    }

    /// The provider is not called before this; a longer pause stays.
    pub fn extend(&self, provider: &str, until_ms: u64) {
        let mut pauses = self.locked();
        let pause = pauses.entry(provider.to_owned()).or_default();
        pause.until_ms = pause.until_ms.max(until_ms);
    }

    /// The provider answered a call that was sent at `sent_ms`: what was sent after the last pause began ends the row.
    pub fn answered(&self, provider: &str, sent_ms: u64) {
        if let Some(pause) = self.locked().get_mut(provider).filter(|pause| sent_ms >= pause.from_ms) {
            pause.count = 0;
        }
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, Pause>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
