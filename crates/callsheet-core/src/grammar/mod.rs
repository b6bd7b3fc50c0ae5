//! Grammars of replies, made from the catalog, the valid references and the tools. One abstract form, printed for each
//! engine that can constrain decoding.

mod expr;

pub use expr::{Expr, Grammar};
