//! The event `task_dropped`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::run::commands::{Commands, check_redo};
use crate::run::operators::Redo;
use crate::nouns::Slug;

use super::{Checked, Line, Recorded, Stale};

/// A person removes a task that has not started to run from the list, or a failed item of a template (spec 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskDropped {
    /// Task.
    pub task: Slug,
}

impl Recorded for TaskDropped {
    fn check(&self, run: &Run) -> Checked {
        check_redo(run, &self.task, Redo::Without, &BTreeMap::new())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Commands(run).redo(&self.task, Redo::Without, &BTreeMap::new());
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail(format!("{}: removed", self.task)))
    }
}
