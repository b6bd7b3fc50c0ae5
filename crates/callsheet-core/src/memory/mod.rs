//! The memory system (spec "Templates" 13), as far as it is pure: what a file's metadata say, how a lookup ranks them,
//! and what a lookup is asked and gives. Memory holds metadata, never content, and ranks without opening a file.

mod lookup;
mod metadata;
mod rank;

pub use lookup::{ContextItem, ContextQuery, FileMatch, Found, RelevantContext, SeekRequest};
pub use metadata::{Facts, identifiers_of, metadata};
pub use rank::{Document, Ranked, rank, relevant_context};
