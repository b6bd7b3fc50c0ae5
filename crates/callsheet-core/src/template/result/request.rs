//! Verdicts of evaluators and requests for subtasks (spec 6).

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::template::operators::Kind;
use crate::template::tree::PartialContext;

/// The verdict of an evaluator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The output is good.
    Accept,
    /// The output must be revised.
    Revise {
        /// What is wrong.
        feedback: String,
        /// The next input of the director.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_input: Option<String>,
        /// Files that the director gets next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        add_files: Option<Vec<String>>,
    },
    /// The loop must end.
    Abort {
        /// The reason.
        reason: String,
    },
}

/// The word for an operator that a model may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SubtaskType(&'static str);

impl SubtaskType {
    /// The operator of a request that names none. It is the only one that does not require the name of a template.
    pub const ATOMIC: Self = Self("atomic");

    /// All words.
    pub fn words() -> impl Iterator<Item = &'static str> {
        Kind::ALL.iter().filter(|facts| facts.spawns).map(|facts| facts.word)
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl<'de> Deserialize<'de> for SubtaskType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = Self::words().find(|known| *known == word);
        known.map(Self).ok_or_else(|| D::Error::custom(format!("{word} is not an operator that a model may ask for")))
    }
}

/// A task that a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubtaskRequest {
    /// The operator.
    #[serde(rename = "type")]
    pub kind: SubtaskType,
    /// What the subtask must do.
    pub description: String,
    /// The only values that it sees.
    pub inputs: Map<String, Value>,
    /// Matching templates or words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub template_hints: Vec<String>,
    /// The name of the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The subtype.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtype: Option<String>,
    /// Settings that replace the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_management: Option<PartialContext>,
    /// The depth limit, which may only be lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// The files that it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    /// What a good result contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<String>,
    /// Unknown fields of newer versions, which are kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
