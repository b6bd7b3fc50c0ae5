//! What an apply is about to do, durable before it does it.

use callsheet_core::record::ChangeSet;
use callsheet_core::spec::{ExecutionId, Slug};
use serde::{Deserialize, Serialize};

use crate::runfiles::{RunFileFault, RunFiles};

/// The journal of one change set: a file in the run directory. It stays after the apply, since the fact that records
/// the apply is written later, and since `revert` learns from it which directories were made.
#[derive(Clone, Debug)]
pub struct Journal {
    files: RunFiles,
    name: String,
}

/// What the journal holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The set that is really applied, which may be validated anew under the lock.
    pub(crate) set: ChangeSet,
    /// Directories that did not exist, parents first, relative to the project root.
    pub(crate) created: Vec<String>,
}

impl Journal {
    /// The journal of change set `set` of a task's execution run.
    pub fn new(files: &RunFiles, task: &Slug, run: &ExecutionId, set: u32) -> Self {
        Self { files: files.clone(), name: format!("journal/{}-{run}-{set}.json", task.as_str().replace('/', ".")) }
    }

    /// Forgets the entry: nothing will be rolled back from it. One that is not there is no error.
    ///
    /// # Errors
    /// The system's reason.
    pub fn discard(&self) -> Result<(), RunFileFault> {
        self.files.remove(&self.name)
    }

    pub(crate) fn begin(&self, entry: &Entry) -> Result<(), RunFileFault> {
        let bytes = serde_json::to_vec(entry)
            .map_err(|error| RunFileFault { path: self.name.clone(), reason: error.to_string() })?;
        self.files.write(&self.name, &bytes, true).map(|_| ())
    }

    /// What was begun; `None` if nothing was, or the entry is damaged, which can only be before anything was touched.
    pub(crate) fn begun(&self) -> Result<Option<Entry>, RunFileFault> {
        Ok(self.files.read(&self.name)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}
