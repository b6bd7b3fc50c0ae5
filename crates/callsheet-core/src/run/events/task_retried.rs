//! The event `task_retried`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::{Run, State};
use crate::run::commands::{check_part, check_redo, Commands};
use crate::run::lists::{check_applies, transition};
use crate::run::mounts::failed_calls;
use crate::run::operators::{Redo, TreeCheck, Trees};
use crate::run::task::{CallReuse, TaskRun};
use crate::nouns::{BlobId, SkillPolicy, Slug};

use super::check::{require, Check};
use super::{blobs, Checked, Line, Recorded, Stale};

/// A person has an ended task repeated (spec 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskRetried {
    /// Task.
    pub task: Slug,
    /// The current policies of skills that changed since the list was adopted. Tasks that come back use these (spec
    /// 2.5, 7.5).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skills: BTreeMap<String, SkillPolicy>,
}

impl Recorded for TaskRetried {
    fn check(&self, run: &Run) -> Checked {
        let slug = &self.task;
        if run.operators.tree().is_some() {
            return TreeCheck(run).redone(slug, Redo::Again);
        }
        if run.operators.named(slug).is_some() {
            return check_part(run, slug, Redo::Again);
        }
        let task = Check(run).task(slug)?;
        if comes_back(task) {
            return Ok(());
        }
        let again = match task.state() {
            State::Done | State::Dropped => task.is_own(),
            state => state.is_problem(),
        };
        require(again, || transition(slug, task.state(), State::Planned))?;
        check_applies(run, slug)?;
        if task.state() == State::Done {
            return check_redo(run, slug);
        }
        let calls = failed_calls(run, slug, &self.skills).unwrap_or_default();
        calls.iter().try_for_each(|call| run.operators.redone(call.op, Redo::Again).map(|_| ()))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        run.calls.offer();
        if run.operators.tree().is_some() {
            Trees(run).redo(&self.task, Redo::Again);
        } else if run.operators.named(&self.task).is_some() {
            Commands(run).redo_in_call(&self.task, Redo::Again, &self.skills);
        } else if run.tasks.get(&self.task).is_some_and(comes_back) {
            Commands(run).ask_anew(&self.task);
        } else {
            Commands(run).retry(&self.task, &self.skills);
        }
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_skills(self.skills.values())
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::new(format!("{}: retried", self.task)))
    }
}

/// Whether the task was planned again because of another task and has not begun. A person may still have it repeated
/// itself.
fn comes_back(task: &TaskRun) -> bool {
    let unbegun = matches!(task.state(), State::Planned | State::Waiting | State::Ready) && !task.has_begun();
    task.reuse == CallReuse::Allowed && unbegun
}
