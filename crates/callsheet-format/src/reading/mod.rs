//! What all readers share: lookups about the world, diagnostics, and their words.

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

/// The result of every reading: the best partial value, and everything that was repaired and found.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading<T> {
    /// The best partial value.
    pub value: T,
    /// Repairs in line order.
    pub repairs: Vec<Repair>,
    /// Issues in line order.
    pub issues: Vec<Issue>,
    /// Lookups without an answer. With their answers, the reading may give another result (spec 4.1).
    pub wanted: Vec<Lookup>,
}

impl<T> Reading<T> {
    /// Whether the reply is accepted: only if it has no error (spec 3.2).
    pub fn is_accepted(&self) -> bool {
        self.issues.iter().all(|issue| issue.severity != Severity::Error)
    }

    /// This reading with another value.
    pub fn with<U>(self, value: U) -> Reading<U> {
        Reading { value, repairs: self.repairs, issues: self.issues, wanted: self.wanted }
    }
}
