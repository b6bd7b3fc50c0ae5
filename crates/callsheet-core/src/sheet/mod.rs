//! Not written yet.

mod anchors;

pub use anchors::{Heading, anchor_key, find_heading, headings};
