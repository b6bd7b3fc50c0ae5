//! The event `cancel_requested`.

use serde::{Deserialize, Serialize};

use crate::run::{Reject, Run};
use crate::run::next_stage::NextStage;

use super::check::require;
use super::{Checked, Line, Recorded};

/// A person asked to stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CancelRequested {}

impl Recorded for CancelRequested {
    fn check(&self, run: &Run) -> Checked {
        require(!run.progress.is_concluding(), || Reject::Concluding)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        NextStage(run).cancel();
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail("asked to stop"))
    }
}
