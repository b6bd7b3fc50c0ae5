//! Reads PDF and office files as Markdown (spec 5.4). A document may come from anywhere, and its parser is a large
//! library. So a separate process reads it: without files, network or environment, and with limited memory and time.

mod confine;
mod convert;
mod open_document;
mod reader;

pub use confine::confine;
pub use convert::convert;
pub use reader::{DocumentReader, read_document};
