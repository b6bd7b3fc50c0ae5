//! Value types of parameters and results (spec 2.1).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A type of JSON values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// Any value.
    #[default]
    Any,
    /// A string.
    String,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// An object.
    Object,
    /// A list.
    Array,
    /// A list of strings.
    #[serde(rename = "string[]")]
    StringArray,
}

impl ValueType {
    /// The words that a person may write. `[]` means `array`.
    pub const WORDS: &'static [&'static str] =
        &["any", "string", "number", "boolean", "object", "array", "[]", "string[]"];

    /// Parses a word.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "any" => Self::Any,
            "string" => Self::String,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "object" => Self::Object,
            "array" | "[]" => Self::Array,
            "string[]" => Self::StringArray,
            _ => return None,
        })
    }

    /// The canonical word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::StringArray => "string[]",
        }
    }

    /// Whether a value has this type.
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::StringArray => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
        }
    }

    /// Converts a literal to this type, if it can be parsed (spec 4).
    pub fn convert(self, text: &str) -> Option<Value> {
        if matches!(self, Self::Any | Self::String) {
            return Some(Value::String(text.to_owned()));
        }
        serde_json::from_str(text.trim()).ok().filter(|value| self.holds(value))
    }
}

/// The type of a value in one word, for messages.
pub fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
