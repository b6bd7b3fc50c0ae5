//! Reads PDF and office files as Markdown (spec 5.4). A document may come from anywhere and its parsers are large, so a
//! process of its own reads it: without files, network or environment, and with limits of memory and time.

mod confine;
mod convert;
mod reader;

pub use confine::confine;
pub use convert::convert;
pub use reader::{DocumentReader, read_document};
