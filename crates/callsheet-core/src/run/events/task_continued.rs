//! The event `task_continued`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::run::commands::{check_redo, Commands};
use crate::run::operators::Redo;
use crate::nouns::Slug;

use super::check::require;
use super::{Checked, Line, Recorded, Stale};

/// A failed task continues with what it has, because a person raised a limit (spec 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskContinued {
    /// Task.
    pub task: Slug,
}

impl Recorded for TaskContinued {
    fn check(&self, run: &Run) -> Checked {
        require(run.may_continue(&self.task), || Redo::On.refused(&self.task))?;
        check_redo(run, &self.task, Redo::On, &BTreeMap::new())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Commands(run).redo(&self.task, Redo::On, &BTreeMap::new());
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::new(format!("{}: continues with what it has", self.task)))
    }
}
