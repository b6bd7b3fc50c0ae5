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

/// An issue of a plan file and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetIssue {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: usize,
    /// Whether the plan can be used despite the issue.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub words: String,
}

/// What an edit of a plan file would change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetCheck {
    /// The issues in the order of lines.
    pub issues: Vec<SheetIssue>,
    /// What the edit changes, in words. Empty if the edit has errors.
    pub effect: String,
}

/// The state of a process that this program started for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Started {
    /// It is running.
    Working,
    /// It has ended.
    Ended {
        /// Whether it failed.
        failed: bool,
        /// The end of its output.
        words: String,
    },
}

/// The runs of a project, for all faces. Calls may block for a short time, so an asynchronous face must make them on
/// a thread that may block.
pub trait RunControl: Send + Sync {
    /// The name of the project, for a person.
    fn project(&self) -> String;

    /// All runs, newest first.
    ///
    /// # Errors
    /// The record cannot be read.
    fn list(&self) -> Result<Vec<RunSummary>, Refusal>;

    /// The entries that were recorded for a run after `seen`, in order. [`RunView::take`] folds them.
    ///
    /// # Errors
    /// There is no such run, or the record cannot be read.
    fn watch(&self, run: &RunId, seen: Cursor) -> Result<Vec<LogEntry>, Refusal>;

    /// A recorded text.
    ///
    /// # Errors
    /// There is no such text, or the record cannot be read.
    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, Refusal>;

    /// Whether there are messages for a run that it has not handled yet.
    ///
    /// # Errors
    /// The record cannot be read.
    fn has_messages(&self, run: &RunId) -> Result<bool, Refusal>;

    /// The view of an open gate.
    ///
    /// # Errors
    /// The record cannot be read.
    fn gate(&self, run: &RunView, gate: &Gate) -> Result<GateView, Refusal>;

    /// The views of a run's open gates, in the order in which they were opened.
    ///
    /// # Errors
    /// The record cannot be read.
    fn gates(&self, run: &RunView) -> Result<Vec<GateView>, Refusal>;

    /// The streamed text of calls in progress, from the process that drives the run. `owner` is its name in the
    /// record.
    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText>;

    /// The kinds of the pieces of code in a text. The path determines the language. Empty if the language is unknown.
    fn colours(&self, path: &str, text: &str) -> Vec<Coloured>;

    /// The answer of a finished run. Empty for any other run.
    fn answer(&self, run: &RunView) -> String;

    /// Carries out a command, or sends it to the process that drives the run.
    ///
    /// # Errors
    /// Why the command was refused, and what to do instead. Nothing was done, unless the refusal says so.
    fn order(&self, run: &RunId, order: &Order) -> Result<Receipt, Refusal>;

    /// Resumes a run that no process drives, in a new process.
    ///
    /// # Errors
    /// The run is already driven, or the process cannot be started.
    fn resume(&self, run: &RunId) -> Result<Receipt, Refusal>;

    /// Records a new run that shares the events of a run: all of them, those up to a number, or those before a task
    /// began. `at` is the number or the name of the task. The receipt names the new run.
    ///
    /// # Errors
    /// There is no such event, or the task has not begun.
    fn fork(&self, run: &RunId, at: Option<&str>) -> Result<Receipt, Refusal>;

    /// The state of the last process that this program started for a run.
    fn started(&self, run: &RunId) -> Option<Started>;

    /// The text of a run's plan file on disk, or the rendered plan if there is no file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn sheet(&self, run: &RunView) -> Result<String, Refusal>;

    /// The key variables that are not set here, of providers that a run asked. Their values are not masked. Each comes
    /// with its provider.
    fn unset_keys(&self, _run: &RunView) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The errors because of which an edit of the plan file does not count, each with its place. Empty if the file has
    /// no edit, or none with errors.
    ///
    /// # Errors
    /// The file or the project cannot be read.
    fn edit_errors(&self, _run: &RunView) -> Result<Vec<String>, Refusal> {
        Ok(Vec::new())
    }

    /// What an edit of the plan file would change. Nothing is written.
    ///
    /// # Errors
    /// The project cannot be read.
    fn check_sheet(&self, run: &RunView, text: &str) -> Result<SheetCheck, Refusal>;
}
