//! The event `executions_merged`.

use serde::{Deserialize, Serialize};

use crate::record::{EffectKey, ResultParts};
use crate::run::{Reject, Run, Stage};
use crate::run::execute::Executing;
use crate::run::execution::MergeBy;
use crate::nouns::{BlobId, Slug};

use super::check::{require, Check};
use super::{blobs, Checked, Recorded, Stale};

/// Code merged the executions of a task (spec 3.12). A merge by a model is recorded as `ExecutionFinished` with the
/// phase `merge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecutionsMerged {
    /// Task.
    pub task: Slug,
    /// The number of the merge, as in the effect. It is written as `number`, because `n` is the number of the log
    /// entry.
    #[serde(rename = "number")]
    pub n: u32,
    /// The merged result.
    pub result: ResultParts,
}

impl Recorded for ExecutionsMerged {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        let task = Some(Check(run).task(&self.task)?).filter(|task| task.is_executing());
        let merge = task.and_then(|task| task.merge.as_ref());
        let awaited = merge.is_some_and(|merge| merge.n == self.n && merge.by != MergeBy::Model);
        require(awaited, || Reject::NotInFlight(EffectKey::Merge { task: self.task.clone(), n: self.n }))?;
        require(run.stage() == Stage::Pass, || Reject::Concluding)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Executing(run).merged(&self.task, &self.result);
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_result(&self.result)
    }

    fn stale(&self) -> Stale<'_> {
        Stale { sheet: true, task: Some(&self.task) }
    }
}
