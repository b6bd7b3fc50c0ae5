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
}

impl Recorded for TaskRetried {
    fn check(&self, run: &Run) -> Checked {
        check_redo(run, &self.task, Redo::Again, &self.skills)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Commands(run).redo(&self.task, Redo::Again, &self.skills);
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
