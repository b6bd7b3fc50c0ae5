//! Verdicts and requests for subtasks (spec 6).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// Operators that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubtaskType {
    /// Atomic.
    Atomic,
    /// Sequential.
    Sequential,
    /// Reduce.
    Reduce,
    /// Script.
    Script,
    /// Loop.
    DirectorEvaluatorLoop,
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
