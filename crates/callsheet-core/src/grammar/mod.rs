//! Grammars of replies, made from the catalog, the valid references and the tools. One abstract form, printed for each
//! engine that can constrain decoding: [`Grammar::to_gbnf`] and [`Grammar::to_lark`].
//!
//! A grammar guarantees a valid *prefix* only: every text and every count is bounded, and a newline comes before the next
//! item, so a reply that was cut by its length ends inside a line.

mod expr;
mod lists;
mod pattern;
mod print;
mod replies;
mod sample;
mod schema;

pub use expr::{Expr, Grammar};
pub use lists::{ListShape, continuation, iteration, list_tokens, plan};
pub use replies::{EditableFile, execution, loop_turn, merge, refinement, write_execution};
