//! The abstract form: rules over literals, bounded text, choices and JSON schemas.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A named set of rules; the first is where a reply starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grammar {
    /// Rules by name, in order; names are `[a-z][a-z0-9_]*`, each once.
    pub rules: Vec<(String, Expr)>,
}

/// What may stand at a place.
///
/// Engines read lexemes greedily. So a [`Expr::Line`], [`Expr::Block`] or [`Expr::Code`] must be followed by the end
/// of the reply or by a literal that starts with a newline: the newline belongs to the next item, never to the text. And
/// where two literals may stand at one place and one starts the other, the longer one wins: what follows the shorter one
/// must not go on like the longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    /// Exactly this text. Long literals are forced text that an engine feeds as a batch.
    Literal(String),
    /// Prose on one line, of `min` to `max` characters. It starts with a letter and holds no link, markup tag or bold,
    /// so it can neither open a block nor name a reference that does not exist.
    Line {
        /// Characters at least, 1 or more.
        min: u32,
        /// Characters at most.
        max: u32,
    },
    /// Prose on a line of its own: a [`Expr::Line`] without colon. `min` is more than the longest title or marker has that
    /// counts without markup (spec 2.13, 4.4 `heading-level`), so that it cannot be one.
    Sentence {
        /// Characters at least.
        min: u32,
        /// Characters at most.
        max: u32,
    },
    /// Prose of 1 to `lines` lines, blank ones between them allowed, `- ` items allowed. No line opens a heading, a fence,
    /// a rule, a tag or bold text, or begins like a marker of a result; no reasoning tag stands anywhere.
    Block {
        /// Lines with text at most.
        lines: u32,
        /// Characters of a line at most.
        line: u32,
    },
    /// Content of a fence of three backticks: 1 to `lines` lines, any indent, none beginning with a backtick or, indented,
    /// with three.
    Code {
        /// Lines at most.
        lines: u32,
        /// Characters of a line at most.
        line: u32,
    },
    /// A whole number from 1 to 99,999.
    Number,
    /// `min` to `max` characters of `[A-Za-z0-9_-]`: one part of a path or file name.
    Word {
        /// Characters at least, 1 or more.
        min: u32,
        /// Characters at most.
        max: u32,
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
    /// A JSON value of a schema, on one line, every text and list bounded. Keywords that a grammar cannot hold (formats,
    /// patterns, conditions) are left to validation.
    Json(Value),
}

impl Expr {
    /// Exactly `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    /// `self` or nothing.
    pub fn optional(self) -> Self {
        Self::Repeat { expr: Box::new(self), min: 0, max: 1 }
    }

    /// `self`, `min` to `max` times.
    pub fn repeat(self, min: u32, max: u32) -> Self {
        Self::Repeat { expr: Box::new(self), min, max }
    }

    /// The rule `name`.
    pub fn rule(name: impl Into<String>) -> Self {
        Self::Rule(name.into())
    }
}
