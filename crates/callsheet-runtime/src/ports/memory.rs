//! The memory system (spec "Templates" 13): the index of metadata, and lookups.

use std::path::Path;

use async_trait::async_trait;
use callsheet_core::file_index::{ContextQuery, RelevantContext};
use callsheet_core::nouns::BlobId;

use super::StoreFault;

/// An indexed file. Its content is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Absolute path.
    pub path: String,
    /// Metadata text.
    pub text: String,
    /// Size when it was indexed.
    pub size: u64,
    /// Hash of its content when it was indexed.
    pub hash: BlobId,
}

/// What happens to the existing entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexMode {
    /// Replace entries with the same path, keep the others.
    #[default]
    Merge,
    /// Keep only the new entries.
    Replace,
    /// Remove the entries with these paths. Their texts are ignored.
    Remove,
}

/// Why the index was not changed or not read.
#[derive(Debug, thiserror::Error)]
pub enum IndexFault {
    /// A path of the index must be absolute. Nothing was changed.
    #[error("{0} is not an absolute path")]
    RelativePath(String),
    /// Metadata must be text. Nothing was changed.
    #[error("the metadata of {0} is not text")]
    NotText(String),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// Keeps the index across processes. Calls are short and block.
pub trait Index: Send + Sync {
    /// Changes the index in one transaction, completely or not at all.
    ///
    /// # Errors
    /// See `IndexFault`.
    fn update_global_index(&self, entries: &[IndexEntry], mode: IndexMode) -> Result<(), IndexFault>;

    /// All entries by path.
    ///
    /// # Errors
    /// The store's fault.
    fn entries(&self) -> Result<Vec<IndexEntry>, IndexFault>;

    /// The entry with exactly this path.
    ///
    /// # Errors
    /// The store's fault.
    fn entry(&self, path: &str) -> Result<Option<IndexEntry>, IndexFault>;
}

/// What every index checks before it changes anything.
///
/// # Errors
/// A relative path, or a text with control characters.
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

/// Why a lookup found nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MemoryFault(pub String);

/// Looks up what is relevant for a task. Only reads, and changes no task's context.
#[async_trait]
pub trait Memory: Send + Sync {
    /// What is relevant to a question.
    ///
    /// # Errors
    /// A failure is always an error, never an answer that contains the error text.
    async fn get_relevant_context_for(&self, query: ContextQuery) -> Result<RelevantContext, MemoryFault>;
}
