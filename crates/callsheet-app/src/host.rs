//! What the application layer needs from the program that contains it: adapters, configuration and processes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_core::nouns::{RunId, Settings, Slug};
use callsheet_core::symbols::Coloured;
use callsheet_runtime::grants::GrantedThing;
use callsheet_runtime::ports::{LiveText, Store};
use callsheet_runtime::services::Services;

use crate::control::Started;
use crate::refusal::Refusal;

/// The program that contains the application layer.
pub trait Host: Send + Sync {
    /// The canonical path of the project folder.
    fn project(&self) -> &Path;

    /// The folder that contains the runs of the project.
    fn store_folder(&self) -> PathBuf;

    /// A path of the project as seen from the person's current folder.
    fn seen_from_here(&self, path: &str) -> String;

    /// The store. `None` if the project has none yet. Callers that only read never create one.
    ///
    /// # Errors
    /// The store cannot be used.
    fn store(&self) -> Result<Option<Arc<dyn Store>>, Refusal>;

    /// A refusal that says that the project has no runs, and what to do.
    fn no_runs(&self) -> Refusal;

    /// The services for reading a plan file of a run with these settings. They cannot call a model.
    ///
    /// # Errors
    /// The project cannot be read.
    fn reading(&self, store: Arc<dyn Store>, id: &RunId, settings: &Settings) -> Result<Services, Refusal>;

    /// The model that will execute a task. `None` if the record names it. `wish` is the model that its skill asks
    /// for.
    fn executing_model(&self, settings: &Settings, wish: Option<&str>) -> Option<String>;

    /// The text that a process has streamed for calls in progress.
    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText>;

    /// The kinds of the pieces of code in a text.
    fn colours(&self, path: &str, text: &str) -> Vec<Coloured>;

    /// Allows something in this project, or only to a task of a run, until it is revoked. Returns what was granted, in
    /// words.
    ///
    /// # Errors
    /// The list of grants cannot be written.
    fn grant(&self, what: GrantedThing, only: Option<(RunId, Slug)>) -> Result<String, Refusal>;

    /// The key variables of these providers that are not set here, each with its provider. Keys of providers that are not
    /// configured here are not known.
    fn unset_keys(&self, providers: &BTreeSet<String>) -> Vec<(String, String)>;

    /// Starts a process that resumes a run and outlives this process. Returns what was done, in words.
    ///
    /// # Errors
    /// The process cannot be started.
    fn start(&self, run: &RunId) -> Result<String, Refusal>;

    /// The state of the last process that this program started for a run.
    fn started(&self, run: &RunId) -> Option<Started>;
}
