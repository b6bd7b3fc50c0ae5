//! The record of a run, and the texts that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};

use crate::calls::{Head, ReadLog};
use crate::client::Client;
use crate::door::LOG;
use crate::fault::ClusterFault;
use crate::own_work::OwnWork;

/// Where a process reads records.
pub(crate) enum Records {
    /// The engine, which has them.
    Engine(Client),
    /// The dispatcher, for the runs that this worker works for.
    Dispatcher(Client, Arc<OwnWork>),
}

impl Records {
    /// The entries of a run from a page on, and its state after them.
    pub async fn log(&self, run: &RunId, from: u64) -> Result<(Head, Vec<LogEntry>), ClusterFault> {
        match self {
            Self::Engine(client) => client.log(run, from).await,
            Self::Dispatcher(client, own) => {
                let body = |from| serde_json::to_vec(&ReadLog { claim: own.claim(run), from });
                client.pages(LOG, run, from, body).await
            }
        }
    }
}

/// How many runs [`NamedTexts`] remembers.
const REMEMBERED: usize = 256;

/// The texts that records name, as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct NamedTexts(Mutex<BTreeMap<RunId, Named>>);

#[derive(Debug, Default)]
struct Named {
    pages: u64,
    texts: BTreeSet<BlobId>,
}

impl NamedTexts {
    /// Whether the record of a run names a text.
    pub async fn has(&self, client: &Client, run: &RunId, id: &BlobId) -> Result<bool, ClusterFault> {
        let pages = match self.known().get(run) {
            Some(named) if named.texts.contains(id) => return Ok(true),
            known => known.map_or(0, |named| named.pages),
        };
        let (head, entries) = client.log(run, pages).await?;
        let mut known = self.known();
        if known.len() >= REMEMBERED && !known.contains_key(run) {
            known.clear();
        }
        let named = known.entry(run.clone()).or_default();
        named.pages = named.pages.max(head.pages);
        named.texts.extend(entries.iter().flat_map(|entry| entry.event.blobs()).cloned());
        Ok(named.texts.contains(id))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Named>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
