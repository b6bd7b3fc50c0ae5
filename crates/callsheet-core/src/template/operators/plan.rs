//! The plan of an opened task, as recorded.

use serde::{Deserialize, Serialize};

use crate::nouns::{BlobId, SkillPolicy, ToolCall};

/// The plan of an opened task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// Run one handler.
    Handler(Box<HandlerPlan>),
    /// Run a process.
    Process {
        /// The call of the tool `script`.
        call: ToolCall,
        /// The time limit in seconds.
        timeout_seconds: u32,
        /// A title for a person.
        title: String,
    },
    /// Run the children that the operator names, or the body of a call.
    Children,
    /// Run a part for each element.
    Items {
        /// The number of elements.
        count: u32,
    },
    /// Run one branch of a `cond`. `None` is `else`.
    Branch {
        /// The number of the case, from 0.
        case: Option<u32>,
    },
}

/// An atomic task, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandlerPlan {
    /// A title for a person: the shortened description.
    pub title: String,
    /// The resolved task as JSON: texts without open placeholders, files and the declared output.
    pub task: BlobId,
    /// Its tools, model and limits.
    pub policy: SkillPolicy,
    /// Why it is a writer. `None` if it only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// The tokens that a call reserves in the budgets above it (spec 9): the estimated prompt and the cap of a reply.
    #[serde(default)]
    pub reserve: u64,
}
