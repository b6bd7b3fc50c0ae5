//! Lookups by rule in a stored index.

use std::sync::Arc;

use async_trait::async_trait;
use callsheet_core::file_index::{ContextQuery, RelevantContext, relevant_context};

use crate::ports::{Index, Memory, MemoryFault};

/// Ranks the entries of an index, on a thread where waiting for the store delays no task.
pub struct IndexedMemory {
    index: Arc<dyn Index>,
}

impl IndexedMemory {
    /// Looks into `index`.
    pub fn new(index: Arc<dyn Index>) -> Self {
        Self { index }
    }
}

#[async_trait]
impl Memory for IndexedMemory {
    async fn get_relevant_context_for(&self, query: ContextQuery) -> Result<RelevantContext, MemoryFault> {
        let index = Arc::clone(&self.index);
        let looked = tokio::task::spawn_blocking(move || {
            let entries = if query.search_index { index.entries() } else { Ok(Vec::new()) };
            let entries = entries.map_err(|fault| MemoryFault(fault.to_string()))?;
            let snapshot: Vec<(String, String)> = entries.into_iter().map(|entry| (entry.path, entry.text)).collect();
            Ok(relevant_context(&query, &snapshot))
        });
        looked.await.map_err(|error| MemoryFault(error.to_string()))?
    }
}
