//! Grammars of replies, built from the catalog, the valid references and the tools. A [`Form`] describes a reply once.
//! From it come a [`Grammar`], printed for each engine that can constrain decoding ([`Grammar::to_gbnf`] and
//! [`Grammar::to_lark`]), and the JSON schema of the same reply for providers that accept no grammar
//! ([`Form::schema`]).
//!
//! A grammar guarantees only a valid *prefix*: every text and every count is limited, and a newline comes before the
//! next item, so a reply that was cut by its length ends inside a line.

mod expr;
mod form;
mod formats;
mod json_form;
mod markdown;
mod pattern;
mod print;
mod sample;
mod schema;
mod sections;

pub use expr::{Expr, Grammar};
pub use form::{Form, Member, Part, Sections, Value, new_link, new_name};
pub use formats::{
    EditableFile, WriteOffer, continuation, execution, iteration, loop_turn, merge, plan, refinement, review, route,
    write_execution,
};
pub(crate) use json_form::names;
pub use sections::{ListShape, list_tokens};
