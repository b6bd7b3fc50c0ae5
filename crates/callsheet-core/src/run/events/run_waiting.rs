//! The event `run_waiting`.

use serde::{Deserialize, Serialize};

use crate::record::Outcome;
use crate::run::{Reject, Run};
use crate::run::answers::Answers;
use crate::run::approval::Approval;

use super::check::require;
use super::{Checked, Recorded};

/// Nobody can answer what waits. The process ends, and the run can be resumed. The event is recorded when only gates
/// and questions are outstanding and all of them were tried. They stay open until an answer or a resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunWaiting {
    /// `approval_required` or `input_required`.
    pub outcome: Outcome,
}

impl Recorded for RunWaiting {
    /// Nobody can be asked.
    fn check(&self, run: &Run) -> Checked {
        let approval = Approval(run);
        let waits = match self.outcome {
            Outcome::ApprovalRequired => approval.open_gates().next().is_some(),
            Outcome::InputRequired => approval.questions().next().is_some() || run.sheet.held().is_some(),
            _ => false,
        };
        require(run.stage().is_working() && waits, || Reject::NotWaiting(self.outcome))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Answers(run).wait_for_person(self.outcome);
    }
}
