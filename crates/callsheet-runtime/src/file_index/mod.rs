//! The memory system in the shell (spec "Templates" 13): looks up a stored index, and builds it. The handler side reads
//! files. Memory stores their metadata and never opens a file.

mod build;
mod git;
mod indexed;

pub use build::{BuildRequest, Built, build_index, is_current};
pub(crate) use build::{FileText, LARGEST, read_text};
pub use indexed::IndexedMemory;
