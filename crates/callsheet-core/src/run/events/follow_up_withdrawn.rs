//! The event `follow_up_withdrawn`.

use serde::{Deserialize, Serialize};

use crate::record::Outcome;
use crate::run::{Reject, Run};
use crate::run::continuation::Continuation;
use crate::run::next_stage::without_follow_up;

use super::check::require;
use super::{Checked, Recorded, When};

/// A person withdraws a follow-up that has no list yet (spec 2.17). The run returns to the outcome that it had
/// before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FollowUpWithdrawn {
    /// The outcome that the run had before.
    pub outcome: Outcome,
}

impl Recorded for FollowUpWithdrawn {
    fn when(&self) -> When {
        When::Always
    }

    fn check(&self, run: &Run) -> Checked {
        require(without_follow_up(run) == Some(self.outcome), || Reject::NoFollowUp)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Continuation(run).withdraw(self.outcome);
    }
}
