//! Tolerant JSON with positions (spec 4.4, `json-syntax`). Valid JSON is read exactly. Typical mistakes of small models
//! are repaired only if there is one possible reading. Linear in the text and limited in depth, so no input exhausts
//! the stack.

mod find;
mod reader;
#[cfg(test)]
mod tests;

pub use find::{Meant, in_a_string, meant, whole};
pub use reader::{Scanner, read_document};

use callsheet_core::issue::RepairCode;
use serde_json::Value;

/// How deep objects and arrays may nest. Deeper text is invalid, so that it cannot overflow the stack.
pub const MAX_DEPTH: usize = 120;

/// One value and the bytes it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// The value.
    pub value: Value,
    /// First byte in the given text.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

/// One kind of correction, noted at its first occurrence in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonRepair {
    /// Which kind.
    pub code: RepairCode,
    /// Byte of the first occurrence.
    pub at: usize,
    /// What stood there.
    pub before: String,
    /// The text as it was read.
    pub after: String,
}

impl JsonRepair {
    /// A correction of this kind.
    pub fn new(code: RepairCode, at: usize, before: &str, after: &str) -> Self {
        Self { code, at, before: before.to_owned(), after: after.to_owned() }
    }
}

impl std::fmt::Display for JsonRepair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.after.as_str() {
            "" => write!(f, "{}: `{}` left out", self.code, self.before),
            after => write!(f, "{}: `{}` read as `{after}`", self.code, self.before),
        }
    }
}

/// The content of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Values in order.
    pub values: Vec<Located>,
    /// Corrections, by first occurrence.
    pub repairs: Vec<JsonRepair>,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whether the end of the text cut off a string (`json-truncated`). Otherwise the code is `json-invalid`.
    pub truncated: bool,
    /// Byte of the mistake.
    pub at: usize,
    /// Byte up to which the text was read.
    pub reached: usize,
    /// What is wrong: a clause for people and models.
    pub what: String,
}
