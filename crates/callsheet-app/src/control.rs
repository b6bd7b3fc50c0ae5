//! The port between faces and runs.

use callsheet_core::events::LogEntry;
use callsheet_core::issue::Severity;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_core::record::Gate;
use callsheet_core::symbols::Coloured;
use callsheet_runtime::ports::{GateView, LiveText, RunSummary};
use serde::{Deserialize, Serialize};

use crate::command::{Order, Receipt};
use crate::refusal::Refusal;
use crate::view::{Cursor, RunView};

/// An issue of a plan file, with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

    /// All runs, newest first.
    ///
    /// # Errors
    /// The record cannot be read.
    fn list(&self) -> Result<Vec<RunSummary>, Refusal>;

    /// What was recorded of a run after `seen`, in order. [`RunView::take`] folds it.
    ///
    /// # Errors
    /// There is no such run, or the record cannot be read.
    fn watch(&self, run: &RunId, seen: Cursor) -> Result<Vec<LogEntry>, Refusal>;

    /// A recorded text.
    ///
    /// # Errors
    /// There is none, or the record cannot be read.
    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, Refusal>;

    /// Whether something was left for a run that it has not taken yet.
    ///
    /// # Errors
    /// The record cannot be read.
    fn has_messages(&self, run: &RunId) -> Result<bool, Refusal>;

    /// What an open gate shows.
    ///
    /// # Errors
    /// The record cannot be read.
    fn gate(&self, run: &RunView, gate: &Gate) -> Result<GateView, Refusal>;

    /// What the open gates of a run show, in the order they were opened.
    ///
    /// # Errors
    /// The record cannot be read.
    fn gates(&self, run: &RunView) -> Result<Vec<GateView>, Refusal>;

    /// What the process that drives the run, as the record names it, has streamed of calls in progress.
    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText>;

    /// The kinds of the pieces of a code text. The path tells its language. Empty if the language is not known.
    fn colours(&self, path: &str, text: &str) -> Vec<Coloured>;

    /// The answer of a run that is finished; empty for another.
    fn answer(&self, run: &RunView) -> String;

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

    /// The text of a run's plan file as it is on disk; the rendered one if there is no file.
    ///
    /// # Errors
    /// It cannot be read.
    fn sheet(&self, run: &RunView) -> Result<String, Refusal>;

    /// What an edit of the plan file would do. Changes nothing.
    ///
    /// # Errors
    /// The project cannot be read.
    fn check_sheet(&self, run: &RunView, text: &str) -> Result<SheetCheck, Refusal>;
}
