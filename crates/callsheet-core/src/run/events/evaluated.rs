//! The event `evaluated`.

use serde::{Deserialize, Serialize};

use crate::record::Step;
use crate::run::Run;
use crate::run::operators::{TreeCheck, Trees};
use crate::nouns::{BlobId, Slug};

use super::{blobs, Checked, Recorded};

/// A task of the tree was evaluated: opened, judged or closed by pure code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluated {
    /// Task.
    pub task: Slug,
    /// Number of the evaluation, as in the effect. Written as `number`: `n` is the fact's own.
    #[serde(rename = "number")]
    pub n: u32,
    /// What it gave.
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
