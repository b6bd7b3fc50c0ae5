//! What is made once for a run and kept from one reply to the next.

use std::sync::{Arc, OnceLock};

use callsheet_core::spec::ToolSpec;

use crate::material::WordIndex;

/// What readers and prompts need again and again, and what no event changes.
#[derive(Debug, Default)]
pub struct Snapshots {
    pub(crate) tools: OnceLock<Vec<Arc<ToolSpec>>>,
    /// What the files tell of a project that nobody describes, the same in all prompts.
    pub(crate) overview: OnceLock<String>,
    /// The same without the names at the top, for prompts that list all.
    pub(crate) overview_without_names: OnceLock<String>,
    /// The paths that prompts list, the same in all of a run.
    pub(crate) listed: OnceLock<Vec<String>>,
    /// The words of the project's files.
    pub(crate) words: WordIndex,
}
