//! The memory system (spec "Templates" 13): the index of metadata, and the lookup.

use std::path::Path;

use async_trait::async_trait;
use callsheet_core::memory::{ContextQuery, RelevantContext};
use callsheet_core::spec::BlobId;

use super::StoreFault;

/// A file of the index. Nothing of its content is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Absolute path.
    pub path: String,
    /// Metadata text.
    pub text: String,
    /// Size when it was indexed.
    pub size: u64,
    /// Hash of what it held then.
    pub hash: BlobId,
}

/// What becomes of the entries that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexMode {
    /// Entries of the same path are replaced, others stay.
    #[default]
    Merge,
    /// Only the new ones are left.
    Replace,
    /// The entries of these paths go; texts do not matter.
    Remove,
}

/// Why the index was not changed, or not read.
#[derive(Debug, thiserror::Error)]
pub enum IndexFault {
    /// Paths of the index are absolute. Nothing was changed.
    #[error("{0} is not an absolute path")]
    RelativePath(String),
    /// Metadata are text. Nothing was changed.
    #[error("the metadata of {0} is not text")]
    NotText(String),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Keeps the index across processes. Calls are short and block.
pub trait Index: Send + Sync {
    /// Changes the index in one transaction: all of it or nothing.
    ///
    /// # Errors
    /// See `IndexFault`.
    fn update_global_index(&self, entries: &[IndexEntry], mode: IndexMode) -> Result<(), IndexFault>;

    /// All entries by path.
    ///
    /// # Errors
    /// What the store says.
    fn entries(&self) -> Result<Vec<IndexEntry>, IndexFault>;

    /// The entry of exactly this path.
    ///
    /// # Errors
    /// What the store says.
    fn entry(&self, path: &str) -> Result<Option<IndexEntry>, IndexFault>;
}

/// What every index checks before it changes anything.
///
/// # Errors
/// A relative path, a text with control characters.
pub fn check_entries(entries: &[IndexEntry], mode: IndexMode) -> Result<(), IndexFault> {
    for entry in entries {
        if !Path::new(&entry.path).is_absolute() || entry.path.contains('\0') {
            return Err(IndexFault::RelativePath(entry.path.clone()));
        }
        let is_text = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
        if mode != IndexMode::Remove && !entry.text.chars().all(is_text) {
            return Err(IndexFault::NotText(entry.path.clone()));
        }
    }
    Ok(())
}

/// Why a lookup gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MemoryFault(pub String);

/// Looks up what matters for a task. Reads only, and changes no task's context.
#[async_trait]
pub trait Memory: Send + Sync {
    /// What is relevant to a question.
    ///
    /// # Errors
    /// An error is an error, never an answer with the error as its text.
    async fn get_relevant_context_for(&self, query: ContextQuery) -> Result<RelevantContext, MemoryFault>;
}
