//! Gives results to runs. What comes while a run records something is given to it together, because each landing waits for
//! the disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callsheet_core::nouns::RunId;
use callsheet_runtime::driver::Returned;
use tokio::sync::oneshot;

use crate::calls::Landing;
use crate::client::Client;
use crate::fault::ClusterFault;

/// How many results are given together.
const TOGETHER: usize = 64;

/// Results on their way to runs.
#[derive(Debug)]
pub(crate) struct Landings {
    client: Client,
    /// What waits for the landing of its run that is under way. A run without one is not here.
    waiting: Mutex<BTreeMap<RunId, Vec<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    returned: Returned,
    tell: oneshot::Sender<Result<(), String>>,
}

impl Landings {
    pub fn new(client: Client) -> Arc<Self> {
        Arc::new(Self { client, waiting: Mutex::default() })
    }

    /// Gives a result to its run. Returns when the run has recorded it.
    pub async fn give(self: &Arc<Self>, run: &RunId, returned: Returned) -> Result<(), ClusterFault> {
        let (tell, told) = oneshot::channel();
        let waiting = Waiting { returned, tell };
        let is_first = {
            let mut runs = self.waiting();
            let is_first = !runs.contains_key(run);
            runs.entry(run.clone()).or_default().push(waiting);
            is_first
        };
        if is_first {
            // Others rely on it, so it does not end with this call.
            tokio::spawn(Arc::clone(self).land(run.clone()));
        }
        let told = told.await.unwrap_or_else(|_| Err("the landing crashed".to_owned()));
        told.map_err(ClusterFault::Refused)
    }

    async fn land(self: Arc<Self>, run: RunId) {
        while let Some(together) = self.next(&run) {
            let (returned, tell): (Vec<Returned>, Vec<_>) =
                together.into_iter().map(|waiting| (waiting.returned, waiting.tell)).unzip();
            let landed = self.client.land(&run, &Landing { returned, ..Landing::default() }).await;
            let landed = landed.map(drop).map_err(|fault| fault.to_string());
            for tell in tell {
                // The worker may have gone; the run has its result.
                let _gone = tell.send(landed.clone());
            }
        }
    }

    /// What is given next. `None` ends the landings of this run.
    fn next(&self, run: &RunId) -> Option<Vec<Waiting>> {
        let mut runs = self.waiting();
        let waiting = runs.get_mut(run).filter(|waiting| !waiting.is_empty());
        let Some(waiting) = waiting else {
            runs.remove(run);
            return None;
        };
        let count = waiting.len().min(TOGETHER);
        Some(waiting.drain(..count).collect())
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<RunId, Vec<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Bytes;
    use axum::routing::post;
    use callsheet_core::nouns::Slug;
    use callsheet_core::record::EffectKey;
    use tokio::sync::Semaphore;

    use super::*;

    fn result(attempt: u64) -> Returned {
        Returned { effect: EffectKey::Check { task: Slug::new("water"), n: 1 }, attempt, events: None }
    }

    /// covers: 15.2
    #[tokio::test]
    async fn results_that_come_during_a_landing_land_together() {
        let (sizes, may_end): (Arc<Mutex<Vec<usize>>>, _) = (Arc::default(), Arc::new(Semaphore::new(0)));
        let (noted, waits) = (Arc::clone(&sizes), Arc::clone(&may_end));
        let land = async move |body: Bytes| {
            let landing: Landing = serde_json::from_slice(&body).unwrap();
            noted.lock().unwrap().push(landing.returned.len());
            waits.acquire().await.unwrap().forget();
        };
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine.sock");
        let listener = tokio::net::UnixListener::bind(&socket).unwrap();
        let router = Router::new().route("/CallsheetRun/run/land", post(land));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let landings = Landings::new(Client::at_sockets([socket]).unwrap());
        let give = |attempt: u64| {
            let landings = Arc::clone(&landings);
            tokio::spawn(async move { landings.give(&RunId::new("run"), result(attempt)).await })
        };
        let first = give(1);
        while sizes.lock().unwrap().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let others: Vec<_> = (2..=5).map(give).collect();
        while landings.waiting()[&RunId::new("run")].len() < 4 {
            tokio::task::yield_now().await;
        }
        may_end.add_permits(2);
        for given in std::iter::once(first).chain(others) {
            given.await.unwrap().unwrap();
        }
        assert_eq!(*sizes.lock().unwrap(), [1, 4]);
        assert!(landings.waiting().is_empty(), "nothing is left");
    }
}
