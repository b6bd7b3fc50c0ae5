//! The effects that this process performs. When the engine ends, it drops its calls. The work goes on here, and the call
//! that comes back finds it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callsheet_core::events::Event;
use callsheet_core::nouns::RunId;
use callsheet_runtime::driver::Returned;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::calls::{Job, Landing};
use crate::fault::ClusterFault;
use crate::host::Host;

/// How often a process asks whether a run still waits for what it performs.
const LOOK: Duration = Duration::from_secs(1);

/// The key of a piece of work: an attempt has its own number within a run.
type Key = (RunId, u64);

/// How work ended.
type Ended = Option<Result<Option<Vec<Event>>, String>>;

struct Live {
    ended: watch::Receiver<Ended>,
    cancel: CancellationToken,
}

/// The work of this process.
pub(crate) struct Registry {
    host: Arc<Host>,
    live: Mutex<BTreeMap<Key, Live>>,
    /// The name of this process, which no other process has.
    process: String,
}

impl Registry {
    pub fn new(host: Arc<Host>, process: String) -> Arc<Self> {
        let registry = Arc::new(Self { host, live: Mutex::default(), process });
        tokio::spawn(Self::look(Arc::downgrade(&registry)));
        registry
    }

    /// The name of this process.
    pub fn process(&self) -> &str {
        &self.process
    }

    /// Performs a job, or waits for the end of the same job. `claim` is the process that recorded that it begins a job
    /// which may be performed only once. If that was another one, nobody knows how far it came.
    ///
    /// # Errors
    /// Trying again may help.
    pub async fn perform(self: &Arc<Self>, job: &Job, claim: Option<&str>) -> Result<Option<Returned>, String> {
        let returned = |events| Returned { effect: job.effect.clone(), attempt: job.attempt, events };
        if claim.is_some_and(|claim| claim != self.process) {
            return Ok(Some(returned(None)));
        }
        let mut ended = self.begin(job);
        let result = ended.wait_for(Option::is_some).await.map(|ended| ended.clone()).ok().flatten();
        match result {
            Some(Ok(events)) => Ok(events.map(|events| returned(Some(events)))),
            // It may have begun, so it is not performed again.
            Some(Err(why)) if job.once => {
                tracing::warn!(why, "an effect failed that may not be repeated");
                Ok(Some(returned(None)))
            }
            Some(Err(why)) => {
                self.forget(job);
                Err(why)
            }
            None => {
                self.forget(job);
                if job.once { Ok(Some(returned(None))) } else { Err("the work crashed".to_owned()) }
            }
        }
    }

    /// Gives a result to its run. Returns when the engine has it.
    pub async fn deliver(&self, run: &RunId, returned: Returned) -> Result<(), ClusterFault> {
        let landing = Landing { returned: vec![returned], ..Landing::default() };
        self.host.client().send_landing(run, &landing).await
    }

    /// Forgets a job whose result has arrived.
    pub fn forget(&self, job: &Job) {
        self.live().remove(&(job.run.clone(), job.attempt));
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<Key, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(self: &Arc<Self>, job: &Job) -> watch::Receiver<Ended> {
        let key = (job.run.clone(), job.attempt);
        let mut live = self.live();
        if let Some(known) = live.get(&key) {
            return known.ended.clone();
        }
        let (tell, ended) = watch::channel(None);
        let cancel = CancellationToken::new();
        live.insert(key, Live { ended: ended.clone(), cancel: cancel.clone() });
        let (host, job) = (Arc::clone(&self.host), job.clone());
        tokio::spawn(async move {
            let result = host.perform(&job, cancel).await.map_err(|fault| fault.to_string());
            tell.send_replace(Some(result));
        });
        ended
    }

    /// Cancels what no run waits for any more.
    async fn look(registry: std::sync::Weak<Self>) {
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(registry) = registry.upgrade() else { return };
            let mut by_run: BTreeMap<RunId, Vec<u64>> = BTreeMap::new();
            registry.live().keys().for_each(|(run, attempt)| by_run.entry(run.clone()).or_default().push(*attempt));
            for (run, attempts) in by_run {
                // If the engine does not respond, the work goes on.
                let Ok(head) = registry.host.client().head(&run).await else { continue };
                let unwanted = attempts.into_iter().filter(|n| *n <= head.position && !head.attempts.contains(n));
                for attempt in unwanted {
                    let gone = registry.live().remove(&(run.clone(), attempt));
                    gone.inspect(|live| live.cancel.cancel());
                }
            }
        }
    }
}
