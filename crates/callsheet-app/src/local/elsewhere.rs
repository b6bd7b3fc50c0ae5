//! Runs that changed files on another machine (spec 14.2).

use std::cell::RefCell;

use callsheet_core::nouns::RunId;
use callsheet_runtime::branch::commit_late;
use callsheet_runtime::driver::{accept_files, differs_here};
use callsheet_runtime::fault::InputFault;
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::Store;
use callsheet_runtime::runfiles::{KeptFiles, RunFileFault};

use super::{LocalRuns, Refusal};
use crate::view::RunView;

pub(super) fn unkept(fault: RunFileFault) -> Refusal {
    Refusal::internal(fault.to_string(), "")
}

impl LocalRuns {
    fn kept(&self, id: &RunId) -> Result<KeptFiles, Refusal> {
        KeptFiles::new(&self.host.store_folder(), id).map_err(unkept)
    }

    /// Files that the run changed on another machine and that do not have the recorded content here. On a cluster, the
    /// files are those of its workers, and nothing is compared.
    ///
    /// # Errors
    /// The record or the project cannot be read.
    pub fn differing_files(&self, id: &RunId, run: &RunView) -> Result<Vec<String>, Refusal> {
        let store = self.store()?;
        if store.hosting().is_some() {
            return Ok(Vec::new());
        }
        let project = self.host.project();
        let workspace = Workspace::new(project, &[]).map_err(|fault| Refusal::usage(fault.to_string(), ""))?;
        let differing = differs_here(&*store, &workspace, &self.kept(id)?, (id, run.run()));
        differing.map_err(|fault| Refusal::of_drive(&fault, id))
    }

    /// Makes the files of the project count as those of the run, whatever they contain.
    ///
    /// # Errors
    /// The state folder cannot be written.
    pub fn accept_files(&self, id: &RunId, run: &RunView) -> Result<(), Refusal> {
        accept_files(&self.kept(id)?, run.run()).map_err(|fault| Refusal::of_drive(&fault, id))
    }

    /// Makes the missing commits of a complete run on its branch (spec 3.17). Returns what the person is told of them.
    pub fn commit_late(&self, store: &dyn Store, run: &RunView) -> Vec<String> {
        let workspace = match Workspace::new(self.host.project(), &[]) {
            Ok(workspace) => workspace,
            Err(fault) => return vec![fault.to_string()],
        };
        let notes = RefCell::new(Vec::new());
        commit_late(&workspace, store, run.run(), &|note| notes.borrow_mut().push(note.to_owned()));
        notes.into_inner()
    }

    /// Refuses a resume that would not go on.
    pub(super) fn refuse_differing(&self, id: &RunId, run: &RunView) -> Result<(), Refusal> {
        let files = self.differing_files(id, run)?;
        if files.is_empty() {
            return Ok(());
        }
        Err(Refusal::of_drive(&InputFault::FilesDiffer(files).into(), id))
    }
}
