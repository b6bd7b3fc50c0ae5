//! A process that performs effects. It asks the dispatcher for work, and keeps a result until the dispatcher has taken it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callsheet_core::events::Event;
use callsheet_core::nouns::BlobId;
use tokio_util::sync::CancellationToken;

use crate::bucket::{Blobs, Bucket};
use crate::calls::{Done, Job, Lease, Offer, Take, Taken, Unperformed, Versions};
use crate::checkouts::Checkouts;
use crate::client::{Access, Client};
use crate::door::{DONE, LEAVE, STORE, TAKE};
use crate::fault::ClusterFault;
use crate::host::{Host, Project};
use crate::limits::WorkerSlots;
use crate::live::WorkerTexts;
use crate::own_work::OwnWork;
use crate::records::Records;
use crate::texts::Texts;

/// How long a worker waits before it calls a dispatcher again that does not respond.
const AGAIN: Duration = Duration::from_millis(300);
/// How long a worker that ends waits for the dispatcher.
const GOODBYE: Duration = Duration::from_secs(1);

/// Where a worker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where the project is, with the folder of all texts.
    Here(PathBuf),
    /// Elsewhere, with a folder for what comes from the dispatcher: texts, and the files of the project.
    Elsewhere(PathBuf),
}

/// What a worker is given.
pub struct Worker {
    /// How the cluster is reached.
    pub access: Access,
    /// A name of this worker. A process that starts again takes it over from the one before.
    pub name: String,
    /// A name that no other process has, the one of `slots`.
    pub process: String,
    /// What it can do.
    pub offer: Offer,
    /// The slots of providers, which its services use.
    pub slots: WorkerSlots,
    /// What its calls stream, which its services tell.
    pub texts: WorkerTexts,
    /// Where it is.
    pub place: Place,
    /// Where the cluster keeps texts beyond its machine, if this worker reaches that.
    pub bucket: Option<Bucket>,
    /// Models, tools and the project.
    pub project: Arc<dyn Project>,
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Hands {
    client: Client,
    host: Host,
    texts: WorkerTexts,
    own: Arc<OwnWork>,
}

/// Works until `stop`. `ready` is called when the dispatcher has answered for the first time.
///
/// # Errors
/// The certificate or the token is wrong, or another worker has taken over the name.
pub async fn work(worker: Worker, ready: impl FnOnce(), stop: CancellationToken) -> Result<(), ClusterFault> {
    let Worker { access, name, process, offer, slots, texts, place, bucket, project } = worker;
    let client = Client::new(&access)?;
    let own = Arc::new(OwnWork::new(&process));
    if let (Place::Elsewhere(_), Some(bucket)) = (&place, &bucket) {
        tokio::select! {
            compared = compare(&client, bucket.clone()) => compared?,
            () = stop.cancelled() => return Ok(()),
        }
    }
    let (kept, checkouts) = match place {
        Place::Here(folder) => (Texts::here(Blobs::new(&folder, bucket)), None),
        Place::Elsewhere(folder) => (
            Texts::far(Blobs::new(&folder.join("texts"), bucket.clone()), client.clone(), Arc::clone(&own))?,
            Some(Checkouts::new(&folder.join("files"), bucket, client.clone(), Arc::clone(&own))),
        ),
    };
    let host = Host::new(Records::Dispatcher(client.clone(), Arc::clone(&own)), Arc::new(kept), project, checkouts);
    let speaks = AbortOnDrop(tokio::spawn(texts.clone().speak(client.clone(), process.clone())));
    let hands = Arc::new(Hands { client: client.clone(), host, texts, own });
    let mut ready = Some(ready);
    loop {
        let has = hands.own.all();
        let (name, process) = (name.clone(), process.clone());
        let asks = Take { name, process, offer: offer.clone(), has, slots: slots.own(), versions: Versions::OWN };
        let answer = tokio::select! {
            answer = client.call::<Taken>(TAKE, &asks) => answer,
            () = stop.cancelled() => break,
        };
        match answer {
            Ok(Taken { begin, drop }) => {
                ready.take().into_iter().for_each(|ready| ready());
                drop.iter().for_each(|key| hands.own.cancel(key));
                begin.into_iter().for_each(|(job, number)| hands.begin(job, number));
            }
            Err(fault) if fault.is_final() => return Err(fault),
            Err(fault) => {
                tracing::debug!(%fault, "the dispatcher does not respond");
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = stop.cancelled() => break,
                }
            }
        }
    }
    drop(speaks);
    // If this does not arrive, the dispatcher notices the silence.
    let _silent = tokio::time::timeout(GOODBYE, client.call::<bool>(LEAVE, &process)).await;
    Ok(())
}

/// Refuses an object store that is not the cluster's.
async fn compare(client: &Client, bucket: Bucket) -> Result<(), ClusterFault> {
    let marked = loop {
        match client.ask::<Option<BlobId>>(STORE).await {
            Ok(marked) => break marked,
            Err(ClusterFault::Unreachable { .. }) => tokio::time::sleep(AGAIN).await,
            Err(fault) => return Err(fault),
        }
    };
    let compared = tokio::task::spawn_blocking(move || bucket.is_of_cluster(marked.as_ref())).await;
    compared.unwrap_or_else(|error| Err(ClusterFault::OtherStore(error.to_string())))
}

impl Hands {
    fn begin(self: &Arc<Self>, job: Job, number: u32) {
        let key = job.key();
        let cancel = self.own.begin(key.clone(), number);
        let hands = Arc::clone(self);
        tokio::spawn(async move {
            let performed = tokio::spawn({
                let (hands, job, cancel) = (Arc::clone(&hands), job.clone(), cancel.clone());
                async move { hands.host.perform(&job, cancel).await }
            });
            let result = performed
                .await
                .unwrap_or_else(|error| Err(Unperformed { begun: true, why: format!("the work crashed: {error}") }));
            hands.texts.ended(&job.run, &job.effect);
            hands.give(job, number, result, &cancel).await;
            hands.own.end(&key, number);
        });
    }

    /// Gives a result to the dispatcher, again and again until it has taken or refused it.
    async fn give(
        &self,
        job: Job,
        number: u32,
        result: Result<Option<Vec<Event>>, Unperformed>,
        cancel: &CancellationToken,
    ) {
        let lease = Lease { process: self.own.process.clone(), number };
        let done = Done { job, lease, result };
        while !cancel.is_cancelled() {
            match self.client.call::<bool>(DONE, &done).await {
                Ok(true) => return,
                Ok(false) => {
                    tracing::info!(run = %done.job.run, attempt = done.job.attempt, "a late result was refused");
                    return;
                }
                Err(fault) => tracing::debug!(%fault, "the dispatcher has not taken a result yet"),
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use async_trait::async_trait;
    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;
    use callsheet_core::nouns::{RunId, Settings, Slug};
    use callsheet_runtime::grants::{Grant, GrantedThing};
    use callsheet_runtime::paths::Workspace;
    use callsheet_runtime::ports::Store;
    use callsheet_runtime::services::Services;

    use super::*;
    use crate::checkouts::Checkout;
    use crate::host::ProjectFiles;
    use crate::tls::{Certificate, Trust, played};

    struct Nothing;

    #[async_trait]
    impl Project for Nothing {
        async fn services(
            &self,
            _: &RunId,
            _: &Settings,
            _: Arc<dyn Store>,
            _: Option<&Checkout>,
        ) -> Result<Services, String> {
            Err("nothing is here".to_owned())
        }

        fn files(&self) -> ProjectFiles {
            ProjectFiles { root: PathBuf::new(), paths: Vec::new(), trusted: BTreeMap::new() }
        }

        fn closed_to_commands(&self, _: &Workspace, paths: &[PathBuf]) -> Vec<PathBuf> {
            paths.to_vec()
        }

        fn grants(&self) -> Result<Vec<Grant>, String> {
            Ok(Vec::new())
        }

        fn revoke(&self, _: u32) -> Result<Option<Grant>, String> {
            Ok(None)
        }

        fn grant(&self, _: GrantedThing, _: Option<(RunId, Slug)>) -> Result<String, String> {
            Err("nothing is here".to_owned())
        }
    }

    /// covers: 15.19
    #[tokio::test]
    async fn a_worker_of_another_version_ends_with_the_words_of_the_cluster() {
        let folder = tempfile::tempdir().unwrap();
        let certificate = Certificate::own(&folder.path().join("own.pem")).unwrap();
        let trust = Trust::Pinned(certificate.fingerprint());
        let words = Versions { log: 0, messages: 0 }.refusal().unwrap();
        assert!(words.contains("install the cluster's version here") && Versions::OWN.refusal().is_none());
        let answer = (StatusCode::UPGRADE_REQUIRED, words.clone());
        let address = played(certificate, Router::new().route("/work/take", post(async || answer))).await;
        let access = Access { address, token: None, trust };
        let worker = Worker {
            slots: WorkerSlots::new(&access, "process").unwrap(),
            access,
            name: "old".to_owned(),
            process: "process".to_owned(),
            offer: Offer::default(),
            texts: WorkerTexts::default(),
            place: Place::Here(folder.path().to_owned()),
            bucket: None,
            project: Arc::new(Nothing),
        };
        let ended = work(worker, || panic!("it was let in"), CancellationToken::new()).await;
        assert!(matches!(ended, Err(ClusterFault::OtherVersion(heard)) if heard == words));
    }
}
