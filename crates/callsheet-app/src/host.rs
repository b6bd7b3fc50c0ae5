//! What the application layer needs of the program that it is part of: adapters, configuration, processes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_core::nouns::{RunId, Settings};
use callsheet_core::symbols::Coloured;
use callsheet_runtime::grants::GrantedThing;
use callsheet_runtime::ports::{LiveText, Store};
use callsheet_runtime::services::Services;

use crate::control::Started;
use crate::refusal::Refusal;

/// The program around the application layer.
pub trait Host: Send + Sync {
    /// The project folder, canonical.
    fn project(&self) -> &Path;

    /// The folder where the runs of the project are kept.
    fn store_folder(&self) -> PathBuf;

    /// A path of the project as it is found from where the person stands.
    fn seen_from_here(&self, path: &str) -> String;

    /// The store; `None`: the project has none yet. Looking never makes one.
    ///
    /// # Errors
    /// It cannot be used.
    fn store(&self) -> Result<Option<Arc<dyn Store>>, Refusal>;

    /// That the project has no runs, and what to do about it.
    fn no_runs(&self) -> Refusal;

    /// What reading a plan file of a run with these settings needs. No model can be called.
    ///
    /// # Errors
    /// The project cannot be read.
    fn reading(&self, store: Arc<dyn Store>, id: &RunId, settings: &Settings) -> Result<Services, Refusal>;

    /// The model that will execute a task; `None`: the record says it. `wish`: what its skill asks for.
    fn executing_model(&self, settings: &Settings, wish: Option<&str>) -> Option<String>;

    /// What a process has streamed of calls in progress.
    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText>;

    /// The kinds of the pieces of a code text.
    fn colours(&self, path: &str, text: &str) -> Vec<Coloured>;

    /// Allows something in this project until it is revoked. Gives what was granted, in words.
    ///
    /// # Errors
    /// The list of grants cannot be written.
    fn grant(&self, what: GrantedThing) -> Result<String, Refusal>;

    /// Starts a process that resumes a run and outlives this one. Gives what was done, in words.
    ///
    /// # Errors
    /// It cannot be started.
    fn start(&self, run: &RunId) -> Result<String, Refusal>;

    /// What became of the process that was started last for a run from here.
    fn started(&self, run: &RunId) -> Option<Started>;
}
