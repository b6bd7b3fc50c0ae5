//! The event `task_dropped`.

use serde::{Deserialize, Serialize};

use crate::run::{Reject, Run};
use crate::run::commands::Commands;
use crate::run::lists::check_drop;
use crate::nouns::Slug;

use super::check::{require, Check};
use super::{Checked, Line, Recorded, Stale};

/// A person removes a task that has not started to run from the list (spec 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskDropped {
    /// Task.
    pub task: Slug,
}

impl Recorded for TaskDropped {
    fn needs_list(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        let task = Check(run).task(&self.task)?;
        require(task.is_own(), || Reject::RunsTemplate)?;
        check_drop(task)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Commands(run).drop_task(&self.task);
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail(format!("{}: removed", self.task)))
    }
}
