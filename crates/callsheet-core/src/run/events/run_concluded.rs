//! The event `run_concluded`.

use serde::{Deserialize, Serialize};

use crate::record::{EffectKey, Outcome};
use crate::run::{Reject, Run, Stage};
use crate::nouns::BlobId;

use super::check::require;
use super::{Checked, Recorded};

/// The report is written and the run has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunConcluded {
    /// How the run ended.
    pub outcome: Outcome,
    /// The text of the report.
    pub report: BlobId,
}

impl Recorded for RunConcluded {
    fn check(&self, run: &Run) -> Checked {
        let ends = run.stage() == Stage::Conclude(self.outcome) && !run.in_flight.has_applies();
        require(ends, || Reject::WrongOutcome(self.outcome))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        run.progress.concluded(self.outcome);
        run.in_flight.end(&EffectKey::Conclude);
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(EffectKey::Conclude)
    }

    fn blobs(&self) -> Vec<&BlobId> {
        vec![&self.report]
    }
}
