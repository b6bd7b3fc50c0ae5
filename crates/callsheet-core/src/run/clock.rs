//! How far a run has got: the number and time of the last log entry, and the orders that log entries carried out. A
//! run has no other clock.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::events::LogEntry;

use super::state::Stopwatch;

/// The last log entry, the orders, and how long work was in flight.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clock {
    /// Milliseconds since the Unix epoch.
    now: u64,
    last_entry: u64,
    /// The keys of orders that log entries carried out.
    orders: BTreeSet<String>,
    work: Stopwatch,
    times: Times,
    /// What the record already contained at the last resume.
    reused: Option<Reuse>,
    /// The time, in milliseconds, at which the current list could have existed with unlimited slots.
    ideal_list_ms: u64,
}

/// How the time of a run was spent, in milliseconds. Each moment counts once. Time without a process counts only if
/// the run waited for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Time with a model call in flight, whatever else was in flight.
    pub models_ms: u64,
    /// Time without a model call: tools, checks, changes and Callsheet's own code.
    pub working_ms: u64,
    /// Time in which only an answer of a person was outstanding.
    pub you_ms: u64,
}

impl Times {
    /// The time without waiting for a person.
    pub fn busy_ms(&self) -> u64 {
        self.models_ms.saturating_add(self.working_ms)
    }

    /// The whole time.
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

/// What a resume did not have to repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Reuse {
    /// Model calls whose replies are in the record.
    pub calls: u32,
    /// Calls that were interrupted and are made again.
    pub repeated: u32,
    /// What these replies cost in US dollars, as far as known.
    pub saved_usd: f64,
    /// Milliseconds of work before the resume.
    pub saved_ms: u64,
}

/// The kind of a stretch of time.
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

    /// Whether an order with this key was carried out.
    pub fn has_carried_out(&self, key: &str) -> bool {
        self.orders.contains(key)
    }

    /// Notes that a log entry was applied.
    pub fn tick(&mut self, at: u64, entry: &LogEntry) {
        (self.now, self.last_entry) = (at, entry.n);
        self.orders.extend(entry.orders.iter().map(|order| order.key.clone()));
    }

    /// Adds the time since the last log entry to the kind of work that the run did.
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

    /// Notes how much of the record a resume reuses.
    pub fn note_reuse(&mut self, reuse: Reuse) {
        self.reused = Some(Reuse { saved_ms: self.times.busy_ms(), ..reuse });
    }

    /// What the last resume did not have to repeat.
    pub fn reused(&self) -> Option<Reuse> {
        self.reused
    }

    /// Milliseconds in which work was in flight, up to `at`.
    pub fn spent_ms(&self, at: u64) -> u64 {
        self.work.spent_ms(at)
    }

    /// Notes whether work is in flight from now on.
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
