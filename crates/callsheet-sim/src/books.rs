//! All books about a run.

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::Settings;
use callsheet_core::run::Run;

use crate::checkers::{Kept, Witness};
use crate::people::People;
use crate::tree_checkers::TreeWitness;

/// They see only the events, each before and after it is folded.
#[derive(Default)]
pub struct Books {
    sheets: Witness,
    trees: TreeWitness,
    people: People,
}

impl Books {
    /// Sees an event before it is applied.
    ///
    /// # Errors
    /// A promise is about to be broken.
    pub fn before(&mut self, run: &Run, fact: &LogEntry) -> Kept {
        self.sheets.before(run, fact)?;
        self.trees.before(run, fact)?;
        self.people.before(run, fact)
    }

    /// Sees an event after it was accepted.
    ///
    /// # Errors
    /// A promise was broken.
    pub fn after(&mut self, run: &Run, fact: &LogEntry) -> Kept {
        self.sheets.after(run, Some(fact))?;
        self.people.after(run, fact)
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        self.sheets.settings()
    }
}
