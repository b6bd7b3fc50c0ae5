//! The pure part of the memory system (spec "Templates" 13): the metadata of a file, their ranking for a lookup, and
//! the question and answer of a lookup. Memory contains metadata, never content, and ranks without opening a file.

mod lookup;
mod metadata;
mod rank;

pub use lookup::{ContextItem, ContextQuery, FileMatch, Found, RelevantContext, SeekRequest};
pub use metadata::{Facts, identifiers_of, metadata};
pub use rank::{Document, Ranked, rank, relevant_context};
