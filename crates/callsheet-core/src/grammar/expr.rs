//! The abstract form: rules over literals, bounded text, choices and JSON schemas.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A named set of rules; the first is where a reply starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grammar {
    /// Rules by name, in order; names are `[a-z_]+`.
    pub rules: Vec<(String, Expr)>,
}

/// What may stand at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    /// Exactly this text. Long literals are forced text that an engine feeds as a batch.
    Literal(String),
    /// Free text on one line, of `min` to `max` characters.
    Line {
        /// Characters at least.
        min: u32,
        /// Characters at most.
        max: u32,
    },
    /// Free text over lines, of at most `max` characters, in which no line starts with one of `forbidden`.
    Block {
        /// Characters at most.
        max: u32,
        /// Texts no line may start with.
        forbidden: Vec<String>,
    },
    /// One after the other.
    Seq(Vec<Expr>),
    /// One of them.
    Choice(Vec<Expr>),
    /// `min` to `max` times.
    Repeat {
        /// What.
        expr: Box<Expr>,
        /// At least.
        min: u32,
        /// At most.
        max: u32,
    },
    /// Another rule.
    Rule(String),
    /// A JSON value that holds against a schema.
    Json(Value),
}
