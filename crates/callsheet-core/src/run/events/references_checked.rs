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

/// The references of a task were resolved. Issues of severity error mean that they are not valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReferencesChecked {
    /// Task.
    pub task: Slug,
    /// The number of the check, as in the effect. It is written as `number`, because `n` is the number of the log
    /// entry.
    #[serde(rename = "number")]
    pub n: u32,
    /// The stage at which they were checked.
    pub stage: ReferenceStage,
    /// The issues found.
    pub issues: Vec<Issue>,
    /// The hashes of the contents of valid references, by target as written in a link.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, BlobId>,
    /// Set if the references together are too large for one prompt, so that each is read by itself (spec 10.1).
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

    /// The check may finish the task with results of its earlier executions.
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
