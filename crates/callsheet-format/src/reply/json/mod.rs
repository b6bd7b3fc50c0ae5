//! Tolerant JSON with places (spec 4.4, `json-syntax`). Valid JSON is read as it stands; what small models get wrong
//! is mended only where one reading is possible. Linear in the text, and depth-capped, so no input exhausts the stack.

mod find;
mod reader;
#[cfg(test)]
mod tests;

pub use find::{Meant, in_a_string, meant, whole};
pub use reader::{Scanner, read_document};

use callsheet_core::issue::RepairCode;
use serde_json::Value;

/// Objects and arrays may nest this deep; deeper text is invalid rather than a risk to the stack.
pub const MAX_DEPTH: usize = 120;

/// One value and the bytes it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// The value.
    pub value: Value,
    /// First byte in the text given.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

/// One kind of liberty taken, noted at its first occurrence in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mend {
    /// Which kind.
    pub code: RepairCode,
    /// Byte of the first occurrence.
    pub at: usize,
    /// What stood there.
    pub before: String,
    /// What it was read as.
    pub after: String,
}

impl Mend {
    /// A liberty of its kind.
    pub fn new(code: RepairCode, at: usize, before: &str, after: &str) -> Self {
        Self { code, at, before: before.to_owned(), after: after.to_owned() }
    }
}

impl std::fmt::Display for Mend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.after.as_str() {
            "" => write!(f, "{}: `{}` left out", self.code, self.before),
            after => write!(f, "{}: `{}` read as `{after}`", self.code, self.before),
        }
    }
}

/// What a text held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Values in order.
    pub values: Vec<Located>,
    /// Liberties taken, by first occurrence.
    pub mends: Vec<Mend>,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A string was cut off by the end of the text (`json-truncated`); otherwise `json-invalid`.
    pub truncated: bool,
    /// Byte of the mistake.
    pub at: usize,
    /// Byte up to which the text was looked at.
    pub reached: usize,
    /// What is wrong, a clause for people and models.
    pub what: String,
}
