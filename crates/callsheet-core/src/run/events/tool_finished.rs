//! The event `tool_finished`.

use serde::{Deserialize, Serialize};

use crate::record::{EffectKey, ToolRecord};
use crate::run::Run;
use crate::run::tools::ToolResults;
use crate::nouns::{BlobId, ExecutionId, Slug};
use crate::units::duration;

use super::check::Check;
use super::{blobs, Checked, Line, Recorded, Stale};

/// A tool call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolFinished {
    /// Task.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The id of the call.
    pub call: String,
    /// The result.
    pub record: ToolRecord,
    /// The duration in milliseconds.
    pub ms: u64,
}

impl Recorded for ToolFinished {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        Check(run).in_flight(self.key())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        ToolResults(run).finished(&self.task, &self.run, &self.call, &self.record, self.ms);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(self.key())
    }

    fn blobs(&self) -> Vec<&BlobId> {
        match &self.record {
            ToolRecord::Output { blob, pictures, .. } => {
                [blob].into_iter().chain(pictures.iter().map(|picture| &picture.blob)).collect()
            }
            ToolRecord::Changes(changes) => blobs::of_changes(changes),
            _ => Vec::new(),
        }
    }

    fn stale(&self) -> Stale<'_> {
        // The output of a process is the result of its task.
        Stale { sheet: false, task: Some(&self.task) }
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail(format!("{}: tool {}, {}", self.task, self.call, duration(self.ms))))
    }
}

impl ToolFinished {
    fn key(&self) -> EffectKey {
        EffectKey::Tool { task: self.task.clone(), run: self.run.clone(), call: self.call.clone() }
    }
}
