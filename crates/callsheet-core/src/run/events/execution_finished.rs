//! The event `execution_finished`.

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair};
use crate::record::{CallKey, ResultParts};
use crate::record::words::{call_words, unsupported_line};
use crate::run::Run;
use crate::run::replies::Replies;
use crate::nouns::{BlobId, Phase};

use super::check::Check;
use super::{blobs, Checked, Line, Recorded, Stale};

/// The execution reply of an `interpret` task, or the final reply of a loop task, was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecutionFinished {
    /// The call.
    pub key: CallKey,
    /// The result.
    pub result: ResultParts,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// Warnings.
    pub issues: Vec<Issue>,
}

impl Recorded for ExecutionFinished {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        let fits = matches!(self.key.phase, Phase::Merge | Phase::Execute) && self.key.task.is_some();
        Check(run).to_be_read(&self.key, fits)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Replies(run).finished(&self.key, &self.result, &self.repairs, &self.issues);
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_result(&self.result)
    }

    fn stale(&self) -> Stale<'_> {
        Stale { sheet: true, task: self.key.task.as_ref() }
    }

    fn line(&self, run: &Run) -> Option<Line> {
        let marks = unsupported_line(self.result.unsupported.iter().map(String::as_str))?;
        Some(Line::new(format!("note: {}: ", call_words(&self.key, run.part(&self.key)))).quote(&marks, 300))
    }
}
