//! A reply after it was read, and the XML that was found in it (spec 11).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ParseError, Reason, ReturnStatus};

/// A repair that the reader made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct XmlWarning {
    /// The repair in words.
    pub message: String,
    /// 1-based line of the reply.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
}

/// Why the XML could not be read.
pub type XmlError = XmlWarning;

/// The XML that was found in a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct XmlNote {
    /// Whether it was well formed as found.
    pub parsed: bool,
    /// Whether it was read after a repair, or extracted from prose or a fence.
    pub recovered: bool,
    /// All repairs.
    pub warnings: Vec<XmlWarning>,
    /// Why it could not be repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<XmlError>,
}

/// The JSON values that a text may contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonReading {
    /// All possible values, usually one.
    pub values: Vec<JsonFound>,
    /// Why there is not exactly one value.
    pub fault: ParseError,
}

/// A value found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonFound {
    /// The value.
    pub value: Value,
    /// Whether the text contains nothing but this value.
    pub whole: bool,
    /// The repairs, in words for a person.
    pub repairs: Vec<String>,
    /// If it is a string that contains only a list or an object: that list or object.
    pub inner: Option<Box<JsonFound>>,
}

/// A reply after it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyReading {
    /// The status: `COMPLETE`, unless an envelope says otherwise.
    pub status: ReturnStatus,
    /// The reply, or the content of its envelope.
    pub content: String,
    /// The value of XML that is not an envelope, or the value in an envelope.
    pub parsed: Option<Value>,
    /// The notes that the model wrote.
    pub notes: Map<String, Value>,
    /// The reason in an envelope that says `FAILED`.
    pub reason: Option<Reason>,
    /// The message in its `error`.
    pub message: Option<String>,
    /// The data usage section after an envelope or notes.
    pub data_usage: String,
    /// The XML that was found. `None` if the reply is plain text.
    pub xml: Option<XmlNote>,
    /// Whether it contained thinking, which was removed.
    pub thought: bool,
    /// Whether it was an envelope.
    pub envelope: bool,
    /// The names that occur in both spellings with different values. The snake_case value is kept. Each causes a
    /// warning.
    pub conflicts: Vec<String>,
}
