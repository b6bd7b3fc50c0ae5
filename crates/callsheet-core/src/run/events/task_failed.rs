//! The event `task_failed`.

use serde::{Deserialize, Serialize};

use crate::run::{Run, State};
use crate::run::failure::Failure;
use crate::run::lists::transition;
use crate::run::task_change::TaskChange;
use crate::nouns::Slug;

use super::check::{require, Check};
use super::{Checked, Line, Recorded};

/// A task cannot continue for a reason outside the model's replies, such as a lost skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskFailed {
    /// Task.
    pub task: Slug,
    /// The reason, for a person and for the iteration.
    pub reason: String,
}

impl Recorded for TaskFailed {
    fn check(&self, run: &Run) -> Checked {
        let state = Check(run).task(&self.task)?.state();
        require(state.may_become(State::Failed), || transition(&self.task, state, State::Failed))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        TaskChange(run).fail(&self.task, Failure { reason: self.reason.clone(), ..Failure::default() });
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail(format!("{}: failed: ", self.task)).quote(&self.reason, 200))
    }
}
