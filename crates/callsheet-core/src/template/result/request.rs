//! Verdicts and requests for subtasks (spec 6).

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::template::operators::Kind;
use crate::template::tree::PartialContext;

/// What an evaluator says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It is good.
    Accept,
    /// Not yet.
    Revise {
        /// What is wrong.
        feedback: String,
        /// What the director gets next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_input: Option<String>,
        /// Files the director gets next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        add_files: Option<Vec<String>>,
    },
    /// The loop ends.
    Abort {
        /// Why.
        reason: String,
    },
}

/// An operator that a model may ask for, by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SubtaskType(&'static str);

impl SubtaskType {
    /// What a request asks for that says nothing, and the one for which no template must be named.
    pub const ATOMIC: Self = Self("atomic");

    /// Every word.
    pub fn words() -> impl Iterator<Item = &'static str> {
        Kind::ALL.iter().filter(|facts| facts.spawns).map(|facts| facts.word)
    }

    /// Its word.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl<'de> Deserialize<'de> for SubtaskType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = Self::words().find(|known| *known == word);
        known.map(Self).ok_or_else(|| D::Error::custom(format!("{word} is no operator that may be asked for")))
    }
}

/// A task that a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubtaskRequest {
    /// Operator.
    #[serde(rename = "type")]
    pub kind: SubtaskType,
    /// What is wanted.
    pub description: String,
    /// Values it sees, and nothing else.
    pub inputs: Map<String, Value>,
    /// Templates or words that fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub template_hints: Vec<String>,
    /// The template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Subtype.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtype: Option<String>,
    /// Settings laid over the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_management: Option<PartialContext>,
    /// May only lower the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// Files it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    /// What a good result looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<String>,
    /// Fields of newer versions, kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
