//! The event `limit_raised`.

use serde::{Deserialize, Serialize};

use crate::run::operators::{split_limit, Trees};
use crate::run::{limits, Reject, Run};
use crate::units::amount;

use super::check::require;
use super::{Checked, Line, Recorded, When};

/// A person raised a limit of the run or of a task. The new bound is valid from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitRaised {
    /// The limit, by the name by which a person sets it. A limit of a task is written as `TASK.NAME`.
    pub limit: String,
    /// The new bound, in the unit of the limit (seconds for times).
    pub max: f64,
}

impl Recorded for LimitRaised {
    fn when(&self) -> When {
        When::Always
    }

    fn check(&self, run: &Run) -> Checked {
        require(limits::may_raise(run, &self.limit, self.max), || Reject::NotRaised(self.limit.clone()))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        match split_limit(&self.limit) {
            Some((task, name)) => Trees(run).raise(&task, name, self.max),
            None => run.setup.raise_limit(&self.limit, self.max),
        }
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::new(raised_words(&self.limit, self.max)))
    }
}

/// The words for a limit that was raised: `limit max_calls: raised to 40`.
pub fn raised_words(limit: &str, max: f64) -> String {
    format!("limit {limit}: raised to {}", amount(max))
}
