//! The memory system in the shell (spec "Templates" 13): lookups in a stored index, and building it. The handler side
//! reads files; memory stores what was read off them and never opens one.

mod build;
mod git;
mod indexed;

pub use build::{BuildRequest, Built, build_index, is_current};
pub(crate) use build::{FileText, LARGEST, read_text};
pub use indexed::IndexedMemory;
