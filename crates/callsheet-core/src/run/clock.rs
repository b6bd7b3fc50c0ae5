//! The only time that a run knows: that of its log entries.

use super::state::Stopwatch;

/// The time and the number of the last entry, and how long work was in flight.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clock {
    /// Milliseconds since the Unix epoch.
    now: u64,
    last_entry: u64,
    work: Stopwatch,
    /// Milliseconds at which the current list could have existed with unlimited slots.
    ideal_list_ms: u64,
}

impl Clock {
    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn last_entry(&self) -> u64 {
        self.last_entry
    }

    /// An entry was applied.
    pub fn tick(&mut self, at: u64, n: u64) {
        (self.now, self.last_entry) = (at, n);
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
