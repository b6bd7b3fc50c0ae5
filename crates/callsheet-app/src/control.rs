//! The port between faces and runs.

use std::sync::Arc;

use callsheet_core::issue::Severity;
use callsheet_core::record::Gate;
use callsheet_core::run::Run;
use callsheet_core::spec::RunId;
use callsheet_core::symbols::Coloured;
use callsheet_runtime::ports::{GateView, LiveText, Store};
use callsheet_runtime::shown::Shown;
use serde::{Deserialize, Serialize};

use crate::command::{Order, Receipt};
use crate::refusal::Refusal;

/// An issue of a plan file, with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetIssue {
    /// Line from 1.
    pub line: u32,
    /// Column from 1, in characters.
    pub column: usize,
    /// Whether the plan can be used with it.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub words: String,
}

/// What an edit of a plan file would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SheetCheck {
    /// In the order of lines.
    pub issues: Vec<SheetIssue>,
    /// What the edit changes, in words; empty if it has errors.
    pub effect: String,
}

/// A process that this program started for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Started {
    /// It works.
    Working,
    /// It has ended.
    Ended {
        /// Whether it failed.
        failed: bool,
        /// The end of what it printed.
        words: String,
    },
}

/// The runs of a project, for every face. Calls block for a short time: an asynchronous face calls them from a thread that may
/// block.
pub trait RunControl: Send + Sync {
    /// The project's name for a person.
    fn project(&self) -> String;

    /// The record of the project, to be read. `None`: there are no runs yet.
    ///
    /// # Errors
    /// It cannot be used.
    fn record(&self) -> Result<Option<Arc<dyn Store>>, Refusal>;

    /// What an open gate shows.
    ///
    /// # Errors
    /// The record cannot be read.
    fn gate(&self, run: &Run, gate: &Gate) -> Result<GateView, Refusal>;

    /// What the open gates of a run show, in the order they were opened.
    ///
    /// # Errors
    /// The record cannot be read.
    fn gates(&self, run: &Run) -> Result<Vec<GateView>, Refusal>;

    /// What the process that drives the run, as the record names it, has streamed of calls in progress.
    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText>;

    /// The kinds of the pieces of a code text. The path tells its language. Empty if the language is not known.
    fn colours(&self, path: &str, text: &str) -> Vec<Coloured>;

    /// The answer of a run that is finished; empty for another.
    fn answer(&self, run: &Run, id: &RunId) -> String;

    /// Carries a command out, or leaves it for the process that drives the run.
    ///
    /// # Errors
    /// Why not, and what to do instead. Nothing was done, unless the refusal says so.
    fn order(&self, run: &RunId, order: &Order) -> Result<Receipt, Refusal>;

    /// Resumes a run that no process drives, in a process of its own.
    ///
    /// # Errors
    /// It runs, or the process cannot be started.
    fn resume(&self, run: &RunId) -> Result<Receipt, Refusal>;

    /// What became of the process that was started last for a run from here.
    fn started(&self, run: &RunId) -> Option<Started>;

    /// A run as one HTML file.
    ///
    /// # Errors
    /// The record cannot be read.
    fn report(&self, run: &RunId) -> Result<Shown, Refusal>;

    /// The text of a run's plan file as it is on disk; the rendered one if there is no file.
    ///
    /// # Errors
    /// It cannot be read.
    fn sheet(&self, run: &Run, id: &RunId) -> Result<String, Refusal>;

    /// What an edit of the plan file would do. Changes nothing.
    ///
    /// # Errors
    /// The project cannot be read.
    fn check_sheet(&self, run: &Run, id: &RunId, text: &str) -> Result<SheetCheck, Refusal>;
}
