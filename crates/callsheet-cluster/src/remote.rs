//! The runs of a cluster as a store, for every command and face.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId, Slug};
use callsheet_runtime::grants::{Grant as GrantOnList, GrantedThing};
use callsheet_runtime::ports::{
    Answered, Asked, Hosting, InboxMessage, LiveText, Lock, Posted, RunSummary, Store, StoreFault,
};

use crate::calls::{ALL, Answer, BLOBS, Grant, INDEX, Landing};
use crate::client::{Access, Blocking, Client};
use crate::collect::Unnamed;
use crate::desk::WorkerView;
use crate::door::{COLLECT, GRANT, GRANTS, LOOK, REVOKE, WORKERS};
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
    /// The runs of a cluster.
    ///
    /// # Errors
    /// The address is none, or no thread can be started.
    pub fn new(access: &Access) -> Result<Self, ClusterFault> {
        let calls = Blocking::new(Client::new(access)?)?;
        Ok(Self { calls, read: Mutex::default(), staged: Mutex::default() })
    }

    /// The address of the cluster.
    pub fn address(&self) -> &str {
        self.calls.address()
    }

    /// The workers of the cluster.
    ///
    /// # Errors
    /// The cluster does not respond.
    pub fn workers(&self) -> Result<Vec<WorkerView>, ClusterFault> {
        self.calls.wait(|client| async move { client.ask(WORKERS).await })
    }

    /// What the cluster allows for longer than one answer.
    ///
    /// # Errors
    /// The list cannot be read, or the cluster does not respond.
    pub fn grants(&self) -> Result<Vec<GrantOnList>, ClusterFault> {
        let listed = self.calls.wait(|client| async move { client.ask::<Result<_, String>>(GRANTS).await })?;
        listed.map_err(ClusterFault::Refused)
    }

    /// Takes the grant with this number back. `None` if there is none.
    ///
    /// # Errors
    /// The list cannot be written, or the cluster does not respond.
    pub fn revoke(&self, number: u32) -> Result<Option<GrantOnList>, ClusterFault> {
        let call = move |client: Client| async move { client.call::<Result<_, String>>(REVOKE, &number).await };
        self.calls.wait(call)?.map_err(ClusterFault::Refused)
    }

    /// Removes texts that no run names from the folder of the cluster, or says which that would be.
    ///
    /// # Errors
    /// The cluster does not respond, or its folder cannot be used.
    pub fn collect(&self, dry_run: bool) -> Result<Unnamed, ClusterFault> {
        self.calls.wait(move |client| async move { client.call(COLLECT, &dry_run).await })
    }

    fn land(&self, run: &RunId, landing: Landing) -> Result<Answer, ClusterFault> {
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

    /// Records the first entries of a run, after the texts that they name.
    fn begin(&self, run: &RunId, entries: &[LogEntry], rests: bool) -> Result<(), StoreFault> {
        let staged = std::mem::take(&mut *self.staged.lock().unwrap_or_else(PoisonError::into_inner));
        staged.values().try_for_each(|bytes| self.put_blob(bytes).map(drop))?;
        self.land(run, Landing { first: entries.to_vec(), rests, ..Landing::default() })?;
        Ok(())
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
        self.begin(&lock.run, facts, false)
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
        self.land(run, Landing { messages: vec![message.clone()], ..Landing::default() })?;
        Ok(())
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

    fn hosting(&self) -> Option<&dyn Hosting> {
        Some(self)
    }
}

impl Hosting for RemoteStore {
    fn place(&self) -> String {
        format!("the cluster at {}", self.calls.address())
    }

    fn ask(&self, run: &RunId, asked: Asked, edited: Option<String>) -> Result<Answered, StoreFault> {
        let messages = edited.into_iter().map(|text| InboxMessage::Edit { text }.into()).collect();
        let answer = self.land(run, Landing { asked: Some(asked), messages, ..Landing::default() })?;
        answer.unwrap_or_else(|| Ok(Answered::default())).map_err(StoreFault::Refused)
    }

    fn record(&self, run: &RunId, entries: &[LogEntry]) -> Result<(), StoreFault> {
        self.begin(run, entries, true)
    }

    fn writing(&self, run: &RunId) -> Vec<LiveText> {
        let run = run.clone();
        let written = self.calls.wait(move |client| async move { client.call(LOOK, &run).await });
        written.unwrap_or_else(|fault| {
            tracing::debug!(%fault, "streamed text cannot be read");
            Vec::new()
        })
    }

    fn grant(&self, what: &GrantedThing, only: Option<&(RunId, Slug)>) -> Result<String, StoreFault> {
        let grant = Grant { what: what.clone(), only: only.cloned() };
        let granted = self.calls.wait(move |client| async move { client.call(GRANT, &grant).await })?;
        Result::map_err(granted, StoreFault::Refused)
    }
}
