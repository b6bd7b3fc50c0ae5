//! How far a run has got: the number and the time of the last entry, and the orders that entries carried out. A run knows no
//! other time.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::events::LogEntry;

use super::state::Stopwatch;

/// The last entry, the orders, and how long work was in flight.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clock {
    /// Milliseconds since the Unix epoch.
    now: u64,
    last_entry: u64,
    /// Keys of the orders that entries carried out.
    orders: BTreeSet<String>,
    work: Stopwatch,
    times: Times,
    /// What stood in the record at the last resume.
    reused: Option<Reuse>,
    /// Milliseconds at which the current list could have existed with unlimited slots.
    ideal_list_ms: u64,
}

/// What the time of a run went to, milliseconds. Each moment counts once; that in which no process ran counts only if the
/// run waited for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// A model was asked, whatever else went on.
    pub models_ms: u64,
    /// No model was asked: tools, checks, changes, and code of ours.
    pub working_ms: u64,
    /// Nothing but an answer of a person was outstanding.
    pub you_ms: u64,
}

impl Times {
    /// Without waiting for a person.
    pub fn busy_ms(&self) -> u64 {
        self.models_ms.saturating_add(self.working_ms)
    }

    /// All of it.
    pub fn total_ms(&self) -> u64 {
        self.busy_ms().saturating_add(self.you_ms)
    }

    fn add(&mut self, kind: TimeKind, ms: u64) {
        let part = match kind {
            TimeKind::Models => &mut self.models_ms,
            TimeKind::Working => &mut self.working_ms,
            TimeKind::You => &mut self.you_ms,
            TimeKind::Stopped => return,
        };
        *part = part.saturating_add(ms);
    }
}

/// What a resume had not to do again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Reuse {
    /// Model calls whose replies stand in the record.
    pub calls: u32,
    /// Calls that were cut off, and are made again.
    pub repeated: u32,
    /// US dollars that these replies cost, as far as known.
    pub saved_usd: f64,
    /// Milliseconds of work until then.
    pub saved_ms: u64,
}

/// What a stretch of time counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeKind {
    Models,
    Working,
    You,
    Stopped,
}

impl Clock {
    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn last_entry(&self) -> u64 {
        self.last_entry
    }

    /// Whether an order of this key was carried out.
    pub fn has_carried_out(&self, key: &str) -> bool {
        self.orders.contains(key)
    }

    /// An entry was applied.
    pub fn tick(&mut self, at: u64, entry: &LogEntry) {
        (self.now, self.last_entry) = (at, entry.n);
        self.orders.extend(entry.orders.iter().map(|order| order.key.clone()));
    }

    /// An entry is about to be applied; until it came, the run did this.
    pub fn spend(&mut self, at: u64, kind: TimeKind) {
        self.times.add(kind, at.saturating_sub(self.now));
    }

    pub fn times(&self) -> Times {
        self.times
    }

    pub fn times_at(&self, at: u64, kind: TimeKind) -> Times {
        let mut times = self.times;
        times.add(kind, at.saturating_sub(self.now));
        times
    }

    /// The run is resumed with so many replies in its record.
    pub fn note_reuse(&mut self, reuse: Reuse) {
        self.reused = Some(Reuse { saved_ms: self.times.busy_ms(), ..reuse });
    }

    /// What the last resume had not to do again.
    pub fn reused(&self) -> Option<Reuse> {
        self.reused
    }

    /// Milliseconds in which work was in flight, up to `at`.
    pub fn spent_ms(&self, at: u64) -> u64 {
        self.work.spent_ms(at)
    }

    /// Work is in flight from now on, or none is.
    pub fn set_working(&mut self, working: bool) {
        self.work.set(working, self.now);
    }

    pub fn ideal_list_ms(&self) -> u64 {
        self.ideal_list_ms
    }

    pub fn set_ideal_list_ms(&mut self, ms: u64) {
        self.ideal_list_ms = ms;
    }
}
