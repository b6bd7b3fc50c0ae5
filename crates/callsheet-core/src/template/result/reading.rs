//! A reply as it was read, and what was found of XML in it (spec 11).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ParseError, Reason, ReturnStatus};

/// A liberty that reading took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct XmlWarning {
    /// Which.
    pub message: String,
    /// 1-based line of the reply.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
}

/// Why nothing could be made of it.
pub type XmlError = XmlWarning;

/// What was found of XML in a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct XmlNote {
    /// Well formed as found.
    pub parsed: bool,
    /// Read after a repair, or taken out of prose or a fence.
    pub recovered: bool,
    /// Every repair.
    pub warnings: Vec<XmlWarning>,
    /// Past repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<XmlError>,
}

/// The JSON that a text may mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonReading {
    /// Every value that may be meant; usually one.
    pub values: Vec<JsonFound>,
    /// Why it is not just one.
    pub fault: ParseError,
}

/// A value found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonFound {
    /// The value.
    pub value: Value,
    /// The text is this value and nothing else.
    pub whole: bool,
    /// Liberties taken, in words for a person.
    pub repairs: Vec<String>,
    /// The list or object that it is if it is meant as such: a string that holds nothing else.
    pub inner: Option<Box<JsonFound>>,
}

/// A reply as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyReading {
    /// `COMPLETE`, unless an envelope says otherwise.
    pub status: ReturnStatus,
    /// The reply, or the content of an envelope.
    pub content: String,
    /// XML that is no envelope, or the value an envelope gives.
    pub parsed: Option<Value>,
    /// Notes the model wrote.
    pub notes: Map<String, Value>,
    /// Of an envelope that says `FAILED`.
    pub reason: Option<Reason>,
    /// What its `error` says in words.
    pub message: Option<String>,
    /// The section of data usage behind an envelope or notes.
    pub data_usage: String,
    /// What was found of XML; `None` is plain text.
    pub xml: Option<XmlNote>,
    /// Thinking stood in it and was left out.
    pub thought: bool,
    /// The reply was an envelope.
    pub envelope: bool,
    /// Names given in two spellings with different values; the snake_case one holds. Each is a warning.
    pub conflicts: Vec<String>,
}
