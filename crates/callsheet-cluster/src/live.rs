//! Text that calls stream now. Workers tell the dispatcher, which keeps it in memory for whoever watches. The log has the
//! same words when a call has ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callsheet_core::nouns::RunId;
use callsheet_core::record::{CallKey, EffectKey};
use callsheet_runtime::ports::{LiveText, Observer, Signal};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::client::Client;
use crate::door::SPEAK;

/// How often a worker tells what is new.
const PERIOD: Duration = Duration::from_millis(250);
/// A viewer that has not looked for this long no longer watches.
const LOOKED: Duration = Duration::from_secs(5);
/// What a worker said counts for this long. It says the same again as long as a call streams.
const COUNTS: Duration = Duration::from_secs(2);

/// What a worker streams now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Spoken {
    /// The worker's process.
    pub process: String,
    /// The runs with calls that stream. Only those that somebody watches have texts here.
    pub runs: BTreeMap<RunId, Vec<LiveText>>,
}

/// The text of all workers, in the dispatcher.
#[derive(Debug, Default)]
pub(crate) struct Streams(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The texts of a run by process, and until when they count.
    texts: BTreeMap<(RunId, String), (Instant, Vec<LiveText>)>,
    /// Until when somebody watches a run.
    looked: BTreeMap<RunId, Instant>,
}

impl Streams {
    /// Notes what a worker streams. Returns those of its runs that somebody watches.
    pub fn hear(&self, Spoken { process, runs }: Spoken) -> Vec<RunId> {
        let now = Instant::now();
        let mut known = self.known();
        known.texts.retain(|(_, of), (until, _)| *of != process && *until > now);
        known.looked.retain(|_, until| *until > now);
        let watched = runs.keys().filter(|run| known.looked.contains_key(*run)).cloned().collect();
        let heard = runs.into_iter().filter(|(_, texts)| !texts.is_empty());
        known.texts.extend(heard.map(|(run, texts)| ((run, process.clone()), (now + COUNTS, texts))));
        watched
    }

    /// What the calls of a run stream now. The first look asks for it, and returns nothing yet.
    pub fn look(&self, run: &RunId) -> Vec<LiveText> {
        let now = Instant::now();
        let mut known = self.known();
        known.looked.insert(run.clone(), now + LOOKED);
        let counts = known.texts.iter().filter(|((of, _), (until, _))| of == run && *until > now);
        counts.flat_map(|(_, (_, texts))| texts.clone()).collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of the calls of a worker.
#[derive(Clone, Debug, Default)]
pub struct WorkerTexts(Arc<Own>);

#[derive(Debug, Default)]
struct Own {
    calls: Mutex<BTreeMap<(RunId, CallKey), LiveText>>,
    news: Notify,
}

impl WorkerTexts {
    /// An observer of a run that passes on what its calls stream, and everything to `inner`.
    pub fn observer(&self, run: &RunId, inner: Arc<dyn Observer>) -> Arc<dyn Observer> {
        Arc::new(OfRun { texts: self.clone(), run: run.clone(), inner })
    }

    /// Forgets the text of an effect that has ended.
    pub(crate) fn ended(&self, run: &RunId, effect: &EffectKey) {
        if let EffectKey::Ask(key) = effect {
            self.calls().remove(&(run.clone(), key.clone()));
        }
    }

    /// Tells the dispatcher, again and again while calls stream. If it does not respond, the text is lost.
    pub(crate) async fn speak(self, client: Client, process: String) {
        let (mut watched, mut is_known) = (Vec::new(), false);
        loop {
            let runs = self.now(&watched);
            if runs.is_empty() && !is_known {
                self.0.news.notified().await;
                continue;
            }
            is_known = !runs.is_empty();
            let spoken = Spoken { process: process.clone(), runs };
            match client.call(SPEAK, &spoken).await {
                Ok(runs) => watched = runs,
                Err(fault) => tracing::debug!(%fault, "streamed text is lost"),
            }
            tokio::time::sleep(PERIOD).await;
        }
    }

    fn now(&self, watched: &[RunId]) -> BTreeMap<RunId, Vec<LiveText>> {
        let mut runs: BTreeMap<RunId, Vec<LiveText>> = BTreeMap::new();
        for ((run, _), text) in self.calls().iter() {
            let texts = runs.entry(run.clone()).or_default();
            texts.extend(watched.contains(run).then(|| text.last()));
        }
        runs
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<(RunId, CallKey), LiveText>> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct OfRun {
    texts: WorkerTexts,
    run: RunId,
    inner: Arc<dyn Observer>,
}

impl Observer for OfRun {
    fn see(&self, signal: &Signal<'_>) {
        if let Signal::Delta { key, text } = signal {
            let place = (self.run.clone(), (*key).clone());
            self.texts.calls().entry(place).or_insert_with(|| LiveText::new(key)).push(text);
            self.texts.0.news.notify_one();
        }
        self.inner.see(signal);
    }
}

#[cfg(test)]
mod tests {
    use callsheet_core::nouns::Phase;

    use super::*;

    struct Nobody;

    impl Observer for Nobody {
        fn see(&self, _: &Signal<'_>) {}
    }

    fn key() -> CallKey {
        CallKey { phase: Phase::Execute, task: None, run: None, n: 1 }
    }

    /// covers: 15.13
    #[tokio::test(start_paused = true)]
    async fn a_worker_passes_on_what_somebody_watches_until_the_call_ends() {
        let (texts, streams, run) = (WorkerTexts::default(), Streams::default(), RunId::new("run"));
        let observer = texts.observer(&run, Arc::new(Nobody));
        let say = |text: &str| observer.see(&Signal::Delta { key: &key(), text });
        let tell = |watched: &[RunId]| streams.hear(Spoken { process: "one".to_owned(), runs: texts.now(watched) });
        say("Hel");
        assert!(tell(&[]).is_empty(), "nobody watches");
        assert!(streams.look(&run).is_empty());
        assert_eq!(tell(&[]), std::slice::from_ref(&run));
        say("lo");
        tell(std::slice::from_ref(&run));
        let seen = streams.look(&run);
        assert_eq!((seen[0].text.as_str(), seen[0].count), ("Hello", 5));
        assert!(streams.look(&RunId::new("other")).is_empty());
        texts.ended(&run, &EffectKey::Ask(key()));
        tell(std::slice::from_ref(&run));
        assert!(streams.look(&run).is_empty());
    }

    /// covers: 15.13
    #[tokio::test(start_paused = true)]
    async fn the_text_of_a_lost_worker_is_forgotten() {
        let (streams, run) = (Streams::default(), RunId::new("run"));
        let texts = vec![LiveText { key: key(), text: "Hello".to_owned(), count: 5 }];
        streams.hear(Spoken { process: "one".to_owned(), runs: [(run.clone(), texts)].into() });
        assert_eq!(streams.look(&run).len(), 1);
        tokio::time::sleep(COUNTS).await;
        assert!(streams.look(&run).is_empty());
    }
}
