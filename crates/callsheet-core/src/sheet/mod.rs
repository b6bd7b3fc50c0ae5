//! Sheets, the Markdown form of a task list: names, references and rendering. Reading is in `reply`.

mod anchors;
mod fence;
pub mod names;

pub use anchors::{Heading, find_heading, headings};
pub use fence::{block, fence};
pub use names::heading_key;
