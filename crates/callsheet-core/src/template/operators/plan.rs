//! What an opened task goes through, as recorded.

use serde::{Deserialize, Serialize};

use crate::nouns::{BlobId, SkillPolicy, ToolCall};

/// What an opened task goes through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// One handler.
    Handler(Box<HandlerPlan>),
    /// A process.
    Process {
        /// The call of the tool `script`.
        call: ToolCall,
        /// Seconds it may take.
        timeout_seconds: u32,
        /// For a person.
        title: String,
    },
    /// The children that the operator names, or the body of a call.
    Children,
    /// As many elements.
    Items {
        /// How many.
        count: u32,
    },
    /// One branch of a `cond`; `None` is `else`.
    Branch {
        /// From 0.
        case: Option<u32>,
    },
}

/// An atomic task, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandlerPlan {
    /// For a person: the description, cut.
    pub title: String,
    /// The resolved task as JSON: texts without open placeholders, files, declared output.
    pub task: BlobId,
    /// Tools, model, limits.
    pub policy: SkillPolicy,
    /// Why it is a writer; `None`: it only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Tokens that a call reserves of the budgets above it (spec 9): its prompt by estimate and the cap of a reply.
    #[serde(default)]
    pub reserve: u64,
}
