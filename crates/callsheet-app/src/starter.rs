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

/// A template that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateOffer {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// The values that it takes, in order.
    pub inputs: Vec<InputOffer>,
}

/// A value that a template takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputOffer {
    /// Its name.
    pub name: String,
    /// The word for its type.
    pub kind: &'static str,
    /// What it is. May be empty.
    pub about: String,
    /// Whether a run without it is refused.
    pub required: bool,
    /// The value if none is given.
    pub default: Option<String>,
}

/// Starts runs for other programs.
pub trait RunStarter: Send + Sync {
    /// Starts a run in a process of its own. Returns when the run has a name.
    ///
    /// # Errors
    /// Why there is no run.
    fn start(&self, what: NewRun) -> Result<RunId, Refusal>;

    /// The templates that can be run, by name.
    ///
    /// # Errors
    /// They cannot be read.
    fn templates(&self) -> Result<Vec<TemplateOffer>, Refusal>;
}
