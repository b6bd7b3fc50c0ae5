//! The event `context_retrieved`.

use serde::{Deserialize, Serialize};

use crate::record::{EffectKey, Retrieval};
use crate::run::Run;
use crate::run::operators::{TreeCheck, Trees};
use crate::nouns::{BlobId, Slug};

use super::{Checked, Recorded};

/// The context of a task of the tree was looked up (spec "Templates" 5, 13).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContextRetrieved {
    /// Task.
    pub task: Slug,
    /// The number of the lookup, as in the effect. It is written as `number`, because `n` is the number of the log
    /// entry.
    #[serde(rename = "number")]
    pub n: u32,
    /// The result.
    pub retrieval: Retrieval,
    /// Whether the index was searched and is empty. A person is told once in a run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty_index: bool,
}

impl Recorded for ContextRetrieved {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        TreeCheck(run).retrieved(&self.task, self.n)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Trees(run).retrieved(&self.task, self.n, &self.retrieval, self.empty_index);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(EffectKey::Retrieve { task: self.task.clone(), n: self.n })
    }

    fn blobs(&self) -> Vec<&BlobId> {
        match &self.retrieval {
            Retrieval::Found(found) => vec![found],
            Retrieval::Failed { partial, .. } => vec![partial],
        }
    }
}
