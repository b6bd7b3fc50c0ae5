//! Records durably what an apply is about to do.

use std::collections::BTreeSet;

use callsheet_core::nouns::{ExecutionId, Slug};
use callsheet_core::record::ChangeSet;
use callsheet_core::run::{Effect, Run};
use serde::{Deserialize, Serialize};

use crate::runfiles::{KeptFiles, RunFileFault};

/// The journal of one change set. It stays after the apply, because the fact that records the apply is written later,
/// and because `revert` needs to know which directories were created. Only the record says what was applied and put
/// back.
#[derive(Clone, Debug)]
pub struct Journal {
    files: KeptFiles,
    name: String,
}

/// Folder of the journals of a run.
const FOLDER: &str = "journal";

fn file_name(task: &Slug, run: &ExecutionId, set: u32) -> String {
    format!("{}-{run}-{set}.json", task.as_str().replace('/', "."))
}

/// Files that contain changes, complete or partial, that the run's record does not know: its end was lost after they
/// were made.
pub fn forgotten(files: &KeptFiles, run: &Run) -> Vec<String> {
    let applied = run.all_tasks().flat_map(|task| {
        let slug = &task.task.slug;
        task.applied.iter().map(|set| file_name(slug, &set.run, set.set))
    });
    let pending = run.outstanding().into_iter().filter_map(|effect| match effect {
        Effect::ApplyChanges { task, run, set, .. } | Effect::RollBack { task, run, set, .. } => {
            Some(file_name(&task, &run, set))
        }
        _ => None,
    });
    let known: BTreeSet<String> = applied.chain(pending).collect();
    let names = files.names(FOLDER).into_iter().filter(|name| name.ends_with(".json") && !known.contains(name));
    let entry = |name: String| {
        let bytes = files.read(&format!("{FOLDER}/{name}")).ok().flatten()?;
        serde_json::from_slice::<Entry>(&bytes).ok()
    };
    let paths: BTreeSet<String> = names.filter_map(entry).flat_map(|entry| entry.paths).collect();
    paths.into_iter().collect()
}

/// The content of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Directories that did not exist before, parents first, relative to the project root.
    pub(crate) created: Vec<String>,
    /// The files of the set, to name them if the record has lost the set.
    #[serde(default)]
    pub(crate) paths: Vec<String>,
}

impl Journal {
    /// The journal of change set `set` of a task's execution run.
    pub fn new(files: &KeptFiles, task: &Slug, run: &ExecutionId, set: u32) -> Self {
        Self { files: files.clone(), name: format!("{FOLDER}/{}", file_name(task, run, set)) }
    }

    /// The journal of what a command wrote in a copy of the project (spec 15.23). `attempt` is a number of the call that no
    /// other call of the run has.
    pub fn of_command(files: &KeptFiles, attempt: u64) -> Self {
        Self { files: files.clone(), name: format!("{FOLDER}/command-{attempt}.json") }
    }

    /// Discards the entry, so nothing is rolled back from it. A missing entry is no error.
    ///
    /// # Errors
    /// The system's reason.
    pub fn discard(&self) -> Result<(), RunFileFault> {
        self.files.remove(&self.name)
    }

    /// Whether the set was applied here, or its files were accepted as they are.
    ///
    /// # Errors
    /// The system's reason.
    pub fn is_begun(&self) -> Result<bool, RunFileFault> {
        Ok(self.begun()?.is_some())
    }

    /// Makes a set that was applied on another machine count as applied here.
    ///
    /// # Errors
    /// The system's reason.
    pub fn accept(&self) -> Result<(), RunFileFault> {
        self.begin(&Entry::default())
    }

    pub(crate) fn begin(&self, entry: &Entry) -> Result<(), RunFileFault> {
        let bytes = serde_json::to_vec(entry)
            .map_err(|error| RunFileFault { path: self.name.clone(), reason: error.to_string() })?;
        self.files.write(&self.name, &bytes, true)
    }

    /// What was begun. `None` if nothing was, or if the entry is damaged, which is possible only before any file was
    /// touched.
    pub(crate) fn begun(&self) -> Result<Option<Entry>, RunFileFault> {
        Ok(self.files.read(&self.name)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// The files of the run.
    pub(super) fn files(&self) -> &KeptFiles {
        &self.files
    }
}

impl Entry {
    /// Those of its directories that contain a file of the set.
    pub(super) fn made_for(self, set: &ChangeSet) -> Vec<String> {
        let holds = |directory: &String| set.files.iter().any(|file| file.path.starts_with(&format!("{directory}/")));
        self.created.into_iter().filter(holds).collect()
    }
}
