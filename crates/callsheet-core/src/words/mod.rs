//! Word statistics: which texts are most related to a question, by their words alone (BM25).
//!
//! It needs no list of stop words: a word that occurs everywhere weighs almost nothing. Scores come from a software
//! library and are rounded, so that the order is the same on every machine.

mod rank;
mod terms;

pub use rank::{Counts, Question, scores};
pub use terms::Words;
