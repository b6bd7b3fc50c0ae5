//! Grammars in abstract form: rules over literals, bounded text, choices and JSON schemas.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A named set of rules. A reply starts with the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grammar {
    /// Rules by name, in order; names are `[a-z][a-z0-9_]*`, each once.
    pub rules: Vec<(String, Expr)>,
}

/// What is allowed at a place.
///
/// Engines read lexemes greedily. So the end of the reply, or a literal that starts with a newline, must follow an
/// [`Expr::Line`], [`Expr::Block`] or [`Expr::Code`]: the newline belongs to the next item, never to the text. If two
/// literals are allowed at one place and one is a prefix of the other, the longer one wins; what follows the shorter
/// one must not continue like the longer one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expr {
    /// Exactly this text. Long literals are forced text that an engine feeds as a batch.
    Literal(String),
    /// Prose on one line, of `min` to `max` characters. It starts with a letter and contains no link, markup tag or
    /// bold text, so it can neither open a block nor name a reference that does not exist.
    Line {
        /// The smallest number of characters, 1 or more.
        min: u32,
        /// Characters at most.
        max: u32,
    },
    /// Prose on a separate line: an [`Expr::Line`] without a colon. `min` is larger than the longest title or marker
    /// that counts without markup (spec 2.13, 4.4 `heading-level`), so that the line cannot be one.
    Sentence {
        /// Characters at least.
        min: u32,
        /// Characters at most.
        max: u32,
    },
    /// Prose of 1 to `lines` lines, possibly with blank lines between them and `- ` items. No line opens a heading, a
    /// fence, a rule, a tag or bold text, or begins like a marker of a result. It contains no reasoning tag.
    Block {
        /// The maximum number of lines with text.
        lines: u32,
        /// The maximum number of characters of a line.
        line: u32,
    },
    /// Content of a fence of three backticks: 1 to `lines` lines with any indent. No line begins with a backtick or,
    /// indented, with three.
    Code {
        /// Lines at most.
        lines: u32,
        /// The maximum number of characters of a line.
        line: u32,
    },
    /// A whole number from 1 to 99,999.
    Number,
    /// `min` to `max` characters of `[A-Za-z0-9_-]`: one part of a path or file name.
    Word {
        /// The smallest number of characters, 1 or more.
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
        /// The repeated expression.
        expr: Box<Expr>,
        /// At least.
        min: u32,
        /// At most.
        max: u32,
    },
    /// Another rule.
    Rule(String),
    /// A JSON value that matches a schema, on one line, with limits on every text and list. Keywords that a grammar
    /// cannot express (formats, patterns, conditions) are left to validation.
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

    /// Repeats `self` `min` to `max` times.
    pub fn repeat(self, min: u32, max: u32) -> Self {
        Self::Repeat { expr: Box::new(self), min, max }
    }

    /// The rule `name`.
    pub fn rule(name: impl Into<String>) -> Self {
        Self::Rule(name.into())
    }
}
