//! Which worker does what. The engine keeps the work and who was given it; this table is what the present process of the
//! dispatcher knows of that. It holds nothing that cannot be told again by the engine and by the workers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callsheet_core::nouns::RunId;
use callsheet_runtime::driver::Needs;
use callsheet_runtime::transport_policy::Slots;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, oneshot, watch};

use crate::calls::{Job, Key, Lease, Offer, Take, Taken};

/// How long a worker that asks for work is kept waiting.
const POLL: Duration = Duration::from_secs(1);
/// How many ticks a worker may be silent. Ticks and not seconds, because a machine that slept has heard nobody.
const SILENCE: u32 = 10;

/// How a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// The run has its result, or no longer waits for one.
    Over,
    /// The worker is gone.
    Lost,
    /// The worker began and could not do it.
    Failed,
    /// The worker could not begin, so nothing has happened.
    NotBegun,
}

/// What a result is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its worker has the lease.
    Good,
    /// The lease has ended.
    Late,
    /// This process has not heard of it.
    Unknown,
}

/// Another process took over the name of this worker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Replaced;

/// The table.
#[derive(Debug)]
pub(crate) struct Desk {
    state: Mutex<State>,
    news: Notify,
    slots: Slots,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    held: BTreeMap<Key, Held>,
    /// Workers by their process.
    workers: BTreeMap<String, Known>,
    /// Processes whose name another one has now.
    replaced: BTreeSet<String>,
    /// Processes that could not do a piece of work.
    failed: BTreeMap<Key, BTreeSet<String>>,
}

#[derive(Debug)]
struct Waiting {
    job: Job,
    number: u32,
    tell: oneshot::Sender<Option<Lease>>,
}

#[derive(Debug)]
struct Held {
    job: Job,
    lease: Lease,
    /// Whether the engine has recorded the lease. Only then does the worker hear of it.
    recorded: bool,
    end: watch::Sender<Option<End>>,
}

impl Held {
    fn new(job: Job, lease: Lease, recorded: bool) -> Self {
        Self { job, lease, recorded, end: watch::Sender::new(None) }
    }

    fn is_live(&self) -> bool {
        self.end.borrow().is_none()
    }
}

#[derive(Debug, Default)]
struct Known {
    name: String,
    offer: Offer,
    silent: u32,
    /// Calls of it that wait for work now.
    asking: usize,
    done: u64,
}

/// A worker as the dispatcher sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    /// Its name.
    pub name: String,
    /// What it can do.
    pub offer: Offer,
    /// How many tasks it has now.
    pub doing: usize,
    /// How many results it gave since it came.
    pub done: u64,
}

impl Desk {
    /// An empty table. Of the calls of a provider, little more are given out than it has slots.
    pub fn new(slots: Slots) -> Self {
        Self { state: Mutex::default(), news: Notify::new(), slots }
    }

    /// Waits until a worker takes the work, and returns its lease. `None` if the run no longer waits for it.
    pub async fn claim(&self, job: &Job, number: u32) -> Option<Lease> {
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.state();
            // An earlier call of the engine was broken off before the lease was recorded, so no worker has heard of it.
            state.held.remove(&job.key());
            state.waiting.retain(|waiting| waiting.job.key() != job.key());
            state.waiting.push(Waiting { job: job.clone(), number, tell });
        }
        self.news.notify_waiters();
        told.await.ok().flatten()
    }

    /// Lets the worker begin, now that its lease is recorded, and waits for the end of the lease. `is_awaited` is asked
    /// if an earlier process of the dispatcher gave out the lease.
    pub async fn hold(&self, job: &Job, lease: &Lease, is_awaited: impl Future<Output = bool>) -> End {
        let known = self.recorded(job, lease);
        let mut end = match known {
            Some(end) => end,
            None if !is_awaited.await => return End::Over,
            None => match self.adopt(job, lease) {
                Some(end) => end,
                None => return End::Lost,
            },
        };
        self.news.notify_waiters();
        let ended = end.wait_for(Option::is_some).await.map_or(End::Lost, |end| end.unwrap_or(End::Lost));
        let mut state = self.state();
        if ended != End::Over && state.held.get(&job.key()).is_some_and(|held| held.lease == *lease) {
            state.held.remove(&job.key());
        }
        if ended == End::Over {
            state.failed.remove(&job.key());
        }
        ended
    }

    fn recorded(&self, job: &Job, lease: &Lease) -> Option<watch::Receiver<Option<End>>> {
        let mut state = self.state();
        let held = state.held.get_mut(&job.key()).filter(|held| held.lease == *lease)?;
        held.recorded = true;
        Some(held.end.subscribe())
    }

    /// Takes over a lease of an earlier process of the dispatcher. Its worker has as long to ask as one that was heard now.
    fn adopt(&self, job: &Job, lease: &Lease) -> Option<watch::Receiver<Option<End>>> {
        let mut state = self.state();
        if state.replaced.contains(&lease.process) {
            return None;
        }
        state.workers.entry(lease.process.clone()).or_default();
        let held = Held::new(job.clone(), lease.clone(), true);
        let end = held.end.subscribe();
        state.held.insert(job.key(), held);
        Some(end)
    }

    /// Waits for something that this worker has to do or to drop, but not for long.
    pub async fn take(&self, asks: &Take) -> Result<Taken, Replaced> {
        let until = tokio::time::Instant::now() + POLL;
        self.arrive(asks)?;
        let _asking = Asking { desk: self, process: &asks.process };
        loop {
            let mut news = std::pin::pin!(self.news.notified());
            news.as_mut().enable();
            let (taken, granted) = self.state().look(asks, &self.slots);
            if granted {
                // Others have become those that do the least.
                self.news.notify_waiters();
            }
            if taken != Taken::default() || tokio::time::timeout_at(until, news).await.is_err() {
                return Ok(taken);
            }
        }
    }

    fn arrive(&self, asks: &Take) -> Result<(), Replaced> {
        let mut state = self.state();
        if state.replaced.contains(&asks.process) {
            return Err(Replaced);
        }
        let same = |(process, known): (&String, &Known)| {
            (known.name == asks.name && *process != asks.process).then(|| process.clone())
        };
        let former: Vec<String> = state.workers.iter().filter_map(same).collect();
        for process in former {
            state.lose(&process);
            state.replaced.insert(process);
        }
        let known = state.workers.entry(asks.process.clone()).or_insert_with(|| {
            tracing::info!(name = asks.name, "a worker has come");
            Known::default()
        });
        (known.name, known.offer, known.silent) = (asks.name.clone(), asks.offer.clone(), 0);
        known.asking += 1;
        Ok(())
    }

    /// All workers that were heard, by name.
    pub fn workers(&self) -> Vec<WorkerView> {
        let state = self.state();
        let heard = state.workers.iter().filter(|(_, known)| !known.name.is_empty());
        let view = |(process, known): (&String, &Known)| {
            let (name, offer) = (known.name.clone(), known.offer.clone());
            WorkerView { name, offer, doing: state.load(process), done: known.done }
        };
        let mut workers: Vec<WorkerView> = heard.map(view).collect();
        workers.sort_by(|one, other| one.name.cmp(&other.name));
        workers
    }

    /// The processes of all workers.
    pub fn processes(&self) -> BTreeSet<String> {
        self.state().workers.keys().cloned().collect()
    }

    /// A worker goes. What it has is lost at once.
    pub fn leave(&self, process: &str) {
        self.state().lose(process);
        self.news.notify_waiters();
    }

    /// What a result under this lease is worth now.
    pub fn standing(&self, key: &Key, lease: &Lease) -> Standing {
        match self.state().held.get(key) {
            Some(held) if held.lease == *lease && held.is_live() => Standing::Good,
            Some(_) => Standing::Late,
            None => Standing::Unknown,
        }
    }

    /// The work of a lease that has not ended.
    pub fn job(&self, key: &Key, lease: &Lease) -> Option<Job> {
        let state = self.state();
        let held = state.held.get(key).filter(|held| held.lease == *lease && held.is_live());
        held.map(|held| held.job.clone())
    }

    /// Ends a lease.
    pub fn finish(&self, key: &Key, lease: &Lease, end: End) {
        let mut state = self.state();
        if matches!(end, End::Failed | End::NotBegun) {
            state.failed.entry(key.clone()).or_default().insert(lease.process.clone());
        }
        state.end(end, |at, held| at == key && held.lease == *lease);
        if let Some(known) = state.workers.get_mut(&lease.process) {
            known.done += 1;
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// The attempts that wait for a worker or are with one, by run.
    pub fn attempts(&self) -> BTreeMap<RunId, Vec<u64>> {
        let state = self.state();
        let held = state.held.iter().filter(|(_, held)| held.is_live()).map(|(key, _)| key.clone());
        let mut by_run: BTreeMap<RunId, Vec<u64>> = BTreeMap::new();
        for key in held.chain(state.waiting.iter().map(|waiting| waiting.job.key())) {
            by_run.entry(key.run).or_default().push(key.attempt);
        }
        by_run
    }

    /// Ends work that its run no longer waits for.
    pub fn drop_work(&self, run: &RunId, unwanted: &[u64]) {
        if unwanted.is_empty() {
            return;
        }
        let mut state = self.state();
        let is_unwanted = |key: &Key| key.run == *run && unwanted.contains(&key.attempt);
        state.end(End::Over, |key, _| is_unwanted(key));
        for waiting in state.waiting.extract_if(.., |waiting| is_unwanted(&waiting.job.key())) {
            // Whoever waited may be gone with its call.
            let _gone = waiting.tell.send(None);
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// A second has passed. A worker that was silent for too long is lost.
    pub fn tick(&self) {
        let mut state = self.state();
        let mut lost = Vec::new();
        for (process, known) in &mut state.workers {
            known.silent = if known.asking > 0 { 0 } else { known.silent + 1 };
            if known.silent > SILENCE {
                lost.push(process.clone());
            }
        }
        lost.iter().for_each(|process| state.lose(process));
        state.waiting.retain(|waiting| !waiting.tell.is_closed());
        let State { held, workers, .. } = &mut *state;
        held.retain(|_, held| workers.contains_key(&held.lease.process) || *held.end.borrow() != Some(End::Over));
        drop(state);
        if !lost.is_empty() {
            self.news.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What a worker has to begin and to drop.
    fn look(&mut self, asks: &Take, slots: &Slots) -> (Taken, bool) {
        let granted = self.grant(&asks.process, slots);
        let mine = |held: &Held| held.lease.process == asks.process;
        let has = |key: &Key, number: u32| asks.has.iter().any(|(own, at)| own == key && *at == number);
        let begins = self
            .held
            .iter()
            .filter(|(key, held)| mine(held) && held.recorded && held.is_live() && !has(key, held.lease.number));
        let begin = begins.map(|(_, held)| (held.job.clone(), held.lease.number)).collect();
        let is_ended = |key: &Key, number: u32| {
            self.held.get(key).is_some_and(|held| !mine(held) || held.lease.number != number || !held.is_live())
        };
        let drop = asks.has.iter().filter(|(key, number)| is_ended(key, *number)).map(|(key, _)| key.clone()).collect();
        // The worker has heard of the end of what it no longer has.
        self.held
            .retain(|key, held| !mine(held) || *held.end.borrow() != Some(End::Over) || has(key, held.lease.number));
        (Taken { begin, drop }, granted)
    }

    /// Gives this worker what it can do, in the order in which it came, and as long as no other does less. Returns
    /// whether it got something.
    fn grant(&mut self, process: &str, slots: &Slots) -> bool {
        let mut granted = false;
        let waiting = std::mem::take(&mut self.waiting);
        for waiting in waiting.into_iter().filter(|waiting| !waiting.tell.is_closed()) {
            if !self.has_slot(&waiting.job, slots) || !self.may_have(process, &waiting.job) {
                self.waiting.push(waiting);
                continue;
            }
            let lease = Lease { process: process.to_owned(), number: waiting.number };
            if waiting.tell.send(Some(lease.clone())).is_ok() {
                self.held.insert(waiting.job.key(), Held::new(waiting.job, lease, false));
                granted = true;
            }
        }
        granted
    }

    /// Whether a slot of the provider will soon be free. A worker prepares one call more than there are slots, and no more
    /// of them take the place of other work.
    fn has_slot(&self, job: &Job, slots: &Slots) -> bool {
        let Needs::Provider(provider) = &job.needs else { return true };
        let given = self.held.values().filter(|held| held.is_live() && held.job.needs == job.needs).count();
        given < slots.size(provider).saturating_add(self.workers.len())
    }

    /// Whether this worker can do it now, and no other one should: one that does less, or one that has not failed at it.
    fn may_have(&self, process: &str, job: &Job) -> bool {
        let has_failed = |process: &str| self.failed.get(&job.key()).is_some_and(|failed| failed.contains(process));
        let can = |process: &str, known: &Known| self.load(process) < known.offer.at_once && known.offer.covers(job);
        let is_able = self.workers.get(process).is_some_and(|own| can(process, own));
        let rank = |process: &str| (has_failed(process), self.load(process));
        let is_better = |(other, known): (&String, &Known)| {
            can(other, known) && (known.silent == 0 || has_failed(process)) && rank(other) < rank(process)
        };
        is_able && !self.workers.iter().any(is_better)
    }

    /// How much a worker does.
    fn load(&self, process: &str) -> usize {
        self.held.values().filter(|held| held.lease.process == process && held.is_live()).count()
    }

    fn lose(&mut self, process: &str) {
        if let Some(known) = self.workers.remove(process) {
            tracing::warn!(name = known.name, "a worker is gone");
        }
        self.end(End::Lost, |_, held| held.lease.process == process);
    }

    fn end(&mut self, end: End, which: impl Fn(&Key, &Held) -> bool) {
        for (_, held) in self.held.iter().filter(|(key, held)| which(key, held) && held.is_live()) {
            held.end.send_replace(Some(end));
        }
    }
}

/// A call of a worker that waits for work.
struct Asking<'a> {
    desk: &'a Desk,
    process: &'a str,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(known) = self.desk.state().workers.get_mut(self.process) {
            known.asking = known.asking.saturating_sub(1);
        }
        self.desk.news.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
