//! The event `limits_changed`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::{Reject, Run};
use crate::run::operators::Trees;
use crate::nouns::TaskLimits;

use super::check::require;
use super::{Checked, Recorded};

/// The limits of recorded templates, and nothing else, changed in their files. The new limits are valid from here on
/// (spec "Templates" 9).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitsChanged {
    /// The limits of each task, in document order, by the name of the template.
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
