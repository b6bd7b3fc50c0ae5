//! The runs of a cluster as a store, for every command and face.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::{Lock, Posted, RunSummary, Store, StoreFault};

use crate::calls::{ALL, BLOBS, INDEX, Landing};
use crate::client::{Blocking, Client};
use crate::desk::WorkerView;
use crate::door::WORKERS;
use crate::fault::ClusterFault;

/// The runs of a cluster. A client may begin a run, read all, and leave messages. Only the cluster drives runs.
#[derive(Debug)]
pub struct RemoteStore {
    calls: Blocking,
    /// How far each log was read: pages, and the number of the last entry in them.
    read: Mutex<BTreeMap<RunId, (u64, u64)>>,
    staged: Mutex<BTreeMap<BlobId, Vec<u8>>>,
}

impl RemoteStore {
    /// The runs of the cluster at this address. Its token lets clients in.
    ///
    /// # Errors
    /// The address is none, or no thread can be started.
    pub fn new(address: &str, token: Option<&str>) -> Result<Self, ClusterFault> {
        let calls = Blocking::new(Client::new(address, token)?)?;
        Ok(Self { calls, read: Mutex::default(), staged: Mutex::default() })
    }

    /// The address of the cluster.
    pub fn address(&self) -> &str {
        self.calls.address()
    }

    /// Lets a run that rests go on.
    ///
    /// # Errors
    /// There is no such run, or the cluster does not respond.
    pub fn resume(&self, run: &RunId) -> Result<(), ClusterFault> {
        self.land(run, Landing { resume: true, ..Landing::default() })
    }

    /// The workers of the cluster.
    ///
    /// # Errors
    /// The cluster does not respond.
    pub fn workers(&self) -> Result<Vec<WorkerView>, ClusterFault> {
        self.calls.wait(|client| async move { client.ask(WORKERS).await })
    }

    fn land(&self, run: &RunId, landing: Landing) -> Result<(), ClusterFault> {
        let run = run.clone();
        self.calls.wait(move |client| async move { client.land(&run, &landing).await })
    }

    fn exists(&self, run: &RunId) -> Result<bool, ClusterFault> {
        let run = run.clone();
        match self.calls.wait(move |client| async move { client.head(&run).await }) {
            Ok(_) => Ok(true),
            Err(ClusterFault::NoRun(_)) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    fn read_only(&self) -> StoreFault {
        StoreFault::ReadOnly(format!("the cluster at {} drives its runs", self.calls.address()))
    }
}

impl Store for RemoteStore {
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault> {
        let path = format!("{INDEX}/{ALL}/list");
        let list = move |client: Client| async move { client.ask::<Vec<RunSummary>>(&path).await };
        let mut runs = self.calls.wait(list)?;
        runs.sort_by(|one, other| (other.started_at, &other.run).cmp(&(one.started_at, &one.run)));
        Ok(runs)
    }

    /// Claims the name of a new run. The first append begins it.
    fn lock(&self, run: &RunId) -> Result<Lock, StoreFault> {
        if self.exists(run)? {
            return Err(self.read_only());
        }
        Ok(Lock { run: run.clone(), token: "new".to_owned() })
    }

    fn unlock(&self, _lock: &Lock) -> Result<(), StoreFault> {
        Ok(())
    }

    fn append(&self, lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault> {
        if facts.first().is_none_or(|first| first.n != 1) {
            return Err(self.read_only());
        }
        let staged = std::mem::take(&mut *self.staged.lock().unwrap_or_else(PoisonError::into_inner));
        staged.values().try_for_each(|bytes| self.put_blob(bytes).map(drop))?;
        Ok(self.land(&lock.run, Landing { first: facts.to_vec(), ..Landing::default() })?)
    }

    fn read(&self, run: &RunId, from: u64) -> Result<Vec<LogEntry>, StoreFault> {
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(run).copied();
        let page = known.filter(|(_, last)| *last < from).map_or(0, |(pages, _)| pages);
        let id = run.clone();
        let (head, mut entries) = self.calls.wait(move |client| async move { client.log(&id, page).await })?;
        let last = entries.last().map_or(head.position, |entry| entry.n);
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), (head.pages, last));
        entries.retain(|entry| entry.n >= from);
        Ok(entries)
    }

    fn post(&self, run: &RunId, message: &Posted) -> Result<(), StoreFault> {
        Ok(self.land(run, Landing { messages: vec![message.clone()], ..Landing::default() })?)
    }

    fn messages(&self, _lock: &Lock) -> Result<Vec<(u64, Posted)>, StoreFault> {
        Ok(Vec::new())
    }

    /// The cluster handles a message before [`Store::post`] returns.
    fn has_messages(&self, run: &RunId) -> Result<bool, StoreFault> {
        if self.exists(run)? { Ok(false) } else { Err(StoreFault::NoRun(run.clone())) }
    }

    fn discard(&self, _lock: &Lock, _up_to: u64) -> Result<(), StoreFault> {
        Ok(())
    }

    fn persist(&self) -> Result<(), StoreFault> {
        Ok(())
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault> {
        let (path, bytes, id) = (format!("{BLOBS}/put"), bytes.to_vec(), BlobId::of(bytes));
        self.calls
            .wait(move |client| async move { client.call_bytes(&path, bytes, "application/octet-stream").await })?;
        Ok(id)
    }

    fn stage_blob(&self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.staged.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), bytes);
        id
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        if let Some(bytes) = self.staged.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            return Ok(bytes.clone());
        }
        let (path, body) = (format!("{BLOBS}/get"), serde_json::to_vec(id).unwrap_or_default());
        let bytes =
            self.calls.wait(move |client| async move { client.call_bytes(&path, body, "application/json").await });
        let bytes = bytes.map_err(|fault| match fault {
            ClusterFault::NoRun(_) => StoreFault::NoBlob(id.clone()),
            fault => fault.into(),
        })?;
        if BlobId::of(&bytes) == *id {
            Ok(bytes)
        } else {
            Err(StoreFault::Broken(format!("the text {id} is damaged in the cluster")))
        }
    }
}
