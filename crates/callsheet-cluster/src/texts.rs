//! Where a process keeps the texts of runs: in a folder, and if the dispatcher has another one, by asking it for what is
//! missing there and by giving it what is new.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::StoreFault;

use crate::bucket::{Blobs, blocking};
use crate::calls::GetText;
use crate::client::{Blocking, Client};
use crate::door::{TEXT, TEXTS};
use crate::fault::ClusterFault;
use crate::own_work::OwnWork;

/// How long a dispatcher may be away while work waits for a text, and how often it is called.
const PATIENCE: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(300);
/// How many texts are remembered that the dispatcher has.
const REMEMBERED: usize = 10_000;

/// The texts as a process reaches them.
#[derive(Debug)]
pub(crate) struct Texts {
    blobs: Blobs,
    far: Option<Far>,
}

/// The texts of a dispatcher that has another folder.
#[derive(Debug)]
struct Far {
    calls: Blocking,
    own: Arc<OwnWork>,
    /// Texts that it has.
    has: Mutex<BTreeSet<BlobId>>,
}

impl Texts {
    /// The texts of the cluster.
    pub fn here(blobs: Blobs) -> Self {
        Self { blobs, far: None }
    }

    /// The texts of a dispatcher elsewhere. The folder keeps what came from there.
    pub fn far(blobs: Blobs, client: Client, own: Arc<OwnWork>) -> Result<Self, ClusterFault> {
        let far = Far { calls: Blocking::new(client)?, own, has: Mutex::default() };
        Ok(Self { blobs, far: Some(far) })
    }

    /// Stores the texts of a run. Returns when they are where the run is.
    pub fn put_all(&self, run: &RunId, texts: &[Vec<u8>]) -> Result<(), StoreFault> {
        self.blobs.put_all(texts)?;
        match &self.far {
            // The dispatcher finds them in the bucket.
            Some(_) if self.blobs.bucket.is_some() => Ok(()),
            Some(far) => texts.iter().try_for_each(|bytes| far.give(run, bytes)),
            None => Ok(()),
        }
    }

    /// A text of a run.
    pub fn get(&self, run: &RunId, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        match (self.blobs.get(id), &self.far) {
            (Err(StoreFault::NoBlob(_) | StoreFault::Broken(_)), Some(far)) => {
                let bytes = far.get(run, id)?;
                self.blobs.keep(&bytes)?;
                Ok(bytes)
            }
            (found, _) => found,
        }
    }
}

impl Far {
    fn give(&self, run: &RunId, bytes: &[u8]) -> Result<(), StoreFault> {
        let id = BlobId::of(bytes);
        if self.has().contains(&id) {
            return Ok(());
        }
        self.patiently(|| {
            // The claim changes while the call is repeated: another lease may have come.
            let mut body = serde_json::to_vec(&self.own.claim(run)).unwrap_or_default();
            body.push(b'\n');
            body.extend_from_slice(bytes);
            self.calls
                .wait(move |client| async move { client.call_bytes(TEXTS, body, "application/octet-stream").await })
        })?;
        self.note(id);
        Ok(())
    }

    fn get(&self, run: &RunId, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        let bytes = self.patiently(|| {
            let asks = GetText { claim: self.own.claim(run), id: id.clone() };
            let body = serde_json::to_vec(&asks).unwrap_or_default();
            self.calls.wait(move |client| async move { client.call_bytes(TEXT, body, "application/json").await })
        });
        let bytes = bytes.map_err(|fault| match fault {
            ClusterFault::NoRun(_) => StoreFault::NoBlob(id.clone()),
            fault => fault.into(),
        })?;
        if BlobId::of(&bytes) != *id {
            return Err(StoreFault::Broken(format!("the text {id} is damaged in the cluster")));
        }
        self.note(id.clone());
        Ok(bytes)
    }

    /// Calls until the dispatcher is there. Work does not fail because it was started again.
    fn patiently<T>(&self, call: impl Fn() -> Result<T, ClusterFault>) -> Result<T, ClusterFault> {
        blocking(|| {
            let end = Instant::now() + PATIENCE;
            loop {
                match call() {
                    Err(ClusterFault::Unreachable { .. }) if Instant::now() < end => std::thread::sleep(AGAIN),
                    called => return called,
                }
            }
        })
    }

    fn note(&self, id: BlobId) {
        let mut has = self.has();
        if has.len() >= REMEMBERED {
            has.clear();
        }
        has.insert(id);
    }

    fn has(&self) -> std::sync::MutexGuard<'_, BTreeSet<BlobId>> {
        self.has.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
