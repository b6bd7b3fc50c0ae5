//! Repeated sends within one attempt (spec 12.1): a communication failure is retried a few times, and a busy provider
//! is waited for as long as the call has time.

use std::future::Future;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Pauses;
use crate::ports::{Clock, ModelFault};

/// How often and how long. The defaults are those of spec 12.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// The maximum number of sends that may fail because of communication. At least 1.
    pub sends: u32,
    /// Wait before the second send. Each later wait is four times as long.
    pub first_wait: Duration,
    /// By which share a wait varies in either direction.
    pub spread: f64,
    /// The longest wait that the provider did not ask for.
    pub longest: Duration,
    /// Whether another model can be asked. Then a busy provider is waited for no longer than one that fails.
    pub has_other: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let (first_wait, longest) = (Duration::from_secs(1), Duration::from_secs(60));
        Self { sends: 3, first_wait, spread: 0.2, longest, has_other: false }
    }
}

/// The outcome of sending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent<T> {
    /// The result of the last send.
    pub result: Result<T, ModelFault>,
    /// Number of sends.
    pub sends: u32,
}

/// A provider, shared by its calls.
pub struct Line<'a> {
    /// Its name.
    pub provider: &'a str,
    /// The pauses it asked for.
    pub pauses: &'a Pauses,
    /// Time.
    pub clock: &'a dyn Clock,
    /// When the call runs out of time.
    pub until_ms: u64,
}

/// What is reported about the sends of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    /// This send failed and is repeated after the wait.
    Again(u32, Duration, &'a str),
    /// The provider asked other calls to wait, so this one waits too.
    Held(Duration),
}

impl RetryPolicy {
    /// The wait after failed send number `send`, counted from 1. `draw` is a random number from 0 to 1.
    pub fn wait(&self, send: u32, draw: f64) -> Duration {
        let wait = self.first_wait.saturating_mul(4_u32.saturating_pow(send.saturating_sub(1))).min(self.longest);
        let factor = 1.0 + self.spread.clamp(0.0, 1.0) * (draw.clamp(0.0, 1.0) * 2.0 - 1.0);
        Duration::try_from_secs_f64(wait.as_secs_f64() * factor).unwrap_or(wait)
    }
}

/// Sends until it succeeds, fails in another way, or has used up the sends or the time of the call. A cancelled wait
/// ends with `Cancelled`.
pub async fn send<T, F, R>(
    policy: &RetryPolicy,
    line: &Line<'_>,
    draw: &mut (dyn FnMut() -> f64 + Send),
    cancel: &CancellationToken,
    tell: &mut (dyn FnMut(Told<'_>) + Send),
    mut once: F,
) -> Sent<T>
where
    F: FnMut(u32) -> R,
    R: Future<Output = Result<T, ModelFault>>,
{
    let (mut sends, mut failures, mut refusals) = (0_u32, 0_u32, 0_u32);
    loop {
        if let Some(fault) = held(line, cancel, tell).await {
            return Sent { result: Err(fault), sends };
        }
        sends = sends.saturating_add(1);
        let sent_ms = line.clock.now_ms();
        let result = once(sends).await;
        match &result {
            Err(ModelFault::Communication { message }) if failures.saturating_add(1) < policy.sends => {
                failures = failures.saturating_add(1);
                let wait = policy.wait(failures, draw());
                tell(Told::Again(sends, wait, message));
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Sent { result: Err(ModelFault::Cancelled), sends },
                    () = line.clock.sleep(wait) => {}
                }
            }
            Err(ModelFault::Busy { message, wait }) => {
                refusals = refusals.saturating_add(1);
                let now = line.clock.now_ms();
                let row = line.pauses.in_a_row(line.provider, sent_ms, now);
                let wait = wait.unwrap_or_else(|| policy.wait(row, draw()));
                let until = line.pauses.request(line.provider, wait, now);
                let given_up = policy.has_other && refusals >= policy.sends;
                if given_up || until >= line.until_ms {
                    let message =
                        format!("{message}; it asks to wait {} s, but this call has less time left", seconds(wait));
                    let message = if given_up { result_words(&result) } else { message };
                    return Sent { result: Err(ModelFault::Busy { message, wait: Some(wait) }), sends };
                }
                tell(Told::Again(sends, wait, message));
            }
            _ => {
                if result.is_ok() {
                    line.pauses.answered(line.provider, sent_ms);
                }
                return Sent { result, sends };
            }
        }
    }
}

fn result_words<T>(result: &Result<T, ModelFault>) -> String {
    result.as_ref().err().map(ToString::to_string).unwrap_or_default()
}

fn seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_millis() > 0))
}

/// Waits for the end of the provider's pause. Returns the fault if something ends the call in the meantime.
async fn held(
    line: &Line<'_>,
    cancel: &CancellationToken,
    tell: &mut (dyn FnMut(Told<'_>) + Send),
) -> Option<ModelFault> {
    let left = line.pauses.left(line.provider, line.clock.now_ms());
    if left.is_zero() {
        return None;
    }
    tell(Told::Held(left));
    let time = Duration::from_millis(line.until_ms.saturating_sub(line.clock.now_ms()));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Some(ModelFault::Cancelled),
        () = line.pauses.over(line.provider, line.clock) => None,
        () = line.clock.sleep(time) => Some(ModelFault::Deadline),
    }
}

/// A random number from 0 to 1, from the seed that the standard library gives each hasher.
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

    use super::{Line, Pauses, RetryPolicy, Sent, Told, jitter, send};
    use crate::ports::{Clock, ModelFault};

    /// A clock that advances by the time slept, and records it.
    #[derive(Default)]
    struct Waits(Mutex<Vec<Duration>>);

    #[async_trait]
    impl Clock for Waits {
        fn now_ms(&self) -> u64 {
            u64::try_from(self.0.lock().unwrap().iter().sum::<Duration>().as_millis()).unwrap()
        }

        async fn sleep(&self, duration: Duration) {
            self.0.lock().unwrap().push(duration);
        }
    }

    fn lost() -> Result<u32, ModelFault> {
        Err(ModelFault::Communication { message: "lost".to_owned() })
    }

    fn busy(wait: Option<u64>) -> Result<u32, ModelFault> {
        Err(ModelFault::Busy { message: "busy".to_owned(), wait: wait.map(Duration::from_secs) })
    }

    /// A call with ten minutes at a provider.
    async fn sent(
        replies: &[Result<u32, ModelFault>],
        policy: RetryPolicy,
        pauses: &Pauses,
        cancel: &CancellationToken,
    ) -> (Sent<u32>, Vec<Duration>) {
        let clock = Waits::default();
        let line = Line { provider: "acme", pauses, clock: &clock, until_ms: 600_000 };
        let mut tell = |_: Told<'_>| {};
        let once = |number: u32| std::future::ready(replies[number as usize - 1].clone());
        let result = send(&policy, &line, &mut || 0.5, cancel, &mut tell, once).await;
        (result, clock.0.into_inner().unwrap())
    }

    async fn plainly(replies: &[Result<u32, ModelFault>]) -> (Sent<u32>, Vec<u64>) {
        let (pauses, cancel) = (Pauses::default(), CancellationToken::new());
        let (result, waits) = sent(replies, RetryPolicy::default(), &pauses, &cancel).await;
        (result, waits.iter().map(Duration::as_secs).collect())
    }

    /// covers: 12.1
    #[tokio::test]
    async fn three_sends_wait_one_and_four_seconds() {
        let (result, waits) = plainly(&[lost(), lost(), lost(), Ok(1)]).await;
        assert_eq!(result, Sent { result: lost(), sends: 3 });
        assert_eq!(waits, [1, 4]);
    }

    #[tokio::test]
    async fn waits_vary_by_a_fifth_up_to_a_minute() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.wait(1, 0.0), Duration::from_millis(800));
        assert_eq!(policy.wait(2, 1.0), Duration::from_millis(4_800));
        assert_eq!(policy.wait(u32::MAX, 0.5), Duration::from_secs(60));
        let draws = [jitter(), jitter()];
        assert!(draws.iter().all(|draw| (0.0..=1.0).contains(draw)));
    }

    /// covers: 12.1
    #[tokio::test]
    async fn a_busy_provider_is_waited_for_as_long_as_the_call_has_time() {
        let (result, waits) = plainly(&[busy(Some(6)), Ok(1)]).await;
        assert_eq!((result, waits), (Sent { result: Ok(1), sends: 2 }, vec![6]));
        let loading = [busy(None), busy(None), busy(None), busy(None), Ok(1)];
        let (result, waits) = plainly(&loading).await;
        assert_eq!((result, waits), (Sent { result: Ok(1), sends: 5 }, vec![1, 4, 16, 60]));
        let (result, waits) = plainly(&[busy(Some(3_600)), Ok(1)]).await;
        let words = result.result.unwrap_err().to_string();
        assert_eq!(
            (words.as_str(), result.sends),
            ("busy; it asks to wait 3600 s, but this call has less time left", 1)
        );
        assert!(waits.is_empty());
    }

    /// covers: 12.1
    #[tokio::test]
    async fn a_pause_is_common_to_all_calls_of_a_provider() {
        let (pauses, cancel) = (Pauses::default(), CancellationToken::new());
        pauses.extend("acme", 12_000);
        let (result, waits) = sent(&[Ok(7)], RetryPolicy::default(), &pauses, &cancel).await;
        assert_eq!((result, waits), (Sent { result: Ok(7), sends: 1 }, vec![Duration::from_secs(12)]));
    }

    #[tokio::test]
    async fn another_model_is_not_kept_waiting() {
        let (pauses, cancel) = (Pauses::default(), CancellationToken::new());
        let policy = RetryPolicy { has_other: true, ..RetryPolicy::default() };
        let (result, _) = sent(&[busy(Some(2)), busy(Some(2)), busy(Some(2)), Ok(1)], policy, &pauses, &cancel).await;
        assert_eq!((result.result.unwrap_err().to_string().as_str(), result.sends), ("busy", 3));
    }

    #[tokio::test]
    async fn other_faults_are_not_sent_again() {
        let fault = ModelFault::Configuration { message: "no key".to_owned() };
        let (result, waits) = plainly(&[busy(Some(2)), Err(fault.clone()), Ok(1)]).await;
        assert_eq!((result, waits), (Sent { result: Err(fault), sends: 2 }, vec![2]));
        let (result, waits) = plainly(&[Ok(7)]).await;
        assert_eq!((result, waits), (Sent { result: Ok(7), sends: 1 }, Vec::new()));
    }

    #[tokio::test]
    async fn a_cancelled_wait_sends_no_more() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        for reply in [lost(), busy(None)] {
            let pauses = Pauses::default();
            let (result, waits) = sent(&[reply, Ok(1)], RetryPolicy::default(), &pauses, &cancel).await;
            assert_eq!(result, Sent { result: Err(ModelFault::Cancelled), sends: 1 });
            assert!(waits.is_empty());
        }
    }
}
