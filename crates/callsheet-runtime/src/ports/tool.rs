//! The port for tools. A tool never writes to the project: it returns text, or changes or a question for the host to
//! validate, to have approved and to carry out.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::nouns::ToolSpec;
use callsheet_format::edit::Change;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::paths::Workspace;

use super::documents::Documents;
use super::fetch::Fetch;
use super::held_call::Midway;
use super::model::ShownPicture;

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// Text for the model.
    Output(String),
    /// Text and pictures for the model. The text says where each picture belongs.
    Pictures(String, Vec<ShownPicture>),
    /// The tool failed. The text tells the model why and what to do instead.
    Failed(String),
    /// Changes to files. The host validates, gates and applies them.
    Changes(Vec<Change>),
    /// A question to a person. The answer becomes the output.
    Question(String),
    /// A question to a person in the middle of the call, which goes on with the answer.
    Midway(Midway),
}

impl ToolOutcome {
    /// The name of this kind of result, for logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Output(_) | Self::Pictures(..) => "output",
            Self::Failed(_) => "failed",
            Self::Changes(_) => "changes",
            Self::Question(_) | Self::Midway(_) => "question",
        }
    }
}

/// What a call may use.
#[derive(Clone)]
pub struct ToolContext {
    /// The confined view of the project (spec 5.6). Every path goes through it.
    pub workspace: Arc<Workspace>,
    /// Directory of the skill's own files, readable by its runs (spec 7.1).
    pub skill_dir: Option<PathBuf>,
    /// Access to web pages. `None` means no network.
    pub fetch: Option<Arc<dyn Fetch>>,
    /// Texts of PDF and office files.
    pub documents: Arc<dyn Documents>,
    /// The maximum number of bytes of output, for each stream. The rest is read, counted and replaced by a note.
    pub max_output_bytes: usize,
    /// Time the call may take.
    pub timeout: Duration,
    /// Ends the call.
    pub cancel: CancellationToken,
}

/// The call could not be made at all. Anything that a model could fix is `ToolOutcome::Failed` instead.
#[derive(Debug, thiserror::Error)]
pub enum ToolFault {
    /// Cancelled by us.
    #[error("cancelled")]
    Cancelled,
    /// It failed for a reason that the person must also know.
    #[error("{person}")]
    Told {
        /// What the person reads.
        person: String,
        /// What the model reads.
        model: String,
    },
    /// What did the call was killed, so nobody knows how far it came.
    #[error("{0}")]
    Lost(String),
    /// Our own fault.
    #[error("tool defect: {0}")]
    Defect(String),
}

/// One tool.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Name, description, schema and effect.
    fn spec(&self) -> &ToolSpec;

    /// Why a call with these arguments cannot start, in words for the model. `None` if nothing is known against it.
    /// Starts nothing.
    fn obstacle(&self, arguments: &Value, workspace: &Workspace) -> Option<String> {
        let _ = (arguments, workspace);
        None
    }

    /// Makes one call. `arguments` match the schema.
    async fn run(&self, arguments: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault>;

    /// Ends what the tool keeps open between calls. A later call opens it again.
    async fn end(&self) {}
}
