//! What the agent needs of the program around it.

use std::path::Path;
use std::sync::Arc;

use callsheet_app::RunControl;
use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::GateView;

/// The program, which opens projects.
pub trait Workplace: Send + Sync {
    /// Opens the project in this folder.
    ///
    /// # Errors
    /// Why the folder cannot be used, in words for a person.
    fn open(&self, folder: &Path) -> Result<Arc<dyn Project>, String>;
}

/// An open project.
pub trait Project: Send + Sync {
    /// Its canonical folder.
    fn folder(&self) -> &Path;

    /// Its runs.
    fn runs(&self) -> Arc<dyn RunControl>;

    /// What a person must know before the first run, one line each.
    fn notes(&self) -> Vec<String>;

    /// The templates by name, each with its inputs and its purpose.
    ///
    /// # Errors
    /// They cannot be read.
    fn templates(&self) -> Result<Vec<(String, String)>, String>;

    /// Starts a process that drives a run. It outlives this process: without us, it stops at its next gate.
    ///
    /// # Errors
    /// The process cannot be started.
    fn drive(&self, work: &Work) -> Result<Box<dyn Driving>, String>;

    /// Everything that a person must see of a gate before they answer. All characters are visible.
    fn gate_text(&self, view: &GateView) -> String;
}

/// Work for a new process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Plan and run a request.
    Request {
        /// The name of the run. If a run has it, the next free number is added.
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
        /// Values as `NAME=VALUE`.
        values: Vec<String>,
        /// Text without a name. May be empty.
        text: String,
    },
    /// Resume a run.
    Resume(RunId),
    /// Continue an ended run.
    FollowUp {
        /// The run.
        run: RunId,
        /// The name of a new run, as above, if the ended one ran a template.
        name: String,
        /// The request.
        text: String,
    },
}

/// A process that this program started for a run. If this value is dropped, nobody watches the process any more.
pub trait Driving: Send {
    /// What the process has said since the last call.
    fn said(&mut self) -> Vec<Said>;

    /// Asks the process to stop. The second call ends it at once.
    fn stop(&mut self);
}

/// What a process says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It drives this run.
    Run(RunId),
    /// A line for the person.
    Line(String),
    /// It has ended. The text says why, if it failed or never had a run.
    Ended(Option<String>),
}
