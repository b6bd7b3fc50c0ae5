//! What the page asks of the program that it is part of: the record, and everything that the commands can do. The page
//! decides nothing and names no command of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::issue::Severity;
use callsheet_core::run::Run;
use callsheet_core::spec::RunId;
use callsheet_core::symbols::Coloured;
use callsheet_runtime::ports::{GateView, LiveText, Store};
use callsheet_runtime::shown::Shown;

/// Why something was not done, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What went wrong.
    pub what: String,
    /// What to do; may be empty.
    pub advice: String,
}

/// A person's word on an open gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All that it asks, or these of its tasks.
    Approve {
        /// Their names; none: all.
        tasks: Vec<String>,
    },
    /// These hunks of a change, by number, and why not the others.
    Keep {
        /// Numbers.
        hunks: Vec<u32>,
        /// Texts of hunks as the form has them, by number. One that is unchanged is no edit.
        edits: BTreeMap<u32, String>,
        /// Words of the person; may be empty.
        because: String,
    },
    /// None of it, or not these of its tasks.
    Deny {
        /// Their names; none: all.
        tasks: Vec<String>,
        /// Words of the person; may be empty.
        because: String,
    },
}

/// An issue of a sheet, with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetIssue {
    /// Line from 1.
    pub line: u32,
    /// Column from 1, in characters.
    pub column: usize,
    /// Whether the sheet counts with it.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub words: String,
}

/// What an edit of a sheet comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SheetCheck {
    /// In the order of lines.
    pub issues: Vec<SheetIssue>,
    /// What it changes, in words; empty if it has errors.
    pub effect: String,
}

/// A process that was started from the page for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// It works.
    Working,
    /// It has ended; its last words.
    Ended {
        /// Whether it failed.
        failed: bool,
        /// The end of what it said.
        words: String,
    },
}

/// The program behind the page. Calls block for a short time; each gives words for the person on success.
pub trait Desk: Send + Sync {
    /// What the pieces of a code text are, by the path that tells its language; nothing, if that is not known.
    fn colours(&self, _path: &str, _text: &str) -> Vec<Coloured> {
        Vec::new()
    }

    /// The project's name for a person.
    fn project(&self) -> String;

    /// The record of the project; `None`: there is none yet.
    ///
    /// # Errors
    /// It cannot be used.
    fn store(&self) -> Result<Option<Arc<dyn Store>>, Refusal>;

    /// What the open gates of a run show, in the order they were opened.
    ///
    /// # Errors
    /// What the store says.
    fn gates(&self, run: &Run) -> Result<Vec<GateView>, Refusal>;

    /// What the process that drives the run, as the record names it, has streamed of calls under way.
    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText>;

    /// The answer of a run that is finished; empty for another.
    fn answer(&self, run: &Run, id: &RunId) -> String;

    /// Answers the gate of this number.
    ///
    /// # Errors
    /// It is not open, or the verdict does not fit it.
    fn decide(&self, run: &RunId, gate: u32, verdict: &Verdict) -> Result<String, Refusal>;

    /// Answers the question that a task asks by a call.
    ///
    /// # Errors
    /// It is not open.
    fn reply(&self, run: &RunId, task: &str, call: &str, text: &str) -> Result<String, Refusal>;

    /// Asks a living run to stop.
    ///
    /// # Errors
    /// It does not run.
    fn cancel(&self, run: &RunId) -> Result<String, Refusal>;

    /// Has tasks done again; all that failed if none is named. A run that rests is resumed for it.
    ///
    /// # Errors
    /// They cannot be retried.
    fn retry(&self, run: &RunId, tasks: &[String]) -> Result<String, Refusal>;

    /// Resumes a run that no process drives, in a process of its own.
    ///
    /// # Errors
    /// It runs, or the process cannot be started.
    fn resume(&self, run: &RunId) -> Result<String, Refusal>;

    /// Raises a limit of the run, by its name. One that rests is resumed with it.
    ///
    /// # Errors
    /// It is no limit of the run, or not below that.
    fn raise(&self, run: &RunId, limit: &str, max: f64) -> Result<String, Refusal>;

    /// Takes all changes of a run back.
    ///
    /// # Errors
    /// Some could not be reverted.
    fn undo(&self, run: &RunId) -> Result<String, Refusal>;

    /// A run as one file for somebody else.
    ///
    /// # Errors
    /// What the store says.
    fn report(&self, run: &RunId) -> Result<Shown, Refusal>;

    /// What became of the process that was started last for a run from here.
    fn started(&self, run: &RunId) -> Option<Started>;

    /// The text of a run's `sheet.md` as it is on disk; the rendered one if there is no file.
    ///
    /// # Errors
    /// It cannot be read.
    fn sheet(&self, run: &Run, id: &RunId) -> Result<String, Refusal>;

    /// What an edit of the sheet would do. Changes nothing.
    ///
    /// # Errors
    /// The project cannot be read.
    fn check_sheet(&self, run: &Run, id: &RunId, text: &str) -> Result<SheetCheck, Refusal>;

    /// Writes an edit of the sheet, as an editor would, and has a run that rests read it. `seen`: the text that the person
    /// began with.
    ///
    /// # Errors
    /// Somebody else edited it meanwhile, or it has errors.
    fn save_sheet(&self, run: &RunId, seen: &str, text: &str) -> Result<String, Refusal>;
}
