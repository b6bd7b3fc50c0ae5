//! The settings of a [`Callsheet`].

use std::path::PathBuf;
use std::sync::Arc;

use callsheet_core::nouns::Settings;
use callsheet_runtime::ports::{Model, Observer, Signal, Store, Tool};
use callsheet_store::{MemoryStore, SqliteStore};

use crate::approver::Approver;
use crate::callsheet::Callsheet;
use crate::error::Error;
use crate::parts::{Parts, Record};

/// Builds a [`Callsheet`]. [`Callsheet::builder`] makes one.
#[must_use = "nothing happens before `build`"]
pub struct Builder {
    project: PathBuf,
    record: Option<PathBuf>,
    model: Arc<dyn Model>,
    requests: usize,
    tools: Vec<Arc<dyn Tool>>,
    skills: Option<PathBuf>,
    settings: Settings,
    observer: Arc<dyn Observer>,
    approver: Option<Arc<dyn Approver>>,
    is_attended: bool,
}

/// Watches nothing.
struct Nobody;

impl Observer for Nobody {
    fn see(&self, _signal: &Signal<'_>) {}
}

impl Builder {
    pub(crate) fn new(project: PathBuf, model: Arc<dyn Model>) -> Self {
        Self {
            project,
            record: None,
            model,
            requests: 1,
            tools: Vec::new(),
            skills: None,
            settings: Settings::default(),
            observer: Arc::new(Nobody),
            approver: None,
            is_attended: false,
        }
    }

    /// Keeps the record of all runs in this folder, outside the project. It is created if it does not exist. Then
    /// [`Callsheet::resume`] continues a run after this process was killed. Without a folder, the record is in memory
    /// and lost with the [`Callsheet`].
    pub fn record_in(self, folder: impl Into<PathBuf>) -> Self {
        Self { record: Some(folder.into()), ..self }
    }

    /// How many requests the model takes at the same time. By default 1.
    pub fn requests_at_once(self, requests: usize) -> Self {
        Self { requests, ..self }
    }

    /// Adds a tool. A tool with the name of a built-in tool replaces it.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Offers the skills in this folder: files `NAME.md`, and folders with `SKILL.md`. Skills in the project are not
    /// used, because whoever wrote the project would decide what runs may do.
    pub fn skills(self, folder: impl Into<PathBuf>) -> Self {
        Self { skills: Some(folder.into()), ..self }
    }

    /// Sets the settings of new runs: limits, policies, which approvals are asked for.
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// Shows everything that happens in a run to this observer: recorded events, streamed text, notices.
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        Self { observer: Arc::new(observer), ..self }
    }

    /// Asks this approver about everything that needs an approval. Without one, a run stops there.
    pub fn approver(self, approver: impl Approver + 'static) -> Self {
        Self { approver: Some(Arc::new(approver)), ..self }
    }

    /// Says that a face answers through [`Callsheet::runs`]. A run then waits for an answer instead of stopping. An
    /// approver takes precedence.
    pub fn attended(self) -> Self {
        Self { is_attended: true, ..self }
    }

    /// Opens the project.
    ///
    /// # Errors
    /// The project is not a folder, the folder of the record is inside it, or the record cannot be opened.
    pub fn build(self) -> Result<Callsheet, Error> {
        let shown = self.project.display().to_string();
        let project = self.project.canonicalize().map_err(|error| Error::Input(format!("{shown}: {error}")))?;
        if !project.is_dir() {
            return Err(Error::Input(format!("{shown} is not a folder")));
        }
        let failed = |error: std::io::Error| Error::Failed(format!("can't create a folder for the record: {error}"));
        let (record, store): (Record, Arc<dyn Store>) = match self.record {
            None => (Record::Memory(tempfile::tempdir().map_err(failed)?), Arc::new(MemoryStore::new())),
            Some(folder) => {
                std::fs::create_dir_all(&folder).map_err(failed)?;
                let folder = folder.canonicalize().map_err(failed)?;
                if folder.starts_with(&project) {
                    let what = format!("{} is in the project, where commands could change it", folder.display());
                    return Err(Error::Input(what));
                }
                let store = SqliteStore::open(&folder).map_err(|fault| Error::Failed(fault.to_string()))?;
                (Record::Folder(folder), Arc::new(store))
            }
        };
        let settings = Settings { model: Some(self.model.info().id.clone()), ..self.settings };
        Ok(Callsheet::new(Parts {
            project,
            record,
            store,
            model: self.model,
            requests: self.requests,
            tools: self.tools,
            skills: self.skills,
            settings,
            observer: self.observer,
            approver: self.approver,
            is_attended: self.is_attended,
        }))
    }
}
