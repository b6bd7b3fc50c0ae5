//! What is computed once for a run and kept from one reply to the next.

use std::sync::{Arc, OnceLock};

use callsheet_core::nouns::ToolSpec;

use crate::material::WordIndex;

/// What readers and prompts need repeatedly and no event changes.
#[derive(Debug, Default)]
pub struct Snapshots {
    pub(crate) tools: OnceLock<Vec<Arc<ToolSpec>>>,
    /// The summary of the files of a project that nobody describes. All prompts use the same.
    pub(crate) overview: OnceLock<String>,
    /// Like `overview`, but without the names at the top, for prompts that list all of them.
    pub(crate) overview_without_names: OnceLock<String>,
    /// The paths that prompts list. All prompts of a run use the same.
    pub(crate) listed: OnceLock<Vec<String>>,
    /// The words of the project's files.
    pub(crate) words: WordIndex,
}
