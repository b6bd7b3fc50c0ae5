//! The event `evaluated`.

use serde::{Deserialize, Serialize};

use crate::record::Step;
use crate::run::Run;
use crate::run::operators::{TreeCheck, Trees};
use crate::nouns::{BlobId, Slug};

use super::{blobs, Checked, Recorded};

/// Pure code evaluated a task of the tree: opened, judged or closed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Evaluated {
    /// Task.
    pub task: Slug,
    /// The number of the evaluation, as in the effect. It is written as `number`, because `n` is the number of the
    /// log entry.
    #[serde(rename = "number")]
    pub n: u32,
    /// The result.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub step: Step,
}

impl Recorded for Evaluated {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        TreeCheck(run).evaluated(&self.task, self.n, &self.step)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Trees(run).evaluated(&self.task, &self.step);
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_step(&self.step)
    }
}
