//! What the agent needs from the program around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_app::RunControl;
use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::GateView;

/// The program around the agent. It opens projects.
pub trait Workplace: Send + Sync {
    /// Opens the project in this folder.
    ///
    /// # Errors
    /// The folder cannot be used. The error tells a person why.
    fn open(&self, folder: &Path) -> Result<Arc<dyn Project>, String>;

    /// The folder in which the editor started this program.
    fn here(&self) -> Option<PathBuf>;
}

/// An open project.
pub trait Project: Send + Sync {
    /// The canonical path of the project folder.
    fn folder(&self) -> &Path;

    /// The runs of the project.
    fn runs(&self) -> Arc<dyn RunControl>;

    /// What a person must know before the first run, one line per note.
    fn notes(&self) -> Vec<String>;

    /// The names of the templates, each with a text about its inputs and purpose.
    ///
    /// # Errors
    /// The templates cannot be read.
    fn templates(&self) -> Result<Vec<(String, String)>, String>;

    /// Starts a process that drives a run. It outlives this process. Without a viewer, it stops at its next gate.
    ///
    /// # Errors
    /// The process cannot be started.
    fn drive(&self, work: &Work) -> Result<Box<dyn Driving>, String>;

    /// Everything that a person must see of a gate before they answer. Invisible characters are made visible.
    fn gate_text(&self, view: &GateView) -> String;
}

/// Work for a new process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Plan and run a request.
    Request {
        /// The name of the run. If it is taken, the next free number is appended.
        name: String,
        /// The request.
        text: String,
    },
    /// Run a template.
    Template {
        /// The name of the run, as above.
        name: String,
        /// The name of the template.
        template: String,
        /// Input values as `NAME=VALUE`.
        values: Vec<String>,
        /// Input without a name. May be empty.
        text: String,
    },
    /// Resume a run.
    Resume(RunId),
    /// Continue an ended run.
    FollowUp {
        /// The run.
        run: RunId,
        /// The name of the new run, as above. A follow-up to a template run starts a new run.
        name: String,
        /// The request.
        text: String,
    },
}

/// A process that this program started for a run. When this value is dropped, nobody watches the process any more.
pub trait Driving: Send {
    /// The messages of the process since the last call.
    fn said(&mut self) -> Vec<Said>;

    /// Asks the process to stop. A second call kills it.
    fn stop(&mut self);
}

/// A message of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The process drives this run.
    Run(RunId),
    /// A line for the person.
    Line(String),
    /// The process has ended. The text says why, if it failed or never had a run.
    Ended(Option<String>),
}
