//! Repeated sends for communication failures inside one attempt (spec 12.1).

use std::future::Future;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::ports::{Clock, ModelFault};

/// How often and how long. The defaults are those of spec 12.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Sends in all, at least 1.
    pub sends: u32,
    /// Wait before the second send; each later one waits four times as long.
    pub first_wait: Duration,
    /// Share by which a wait varies either way.
    pub spread: f64,
    /// Longest `Retry-After` that is followed; a longer one is cut to it.
    pub longest: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { sends: 3, first_wait: Duration::from_secs(1), spread: 0.2, longest: Duration::from_secs(60) }
    }
}

/// How it came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent<T> {
    /// What the last send gave.
    pub result: Result<T, ModelFault>,
    /// Sends that were made.
    pub sends: u32,
}

impl RetryPolicy {
    /// The wait after failed send number `send`, from 1. `draw` is a random number from 0 to 1 and varies only our own
    /// waits; what the provider asks for is kept.
    pub fn wait(&self, send: u32, retry_after: Option<Duration>, draw: f64) -> Duration {
        if let Some(asked) = retry_after {
            return asked.min(self.longest);
        }
        let wait = self.first_wait.saturating_mul(4_u32.saturating_pow(send.saturating_sub(1))).min(self.longest);
        let factor = 1.0 + self.spread.clamp(0.0, 1.0) * (draw.clamp(0.0, 1.0) * 2.0 - 1.0);
        Duration::try_from_secs_f64(wait.as_secs_f64() * factor).unwrap_or(wait)
    }
}

/// Sends until it succeeds, fails other than by communication, or the sends are used up. `on_retry` hears of each failed
/// send that is tried again: its number, the wait and the message. A cancelled wait ends with `Cancelled`.
pub async fn send<T, F, R>(
    policy: &RetryPolicy,
    clock: &dyn Clock,
    draw: &mut (dyn FnMut() -> f64 + Send),
    cancel: &CancellationToken,
    on_retry: &mut (dyn FnMut(u32, Duration, &str) + Send),
    mut once: F,
) -> Sent<T>
where
    F: FnMut(u32) -> R,
    R: Future<Output = Result<T, ModelFault>>,
{
    let mut sends = 1;
    loop {
        let result = once(sends).await;
        let (message, retry_after) = match &result {
            Err(ModelFault::Communication { message, retry_after }) if sends < policy.sends => (message, *retry_after),
            _ => return Sent { result, sends },
        };
        let wait = policy.wait(sends, retry_after, draw());
        on_retry(sends, wait, message);
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Sent { result: Err(ModelFault::Cancelled), sends },
            () = clock.sleep(wait) => {}
        }
        sends = sends.saturating_add(1);
    }
}

/// A random number from 0 to 1, from the seed the standard library gives each hasher.
pub fn jitter() -> f64 {
    let number = std::hash::RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(number >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use async_trait::async_trait;
    use tokio_util::sync::CancellationToken;

    use super::{RetryPolicy, Sent, jitter, send};
    use crate::ports::{Clock, ModelFault};

    /// Does not wait and remembers how long it was asked to.
    #[derive(Default)]
    struct Waits(Mutex<Vec<Duration>>);

    #[async_trait]
    impl Clock for Waits {
        fn now_ms(&self) -> u64 {
            0
        }

        async fn sleep(&self, duration: Duration) {
            self.0.lock().unwrap().push(duration);
        }
    }

    fn lost(retry_after: Option<u64>) -> Result<u32, ModelFault> {
        let retry_after = retry_after.map(Duration::from_secs);
        Err(ModelFault::Communication { message: "lost".to_owned(), retry_after })
    }

    async fn sent(
        replies: &[Result<u32, ModelFault>],
        draw: f64,
        cancel: &CancellationToken,
    ) -> (Sent<u32>, Vec<Duration>) {
        let clock = Waits::default();
        let mut heard = Vec::new();
        let result = send(
            &RetryPolicy::default(),
            &clock,
            &mut || draw,
            cancel,
            &mut |number, wait, message| heard.push((number, wait, message.to_owned())),
            |number| std::future::ready(replies[number as usize - 1].clone()),
        )
        .await;
        let waits = clock.0.into_inner().unwrap();
        for ((number, wait, message), (at, waited)) in heard.iter().zip((1..).zip(&waits)) {
            assert_eq!((*number, wait, message.as_str()), (at, waited, "lost"));
        }
        (result, waits)
    }

    /// covers: 12.1
    #[tokio::test]
    async fn three_sends_wait_one_and_four_seconds() {
        let cancel = CancellationToken::new();
        let (result, waits) = sent(&[lost(None), lost(None), lost(None), Ok(1)], 0.5, &cancel).await;
        assert_eq!(result, Sent { result: lost(None), sends: 3 });
        assert_eq!(waits, [1, 4].map(Duration::from_secs));
    }

    #[tokio::test]
    async fn waits_vary_by_a_fifth_and_follow_the_provider_up_to_a_minute() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.wait(1, None, 0.0), Duration::from_millis(800));
        assert_eq!(policy.wait(2, None, 1.0), Duration::from_millis(4_800));
        assert_eq!(policy.wait(1, Some(Duration::from_secs(30)), 1.0), Duration::from_secs(30));
        assert_eq!(policy.wait(1, Some(Duration::from_secs(3_600)), 0.0), Duration::from_secs(60));
        assert_eq!(policy.wait(u32::MAX, None, 0.5), Duration::from_secs(60));
        let draws = [jitter(), jitter()];
        assert!(draws.iter().all(|draw| (0.0..=1.0).contains(draw)));
    }

    #[tokio::test]
    async fn other_faults_are_not_sent_again() {
        let cancel = CancellationToken::new();
        let fault = ModelFault::Configuration { message: "no key".to_owned() };
        let (result, waits) = sent(&[lost(Some(2)), Err(fault.clone()), Ok(1)], 0.5, &cancel).await;
        assert_eq!(result, Sent { result: Err(fault), sends: 2 });
        assert_eq!(waits, [Duration::from_secs(2)]);
        let (result, waits) = sent(&[Ok(7)], 0.5, &cancel).await;
        assert_eq!((result, waits), (Sent { result: Ok(7), sends: 1 }, Vec::new()));
    }

    #[tokio::test]
    async fn a_cancelled_wait_sends_no_more() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let (result, waits) = sent(&[lost(None), Ok(1)], 0.5, &cancel).await;
        assert_eq!(result, Sent { result: Err(ModelFault::Cancelled), sends: 1 });
        assert!(waits.is_empty());
    }
}
