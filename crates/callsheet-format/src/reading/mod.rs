//! What every reader shares: the lookups that it asks of the world, the diagnostics that it collects, and their words.

mod diagnostics;
mod known;
mod lookup;
mod making;
mod producers;
mod words;

pub use diagnostics::{Diagnostics, excerpt};
pub use known::{KnownTask, KnownTasks};
pub use lookup::{Answer, Answers, Candidates, FileFacts, Lookup, Past, ReadContext};
pub use making::files_of;
pub(crate) use producers::numbered_start;
pub use producers::{Producer, Producers, named_files};
pub(crate) use words::clause;

use callsheet_core::issue::{Issue, Repair, Severity};

/// The result of every reading: the best partial value, and all that was done and found.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading<T> {
    /// The best partial value.
    pub value: T,
    /// Repairs in line order.
    pub repairs: Vec<Repair>,
    /// Issues in line order.
    pub issues: Vec<Issue>,
    /// What it asked of the world without an answer: with answers to these it may read otherwise (spec 4.1).
    pub wanted: Vec<Lookup>,
}

impl<T> Reading<T> {
    /// A reply is accepted if and only if it has no error (spec 3.2).
    pub fn is_accepted(&self) -> bool {
        self.issues.iter().all(|issue| issue.severity != Severity::Error)
    }

    /// The same with another value.
    pub fn with<U>(self, value: U) -> Reading<U> {
        Reading { value, repairs: self.repairs, issues: self.issues, wanted: self.wanted }
    }
}
