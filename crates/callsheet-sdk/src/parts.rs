//! What all runs of one [`Callsheet`](crate::Callsheet) share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_core::nouns::{Phase, RunId, Settings};
use callsheet_runtime::paths::{Granted, Workspace};
use callsheet_runtime::ports::{Model, ModelFault, ModelSource, Observer, Store, Tool};
use callsheet_runtime::references::Pages;
use callsheet_runtime::runfiles::{KeptFiles, RunFiles};
use callsheet_runtime::services::{Basics, Services};
use callsheet_runtime::skills::SkillDirs;
use callsheet_runtime::transport_policy::Slots;
use callsheet_store::SqliteIndex;

use crate::approver::Approver;
use crate::error::Error;

/// Where the record is.
pub(crate) enum Record {
    /// In a folder of the caller.
    Folder(PathBuf),
    /// In memory. The folder holds what does not fit there, and is deleted with this value.
    Memory(tempfile::TempDir),
}

pub(crate) struct Parts {
    pub(crate) project: PathBuf,
    pub(crate) record: Record,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) requests: usize,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) skills: Option<PathBuf>,
    pub(crate) settings: Settings,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) is_attended: bool,
}

impl Parts {
    pub(crate) fn folder(&self) -> &Path {
        match &self.record {
            Record::Folder(folder) => folder,
            Record::Memory(folder) => folder.path(),
        }
    }

    /// The services of one run.
    pub(crate) fn services(
        &self,
        run: &RunId,
        settings: &Settings,
        observer: Arc<dyn Observer>,
    ) -> Result<Services, Error> {
        let roots: Vec<PathBuf> = settings.read_roots.iter().map(PathBuf::from).collect();
        let workspace = Workspace::new(&self.project, &roots).map_err(|fault| Error::input(&fault))?;
        let files = RunFiles::new(&workspace, run).map_err(|fault| Error::input(&fault))?;
        let kept = KeptFiles::new(self.folder(), run).map_err(|fault| Error::input(&fault))?;
        let workspace = workspace
            .protecting(files.directory())
            .protecting(self.folder())
            .keeping(self.folder())
            .noting(self.folder().join("commands"))
            .granting(Granted::default());
        let apart = callsheet_tools::holding().is_whole();
        let tools = callsheet_tools::registry().into_iter().chain(self.tools.iter().cloned());
        let basics = Basics {
            store: Arc::clone(&self.store),
            models: Arc::new(OneModel(Arc::clone(&self.model))),
            observer,
            index: Arc::new(SqliteIndex::new(self.folder())),
            workspace,
            files,
            kept: kept.clone(),
        };
        let sizes = BTreeMap::from([(self.model.info().provider.clone(), self.requests)]);
        Ok(Services {
            slots: Slots::new(sizes, self.requests),
            tools: tools.map(|tool| (tool.spec().name.clone(), tool)).collect(),
            process_tools: callsheet_tools::scripts(),
            check_command: Some(callsheet_tools::check_changes()),
            path_command: Some(callsheet_tools::list_paths()),
            pages: Pages::new(None, Some(kept)),
            skill_dirs: SkillDirs { user: self.skills.clone(), ..SkillDirs::default() },
            commands_apart: apart,
            commands_unheld: !apart,
            ..Services::of(basics)
        })
    }
}

/// The same model for everything.
struct OneModel(Arc<dyn Model>);

impl ModelSource for OneModel {
    fn model(&self, _phase: Phase, _wish: Option<&str>) -> Result<Arc<dyn Model>, ModelFault> {
        Ok(Arc::clone(&self.0))
    }

    fn models(&self, _phase: Phase, _wishes: &[&str]) -> Result<Vec<Arc<dyn Model>>, ModelFault> {
        Ok(vec![Arc::clone(&self.0)])
    }
}
