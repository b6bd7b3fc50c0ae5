//! An engine that drives runs. Nobody else locks them: what a process would do with the lock, the engine is asked for.

use std::collections::BTreeSet;

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{RunId, Settings, Slug};
use callsheet_core::record::Outcome;
use serde::{Deserialize, Serialize};

use super::{LiveText, StoreFault};
use crate::driver::{ResumeKind, Undone};
use crate::grants::GrantedThing;

/// What somebody asks of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// To go on with these settings. A run that works already stays as it is.
    Reopen {
        /// From where it stopped, or with a follow-up.
        how: ResumeKind,
        /// Its settings from now on.
        settings: Box<Settings>,
    },
    /// To revert the changes of these tasks. `None` means all.
    Undo {
        /// The tasks.
        tasks: Option<BTreeSet<Slug>>,
    },
    /// To withdraw a follow-up that has no list yet.
    Withdraw,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The reverted changes.
    #[serde(default)]
    pub undone: Option<Undone>,
    /// How the run had ended before the follow-up that was withdrawn. `None` if there was none to withdraw.
    #[serde(default)]
    pub before: Option<Outcome>,
}

/// The engine that drives the runs of a store. A message that is posted is handled before the call returns, and lets a
/// run go on that rests.
pub trait Hosting: Send + Sync {
    /// Where it is, in words.
    fn place(&self) -> String;

    /// Asks something of a run, with a sheet that a person edited, which the run reads first.
    ///
    /// # Errors
    /// Why it was not done, or the engine does not respond.
    fn ask(&self, run: &RunId, asked: Asked, edited: Option<String>) -> Result<Answered, StoreFault>;

    /// Records a new run that rests until it is asked to go on.
    ///
    /// # Errors
    /// The name is taken, an entry does not fit, or the engine does not respond.
    fn record(&self, run: &RunId, entries: &[LogEntry]) -> Result<(), StoreFault>;

    /// The text that calls of a run stream now.
    fn writing(&self, run: &RunId) -> Vec<LiveText>;

    /// Allows something where the engine's workers are, as a person does who is asked there. Returns what was granted,
    /// in words.
    ///
    /// # Errors
    /// The list of grants cannot be written, or the engine does not respond.
    fn grant(&self, what: &GrantedThing, only: Option<&(RunId, Slug)>) -> Result<String, StoreFault>;
}
