//! Material found by code: which files of a project, and which of their parts, are most related to a text. Only the
//! words decide (`callsheet_core::words`); the reader decides what they mean.

mod find;
mod index;
mod named;
mod pieces;

pub use find::{Material, MaterialReference, MaterialRequest, find};
pub use index::{RankedFile, WordIndex};
pub use named::named_in;

pub(crate) use named::named_at;

#[cfg(test)]
mod tests;
