//! How faces start runs.

use std::collections::BTreeMap;

use callsheet_core::nouns::RunId;

use crate::refusal::Refusal;

/// What a new run works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewRun {
    /// A request in plain words.
    Request(String),
    /// A request that is planned only. None of its tasks starts.
    Plan(String),
    /// The text of a sheet.
    Sheet(String),
    /// A template with its values.
    Template {
        /// Its name.
        name: String,
        /// Values by the names of its inputs. A value is text: no file is read for it.
        values: BTreeMap<String, String>,
    },
}

/// Starts runs for other programs.
pub trait RunStarter: Send + Sync {
    /// Starts a run in a process of its own. Returns when the run has a name.
    ///
    /// # Errors
    /// Why there is no run.
    fn start(&self, what: NewRun) -> Result<RunId, Refusal>;

    /// Templates by name, each with what it is for.
    ///
    /// # Errors
    /// They cannot be read.
    fn templates(&self) -> Result<Vec<(String, String)>, Refusal>;
}
