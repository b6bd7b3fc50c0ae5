//! The event `call_returned`.

use serde::{Deserialize, Serialize};

use crate::record::ResultParts;
use crate::run::Run;
use crate::run::mounts::{check_return, Mounts};
use crate::run::operators::Caller;
use crate::nouns::{BlobId, ExecutionId, Slug};

use super::{blobs, Checked, Recorded, Stale};

/// The template of a call returned or could not begin. What it gave is the result of the execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallReturned {
    /// The task that made the call.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The id of the call.
    pub call: String,
    /// The document and the summary.
    pub result: Box<ResultParts>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Recorded for CallReturned {
    fn check(&self, run: &Run) -> Checked {
        check_return(run, &self.caller(), self.failed.is_some())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Mounts(run).returned(&self.caller(), &self.result, self.failed.as_deref());
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_result(&self.result)
    }

    fn stale(&self) -> Stale<'_> {
        Stale { sheet: true, task: Some(&self.task) }
    }
}

impl CallReturned {
    fn caller(&self) -> Caller {
        Caller { task: self.task.clone(), run: self.run.clone(), call: self.call.clone() }
    }
}
