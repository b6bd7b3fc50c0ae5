//! The event `task_dropped`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::{Reject, Run};
use crate::run::commands::{Commands, check_part};
use crate::run::lists::check_drop;
use crate::run::operators::{Redo, TreeCheck, Trees};
use crate::nouns::Slug;

use super::check::{require, Check};
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
        let slug = &self.task;
        if run.operators.tree().is_some() {
            return TreeCheck(run).redone(slug, Redo::Without);
        }
        if run.operators.named(slug).is_some() {
            return check_part(run, slug, Redo::Without);
        }
        let task = Check(run).task(slug)?;
        require(task.is_own(), || Reject::RunsTemplate)?;
        check_drop(task)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        if run.operators.named(&self.task).is_none() {
            return Commands(run).drop_task(&self.task);
        }
        run.calls.offer();
        if run.operators.tree().is_some() {
            Trees(run).redo(&self.task, Redo::Without);
        } else {
            Commands(run).redo_in_call(&self.task, Redo::Without, &BTreeMap::new());
        }
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::detail(format!("{}: removed", self.task)))
    }
}
