//! The event `limits_changed`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::{Reject, Run};
use crate::run::operators::Trees;
use crate::nouns::TaskLimits;

use super::check::require;
use super::{Checked, Recorded};

/// Limits of recorded templates that were changed in their files, and nothing else was, count from here on (spec
/// "Templates" 9): those of each task, in document order, by the name of the template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsChanged {
    /// Limits.
    pub limits: BTreeMap<String, Vec<TaskLimits>>,
}

impl Recorded for LimitsChanged {
    fn check(&self, run: &Run) -> Checked {
        require(run.operators.trees().next().is_some(), || Reject::ListNotAwaited)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Trees(run).change_limits(&self.limits);
    }
}
