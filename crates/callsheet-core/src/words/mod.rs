//! Word statistics: which texts have most to do with a question, by their words alone (BM25).
//!
//! No list of words belongs to it: a word that stands everywhere weighs next to nothing. Scores come from a software
//! library and are rounded, so that the order is the same on every machine.

mod rank;
mod terms;

pub use rank::{Counts, Question, scores};
pub use terms::Words;
