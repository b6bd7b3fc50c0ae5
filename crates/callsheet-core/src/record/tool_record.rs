//! What is recorded of a tool call.

use serde::{Deserialize, Serialize};

use crate::nouns::{BlobId, Picture};

use super::parts::ChangeSet;

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolRecord {
    /// Text for the model. An error text is output too, and is marked.
    Output {
        /// Whole output.
        blob: BlobId,
        /// If the tool failed, the first line of its message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Pictures beside the text, in its order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
        /// Whether the time of its task ended the call. Then this is what it had given until then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        timed_out: bool,
    },
    /// Validated file changes that wait for approval and for being applied.
    Changes(ChangeSet),
    /// A question to a person. The answer becomes the output.
    Question(String),
    /// A question to a person in the middle of the call, which goes on with the answer.
    Midway(String),
    /// The run's own time was over before the call ended (spec "Templates" 9), so nothing of it counts. A resume makes
    /// the call again or, if it may not be repeated, treats it as a call that was never seen to finish.
    Cut,
    /// The process that did a call that may not be repeated was killed, so nobody knows how far it came. A person is
    /// asked whether it runs again.
    Lost,
}

impl ToolRecord {
    /// The whole text of a call, or of a call that failed with these words.
    pub fn text(blob: BlobId, error: Option<String>) -> Self {
        Self::Output { blob, error, pictures: Vec::new(), timed_out: false }
    }

    /// What a call had given when the time of its task ended it, with its first line if the tool calls that a failure.
    pub fn text_until_timeout(blob: BlobId, error: Option<String>) -> Self {
        Self::Output { blob, error, pictures: Vec::new(), timed_out: true }
    }
}
