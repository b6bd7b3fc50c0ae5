//! Folds runs for the engine, and keeps the folded ones. It knows nothing of the engine's types.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use callsheet_app::ClientRight;
use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{RunId, Settings, Slug};
use callsheet_core::record::EffectKey;
use callsheet_runtime::driver::{Followed, HostedRun};
use callsheet_runtime::fault::DriveFault;
use callsheet_runtime::grants::{Caller, Grant, GrantedThing};
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{Asked, RunSummary, Store, StoreFault};
use callsheet_runtime::services::Services;
use tokio::sync::Mutex as AsyncMutex;
use tokio_util::sync::CancellationToken;

use crate::brought::{ProjectCopy, in_copy};
use crate::calls::{Head, Job, Landed, Landing, Unperformed};
use crate::checkouts::{Checkout, Checkouts, InUse, Use};
use crate::fault::ClusterFault;
use crate::hosted_store::HostedStore;
use crate::records::Records;
use crate::summary::{is_news, started_at, summary};
use crate::texts::Texts;

/// How many folded runs a process keeps. Others are folded again when they are needed.
const KEPT: usize = 256;

/// What the dispatcher and workers need of the program: models, tools and the project.
#[async_trait]
pub trait Project: Send + Sync {
    /// The services of a run with these settings, in a checkout if there is one.
    ///
    /// # Errors
    /// Why the run cannot be performed here, in words for a person.
    async fn services(
        &self,
        run: &RunId,
        settings: &Settings,
        store: Arc<dyn Store>,
        checkout: Option<&Checkout>,
    ) -> Result<Services, String>;

    /// The files that a worker elsewhere needs.
    fn files(&self) -> ProjectFiles;

    /// Of these paths below the project, those that no command elsewhere may change.
    fn closed_to_commands(&self, workspace: &Workspace, paths: &[PathBuf]) -> Vec<PathBuf>;

    /// Allows something to the workers, or only to a task of a run. Returns what was granted, in words.
    ///
    /// # Errors
    /// Why it was not granted, in words for a person.
    fn grant(&self, what: GrantedThing, only: Option<(RunId, Slug)>) -> Result<String, String>;

    /// What is allowed for longer than one answer.
    ///
    /// # Errors
    /// Why that cannot be read, in words for a person.
    fn grants(&self) -> Result<Vec<Grant>, String>;

    /// Takes the grant with this number back. `None` if there is none.
    ///
    /// # Errors
    /// Why that was not done, in words for a person.
    fn revoke(&self, number: u32) -> Result<Option<Grant>, String>;
}

/// The files of a project that a run sees.
#[derive(Clone, Debug)]
pub struct ProjectFiles {
    /// The root of the project.
    pub root: PathBuf,
    /// The files, from there.
    pub paths: Vec<PathBuf>,
    /// What is trusted: hashes by path.
    pub trusted: BTreeMap<String, String>,
}

/// Why a landing did not happen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostFault {
    /// Trying again may help: the store, the engine, or this machine.
    #[error("{0}")]
    Again(String),
    /// What was given is wrong and stays wrong.
    #[error("{0}")]
    Refused(String),
}

impl From<ClusterFault> for HostFault {
    fn from(fault: ClusterFault) -> Self {
        Self::Again(fault.to_string())
    }
}

impl From<DriveFault> for HostFault {
    fn from(fault: DriveFault) -> Self {
        Self::Again(fault.to_string())
    }
}

impl From<StoreFault> for HostFault {
    fn from(fault: StoreFault) -> Self {
        Self::Again(fault.to_string())
    }
}

/// Folds runs in this process.
pub(crate) struct Host {
    records: Records,
    texts: Arc<Texts>,
    project: Arc<dyn Project>,
    /// Copies of the project. `None` where the project itself is.
    checkouts: Option<Arc<Checkouts>>,
    runs: Mutex<BTreeMap<RunId, Kept>>,
    uses: AtomicU64,
}

struct Kept {
    slot: Arc<AsyncMutex<Slot>>,
    last_use: u64,
}

/// A run in this process. Only one call at a time uses it.
struct Slot {
    store: Arc<HostedStore>,
    folded: Option<Folded>,
}

/// A folded run, and the name of its state.
struct Folded {
    run: HostedRun,
    services: Arc<Services>,
    /// The settings of the services.
    settings: Settings,
    stamp: String,
    started_at: u64,
    /// The pages of the log that are folded.
    pages: u64,
}

impl Folded {
    fn summary(&self) -> Option<RunSummary> {
        summary(self.run.run(), self.run.is_at_rest(), self.started_at)
    }
}

impl Host {
    pub fn new(
        records: Records,
        texts: Arc<Texts>,
        project: Arc<dyn Project>,
        checkouts: Option<Arc<Checkouts>>,
    ) -> Self {
        Self { records, texts, project, checkouts, runs: Mutex::default(), uses: AtomicU64::default() }
    }

    /// Gives something to a run whose recorded state is `head`. `None` stands for a new run.
    pub async fn land(&self, id: &RunId, head: Option<Head>, landing: Landing) -> Result<Landed, HostFault> {
        let slot = self.slot(id);
        let mut slot = slot.lock().await;
        let Landing { first, returned, messages, asked, rests, client } = landing;
        // After a fault the run may be ahead of its log, so it is not put back.
        let known = slot.folded.take().filter(|known| head.as_ref().is_some_and(|head| known.stamp == head.stamp));
        let mut folded = match (known, &head) {
            (Some(known), _) => known,
            (None, Some(_)) => self.fold(id, &slot.store, None).await?,
            // Its client hears at once why the run cannot be performed here.
            (None, None) => {
                let begun = self.begin(id, &slot.store, started_at(&first), settings_of(&first), None).await;
                begun.map_err(|fault| HostFault::Refused(fault.to_string()))?
            }
        };
        if head.as_ref().is_some_and(|head| head.stamp != folded.stamp) {
            return Err(HostFault::Again(format!("the log of {id} changed while it was read")));
        }
        if let (Some(client), Some(Asked::Reopen { settings, .. })) = (&client, &asked)
            && folded.run.run().settings() != &**settings
            && let Some(words) = client.lacks(ClientRight::Approve)
        {
            return Err(HostFault::Refused(format!("with other settings: {words}")));
        }
        let before = head.is_some().then(|| folded.summary()).flatten();
        self.prepare(id, &slot.store, &mut folded, asked.as_ref()).await?;
        slot.store.begin(messages);
        if head.is_none() {
            let events = first.into_iter().map(|entry| (entry.at, entry.event)).collect();
            let recorded = folded.run.record_first(&folded.services, events);
            recorded.map_err(|fault| HostFault::Refused(fault.to_string()))?;
            if rests {
                folded.run.rest();
            }
        }
        let landed = folded.run.land(&folded.services, returned, asked).await;
        slot.store.set_log(Vec::new());
        let Followed { begun, answer } = landed?;
        slot.store.persist_staged()?;
        let entries = slot.store.take_appended();
        if !entries.is_empty() {
            folded.stamp = new_stamp()?;
        }
        let landed = Landed {
            entries,
            begun,
            attempts: folded.run.attempts().collect(),
            stamp: folded.stamp.clone(),
            rests: folded.run.is_at_rest(),
            summary: folded.summary().filter(|now| is_news(before.as_ref(), now)),
            answer,
        };
        // What was refused may have left services behind that are not those of the run.
        slot.folded = (!matches!(landed.answer, Some(Err(_)))).then_some(folded);
        Ok(landed)
    }

    /// Gets what an answer needs: the services for new settings, or the log.
    async fn prepare(
        &self,
        id: &RunId,
        store: &Arc<HostedStore>,
        folded: &mut Folded,
        asked: Option<&Asked>,
    ) -> Result<(), HostFault> {
        match asked {
            Some(Asked::Reopen { settings, .. }) if **settings != folded.settings => {
                let services = self.services(id, store, settings, None).await;
                // Its client hears at once why the run cannot go on like that.
                folded.services = services.map_err(|fault| HostFault::Refused(fault.to_string()))?;
                folded.settings = (**settings).clone();
            }
            Some(Asked::Undo { .. }) => store.set_log(self.records.log(id, 0).await?.1),
            _ => {}
        }
        Ok(())
    }

    /// Tells people about what a landing recorded. `stamp` is the state that it recorded.
    pub async fn show(&self, id: &RunId, stamp: &str) {
        let slot = self.slot(id);
        let mut slot = slot.lock().await;
        if let Some(Folded { run, services, .. }) = slot.folded.as_mut().filter(|folded| folded.stamp == stamp) {
            run.show(services);
        }
    }

    /// Performs a job, and returns the events of its result. `None` if the run does not wait for it.
    pub async fn perform(&self, job: &Job, cancel: CancellationToken) -> Result<Option<Vec<Event>>, Unperformed> {
        let not_begun = |why: String| Unperformed { begun: false, why };
        let (checkout, in_use) = self.checkout(job).await.map_err(|fault| not_begun(fault.to_string()))?.unzip();
        let folder = checkout.as_ref().map(|checkout| checkout.folder.clone());
        let copy = folder.zip(in_use).map(|(folder, in_use)| {
            Arc::new(ProjectCopy { job: job.clone(), folder, in_use, texts: Arc::clone(&self.texts) })
        });
        let slot = self.slot(&job.run);
        let (work, store) = {
            let mut slot = slot.lock().await;
            let waits = |folded: &Folded| folded.run.awaits(&job.effect, job.attempt);
            if !slot.folded.as_ref().is_some_and(waits) {
                let known = slot.folded.take();
                let folded = match known {
                    Some(known) => self.caught_up(&job.run, &slot.store, known, checkout.as_ref()).await,
                    None => self.fold(&job.run, &slot.store, checkout.as_ref()).await,
                };
                slot.folded = Some(folded.map_err(|fault| not_begun(fault.to_string()))?);
            }
            let Some(folded) = &slot.folded else { return Ok(None) };
            // The run may have been folded in the checkout of earlier work.
            let services = match checkout.as_ref().zip(copy.as_ref()) {
                Some((checkout, copy)) => {
                    let services = self.built(&job.run, &slot.store, &folded.settings, Some(checkout)).await;
                    let mut services = services.map_err(|fault| not_begun(fault.to_string()))?;
                    in_copy(&mut services, copy);
                    Arc::new(services)
                }
                None => Arc::clone(&folded.services),
            };
            (folded.run.perform(&services, &job.effect, job.attempt, cancel), Arc::clone(&slot.store))
        };
        let Some(work) = work else { return Ok(None) };
        let failed = |why: String| Unperformed { begun: true, why };
        let events = work.await.map_err(|fault| failed(fault.to_string()))?;
        store.persist_staged().map_err(|fault| failed(fault.to_string()))?;
        Ok(Some(events))
    }

    /// The project as it is now, if it is elsewhere.
    async fn checkout(&self, job: &Job) -> Result<Option<(Checkout, InUse)>, ClusterFault> {
        let wants = if job.is_command() { Use::Writes } else { Use::Reads };
        match &self.checkouts {
            Some(checkouts) => checkouts.get(&job.run, wants).await.map(Some),
            None => Ok(None),
        }
    }

    /// The services of the run of a call, and the project with what commands of its task may do there. `None` if the run
    /// does not wait for it.
    pub async fn place_of(&self, job: &Job) -> Result<Option<(Arc<Services>, Arc<Workspace>)>, HostFault> {
        let EffectKey::Tool { task, .. } = &job.effect else { return Ok(None) };
        let slot = self.slot(&job.run);
        let mut slot = slot.lock().await;
        if slot.folded.is_none() {
            slot.folded = Some(self.fold(&job.run, &slot.store, None).await?);
        }
        let waits = slot.folded.as_ref().filter(|folded| folded.run.awaits(&job.effect, job.attempt));
        Ok(waits.map(|folded| {
            let caller = Caller::of(folded.run.run(), task);
            (Arc::clone(&folded.services), folded.services.workspace_for(&caller, None))
        }))
    }

    /// Of these paths below the project, those that no command elsewhere may change.
    pub fn closed_to_commands(&self, workspace: &Workspace, paths: &[PathBuf]) -> Vec<PathBuf> {
        self.project.closed_to_commands(workspace, paths)
    }

    /// Folds a run from its recorded log.
    async fn fold(
        &self,
        id: &RunId,
        store: &Arc<HostedStore>,
        checkout: Option<&Checkout>,
    ) -> Result<Folded, HostFault> {
        let (head, entries) = self.records.log(id, 0).await?;
        let (started_at, settings) = (started_at(&entries), settings_of(&entries));
        store.set_log(entries);
        let folded = self.begin(id, store, started_at, settings, checkout).await;
        store.set_log(Vec::new());
        let mut folded = folded?;
        if head.rests {
            folded.run.rest();
        }
        if folded.run.position() != head.position {
            let (found, recorded) = (folded.run.position(), head.position);
            return Err(HostFault::Again(format!("the log of {id} has {found} of {recorded} entries")));
        }
        Ok(Folded { stamp: head.stamp, pages: head.pages, ..folded })
    }

    /// Folds what was recorded since.
    async fn caught_up(
        &self,
        id: &RunId,
        store: &Arc<HostedStore>,
        mut known: Folded,
        checkout: Option<&Checkout>,
    ) -> Result<Folded, HostFault> {
        let (head, entries) = self.records.log(id, known.pages).await?;
        let settings = settings_of(&entries).filter(|settings| *settings != known.settings);
        known.run.catch_up(entries)?;
        (known.stamp, known.pages) = (head.stamp, head.pages);
        if let Some(settings) = settings {
            known.services = self.services(id, store, &settings, checkout).await?;
            known.settings = settings;
        }
        Ok(known)
    }

    /// Opens a run on the entries that its store returns.
    async fn begin(
        &self,
        id: &RunId,
        store: &Arc<HostedStore>,
        started_at: u64,
        settings: Option<Settings>,
        checkout: Option<&Checkout>,
    ) -> Result<Folded, HostFault> {
        let settings = settings.ok_or_else(|| HostFault::Refused(format!("the log of {id} has no beginning")))?;
        let services = self.services(id, store, &settings, checkout).await?;
        let run = HostedRun::open(&services, id)?;
        Ok(Folded { run, services, settings, stamp: String::new(), started_at, pages: 0 })
    }

    async fn services(
        &self,
        id: &RunId,
        store: &Arc<HostedStore>,
        settings: &Settings,
        checkout: Option<&Checkout>,
    ) -> Result<Arc<Services>, HostFault> {
        self.built(id, store, settings, checkout).await.map(Arc::new)
    }

    async fn built(
        &self,
        id: &RunId,
        store: &Arc<HostedStore>,
        settings: &Settings,
        checkout: Option<&Checkout>,
    ) -> Result<Services, HostFault> {
        let as_store: Arc<dyn Store> = Arc::clone(store) as Arc<dyn Store>;
        self.project.services(id, settings, as_store, checkout).await.map_err(HostFault::Again)
    }

    fn slot(&self, id: &RunId) -> Arc<AsyncMutex<Slot>> {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = runs.get_mut(id) {
            kept.last_use = now;
            return Arc::clone(&kept.slot);
        }
        if runs.len() >= KEPT {
            let unused = runs.iter().filter(|(_, kept)| Arc::strong_count(&kept.slot) == 1);
            let oldest = unused.min_by_key(|(_, kept)| kept.last_use).map(|(id, _)| id.clone());
            oldest.map(|id| runs.remove(&id));
        }
        let store = Arc::new(HostedStore::new(id, Arc::clone(&self.texts)));
        let slot = Arc::new(AsyncMutex::new(Slot { store, folded: None }));
        runs.insert(id.clone(), Kept { slot: Arc::clone(&slot), last_use: now });
        slot
    }
}

/// The settings that a log ends with.
fn settings_of(entries: &[LogEntry]) -> Option<Settings> {
    entries.iter().rev().find_map(|entry| match &entry.event {
        Event::RunStarted(events::RunStarted { settings, .. })
        | Event::RunResumed(events::RunResumed { settings })
        | Event::RunContinued(events::RunContinued { settings, .. }) => Some(settings.clone()),
        _ => None,
    })
}

/// A name that no other state has.
fn new_stamp() -> Result<String, HostFault> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| HostFault::Again(format!("no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
