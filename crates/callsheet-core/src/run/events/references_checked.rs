//! The event `references_checked`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::issue::Issue;
use crate::record::{Apart, EffectKey, ReferenceStage};
use crate::run::{Reject, Run};
use crate::run::steps::Steps;
use crate::run::task::ReferenceCheck;
use crate::nouns::{BlobId, Slug};
use crate::units::thousands;

use super::check::{require, Check};
use super::{Checked, Line, Recorded, Stale};

/// References of a task were resolved; issues of severity error mean that they do not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReferencesChecked {
    /// Task.
    pub task: Slug,
    /// Number of the check, as in the effect. Written as `number`: `n` is the fact's own.
    #[serde(rename = "number")]
    pub n: u32,
    /// When.
    pub stage: ReferenceStage,
    /// What was found.
    pub issues: Vec<Issue>,
    /// Hashes of what they hold, by target as written in a link; of those that hold.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, BlobId>,
    /// Together they hold more than one prompt has room for: each is read by itself (spec 10.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Apart>,
}

impl Recorded for ReferencesChecked {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        let pending = ReferenceCheck::Pending { n: self.n, stage: self.stage };
        let key = || Reject::NotInFlight(EffectKey::Check { task: self.task.clone(), n: self.n });
        require(Check(run).task(&self.task)?.check == pending, key)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        let mut steps = Steps(run);
        steps.check_ended(&self.task, self.stage, &self.issues);
        steps.note_contents(&self.task, &self.contents, self.apart);
    }

    /// The task may be done by what its runs came to before.
    fn stale(&self) -> Stale<'_> {
        Stale { sheet: false, task: Some(&self.task) }
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        let apart = self.apart?;
        Some(Line::new(format!(
            "note: {}: its references are too large for one prompt (about {} tokens, limit {}); reading them one by one, then one call over the parts",
            self.task,
            thousands(apart.tokens),
            thousands(apart.most.into())
        )))
    }
}
