//! The slots and pauses of providers, for all workers. The dispatcher keeps them by the same rules as a local run. What it knows
//! comes from the workers, which tell a new process of it which slots they hold.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use callsheet_runtime::ports::{Clock, SystemClock};
use callsheet_runtime::transport_policy::{Permit, SharedSlots, Slots, Turn};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::client::{Access, Client};
use crate::door::{GIVE, PAUSE, SLOT};
use crate::fault::ClusterFault;

/// How long a worker that asks for a slot is kept waiting.
const POLL: Duration = Duration::from_secs(1);
/// How long a new dispatcher gives no slot, so that workers can tell which ones they hold.
const HEAR: Duration = Duration::from_secs(2);
/// How long a worker waits before it calls a dispatcher again that does not respond.
const AGAIN: Duration = Duration::from_millis(300);

/// A slot that a worker has or asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Slot {
    /// The worker's process.
    pub process: String,
    /// A number that the process gives it once.
    pub number: u64,
    /// The provider.
    pub provider: String,
}

/// The slots of one process. Whatever it does not name up to its last number is free.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OwnSlots {
    /// The last number that the process has given.
    pub last: u64,
    /// Its slots, and whether it has each or asks for it.
    pub slots: Vec<(Slot, bool)>,
}

/// The answer to a worker that asks for a slot.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Granted {
    /// Whether it has the slot now.
    pub slot: bool,
    /// How many milliseconds the provider is not called.
    pub pause_ms: u64,
}

/// A provider asked to wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Paused {
    /// The provider.
    pub provider: String,
    /// How many milliseconds.
    pub ms: u64,
}

/// The limits as the dispatcher keeps them.
#[derive(Debug)]
pub(crate) struct Limits {
    slots: Slots,
    known: Mutex<BTreeMap<Slot, Place>>,
    begun: Instant,
}

#[derive(Debug)]
struct Place {
    turn: Turn,
    permit: Option<Permit>,
}

impl Limits {
    pub fn new(slots: Slots) -> Self {
        Self { slots, known: Mutex::default(), begun: Instant::now() }
    }

    /// Waits for a slot, but not for long. A worker that asks again keeps its place.
    pub async fn ask(&self, slot: &Slot) -> Granted {
        let until = Instant::now() + POLL;
        let turn = self.known().entry(slot.clone()).or_insert_with(|| self.place()).turn;
        let granted = tokio::time::timeout_at(until, async {
            tokio::time::sleep_until(self.begun + HEAR).await;
            if self.known().get(slot).is_some_and(|place| place.permit.is_some()) {
                return true;
            }
            let permit = self.slots.acquire(&slot.provider, turn, &CancellationToken::new()).await;
            let mut known = self.known();
            // Somebody who gave it back in the meantime no longer wants it.
            let place = known.get_mut(slot);
            place.zip(permit).map(|(place, permit)| place.permit = Some(permit)).is_some()
        });
        let granted = granted.await.unwrap_or(false);
        let pause = self.slots.pauses().left(&slot.provider, SystemClock.now_ms());
        Granted { slot: granted, pause_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX) }
    }

    /// A slot is free again, or no longer wanted.
    pub fn give(&self, slot: &Slot) {
        let given = self.known().remove(slot);
        drop(given);
    }

    /// A provider asked a worker to wait, so all wait.
    pub fn pause(&self, paused: &Paused) {
        self.slots.pauses().request(&paused.provider, Duration::from_millis(paused.ms), SystemClock.now_ms());
    }

    /// Notes the slots of a process. An earlier process of the dispatcher gave out those that are new here. What the
    /// process no longer names is free, in case it was given back before an older message named it.
    pub async fn note(&self, process: &str, own: &OwnSlots) {
        let is_named = |slot: &Slot| own.slots.iter().any(|(named, _)| named == slot);
        self.known().retain(|slot, _| slot.process != process || slot.number > own.last || is_named(slot));
        let held = own.slots.iter().filter(|(_, has)| *has).map(|(slot, _)| slot);
        let unknown: Vec<&Slot> = held.filter(|slot| !self.known().contains_key(*slot)).collect();
        let at_once = CancellationToken::new();
        at_once.cancel();
        for slot in unknown {
            let mut place = self.place();
            place.permit = self.slots.acquire(&slot.provider, place.turn, &at_once).await;
            self.known().entry(slot.clone()).or_insert(place);
        }
    }

    /// Frees what workers held that are gone.
    pub fn keep_only(&self, processes: &BTreeSet<String>) {
        self.known().retain(|slot, _| processes.contains(&slot.process));
    }

    fn place(&self) -> Place {
        Place { turn: self.slots.turn(), permit: None }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Slot, Place>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The limits as a worker sees them.
#[derive(Clone, Debug)]
pub struct WorkerSlots(Arc<Seen>);

#[derive(Debug)]
struct Seen {
    client: Client,
    process: String,
    own: Mutex<OwnNumbers>,
}

/// The slots of a process by their numbers.
#[derive(Debug, Default)]
struct OwnNumbers {
    last: u64,
    /// Whether the process has it.
    slots: BTreeMap<Slot, bool>,
}

impl WorkerSlots {
    /// The limits of a cluster, for a process of a worker.
    ///
    /// # Errors
    /// The address is none.
    pub fn new(access: &Access, process: &str) -> Result<Self, ClusterFault> {
        let client = Client::new(access)?;
        Ok(Self(Arc::new(Seen { client, process: process.to_owned(), own: Mutex::default() })))
    }

    /// The slots that calls of this process have or ask for.
    pub(crate) fn own(&self) -> OwnSlots {
        let own = self.0.own();
        OwnSlots { last: own.last, slots: own.slots.iter().map(|(slot, has)| (slot.clone(), *has)).collect() }
    }
}

impl Seen {
    fn own(&self) -> MutexGuard<'_, OwnNumbers> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new slot to ask for.
    fn number(&self, provider: &str) -> Slot {
        let mut own = self.own();
        own.last += 1;
        let slot = Slot { process: self.process.clone(), number: own.last, provider: provider.to_owned() };
        own.slots.insert(slot.clone(), false);
        slot
    }

    /// Calls the dispatcher until it answers.
    async fn tell(&self, path: &str, what: &impl Serialize) {
        while self.client.call::<bool>(path, what).await.is_err() {
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// A slot of this process, or its place in the queue.
#[derive(Debug)]
struct Mine {
    slot: Slot,
    seen: Arc<Seen>,
}

impl Drop for Mine {
    fn drop(&mut self) {
        self.seen.own().slots.remove(&self.slot);
        let (seen, slot) = (Arc::clone(&self.seen), self.slot.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { seen.tell(GIVE, &slot).await });
        }
    }
}

#[async_trait]
impl SharedSlots for WorkerSlots {
    async fn acquire(
        &self,
        provider: &str,
        cancel: &CancellationToken,
    ) -> Option<(Box<dyn Any + Send + Sync>, Duration)> {
        let slot = self.0.number(provider);
        let mine = Mine { slot: slot.clone(), seen: Arc::clone(&self.0) };
        loop {
            let answer = tokio::select! {
                () = cancel.cancelled() => return None,
                answer = self.0.client.call::<Granted>(SLOT, &slot) => answer,
            };
            match answer {
                Ok(granted) if granted.slot => {
                    self.0.own().slots.insert(slot, true);
                    return Some((Box::new(mine), Duration::from_millis(granted.pause_ms)));
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    fn paused(&self, provider: &str, wait: Duration) {
        let paused = Paused { provider: provider.to_owned(), ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) };
        let seen = Arc::clone(&self.0);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { seen.tell(PAUSE, &paused).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(process: &str, number: u64) -> Slot {
        Slot { process: process.to_owned(), number, provider: "acme".to_owned() }
    }

    fn has(last: u64, numbers: &[u64]) -> OwnSlots {
        OwnSlots { last, slots: numbers.iter().map(|number| (slot("first", *number), true)).collect() }
    }

    fn limits() -> Limits {
        Limits::new(Slots::new(BTreeMap::from([("acme".to_owned(), 1)]), 8))
    }

    /// covers: 15.11
    #[tokio::test(start_paused = true)]
    async fn a_slot_is_one_for_all_workers_and_free_when_its_worker_is_gone() {
        let limits = limits();
        tokio::time::sleep(HEAR).await;
        assert!(limits.ask(&slot("first", 1)).await.slot);
        assert!(limits.ask(&slot("first", 1)).await.slot, "it has it already");
        assert!(!limits.ask(&slot("second", 1)).await.slot);
        limits.give(&slot("first", 1));
        assert!(limits.ask(&slot("second", 1)).await.slot);
        assert!(!limits.ask(&slot("first", 2)).await.slot);
        limits.keep_only(&BTreeSet::from(["first".to_owned()]));
        assert!(limits.ask(&slot("first", 2)).await.slot);
    }

    /// covers: 15.11
    #[tokio::test(start_paused = true)]
    async fn a_new_dispatcher_hears_of_held_slots_before_it_gives_any() {
        let limits = limits();
        let (asking, telling) = (slot("second", 1), slot("first", 1));
        let held = has(1, &[1]);
        let (asked, ()) = tokio::join!(limits.ask(&asking), limits.note("first", &held));
        assert!(!asked.slot);
        tokio::time::sleep(HEAR).await;
        assert!(!limits.ask(&asking).await.slot, "the first one has it");
        limits.give(&telling);
        assert!(limits.ask(&asking).await.slot);
    }

    /// A worker's message can be older than its return of a slot, and still arrive later.
    ///
    /// covers: 15.11
    #[tokio::test(start_paused = true)]
    async fn a_slot_that_only_an_old_message_names_becomes_free() {
        let limits = limits();
        tokio::time::sleep(HEAR).await;
        assert!(limits.ask(&slot("first", 1)).await.slot);
        limits.give(&slot("first", 1));
        limits.note("first", &has(1, &[1])).await;
        assert!(!limits.ask(&slot("second", 1)).await.slot);
        limits.note("first", &has(1, &[])).await;
        assert!(limits.ask(&slot("second", 1)).await.slot);
        limits.note("second", &has(0, &[])).await;
        assert!(!limits.ask(&slot("first", 2)).await.slot, "what was granted after the message stays");
    }

    /// covers: 15.11
    #[tokio::test(start_paused = true)]
    async fn all_workers_hear_that_a_provider_asked_one_to_wait() {
        let limits = limits();
        limits.pause(&Paused { provider: "acme".to_owned(), ms: 60_000 });
        tokio::time::sleep(HEAR).await;
        let granted = limits.ask(&slot("first", 1)).await;
        assert!(granted.slot && granted.pause_ms > 0, "{granted:?}");
    }
}
