//! The event `task_retried`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::run::commands::{check_redo, Commands};
use crate::run::operators::Redo;
use crate::nouns::{BlobId, SkillPolicy, Slug};

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
    /// What the person said was wrong, for the prompts of the task. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

impl Recorded for TaskRetried {
    fn check(&self, run: &Run) -> Checked {
        check_redo(run, &self.task, Redo::Again, &self.skills)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Commands(run).redo(&self.task, Redo::Again, &self.skills);
        Commands(run).tell(&self.task, &self.because);
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_skills(self.skills.values())
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        let because = self.because.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(Line::new(match because.is_empty() {
            true => format!("{}: retried", self.task),
            false => format!("{}: retried, because {because}", self.task),
        }))
    }
}
