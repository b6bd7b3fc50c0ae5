//! Material found by code: which files of a project, and which of their parts, have most to do with a text. Words alone
//! decide (`callsheet_core::words`); what the words mean is for whoever reads what was found.

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
