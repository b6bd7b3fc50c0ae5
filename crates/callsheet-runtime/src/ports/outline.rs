//! Symbols of code files (spec 5.3).

use callsheet_core::symbols::Symbol;

/// Why a file has no outline. A person or a model can use lines instead; a retry does not help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutlineFault {
    /// There is no parser for the language.
    #[error("there is no parser for this language")]
    NoParser,
    /// The file or its outline is too large.
    #[error("the file is too large to be parsed")]
    TooLarge,
    /// Parsing took too long.
    #[error("parsing took too long")]
    TimedOut,
    /// No part of the text could be parsed.
    #[error("the file could not be parsed")]
    Unparsable,
}

/// Finds the symbols of a code file. Markdown files have none: their headings are found without a parser.
pub trait Outline: Send + Sync {
    /// The symbols of `text` in the order of their starts, outer before inner, with numbers for repeated paths. `path`
    /// determines the language. For a broken text, returns what could be parsed.
    ///
    /// # Errors
    /// See `OutlineFault`.
    fn outline(&self, path: &str, text: &str) -> Result<Vec<Symbol>, OutlineFault>;
}

/// An outline without a parser for any language.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOutline;

impl Outline for NoOutline {
    fn outline(&self, _path: &str, _text: &str) -> Result<Vec<Symbol>, OutlineFault> {
        Err(OutlineFault::NoParser)
    }
}
