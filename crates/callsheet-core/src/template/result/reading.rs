//! A reply as it was read, and what was found of XML in it (spec 11).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Reason, ReturnStatus};

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
    /// The reply was an envelope.
    pub envelope: bool,
    /// Names given in two spellings with different values; the snake_case one holds. Each is a warning.
    pub conflicts: Vec<String>,
}
