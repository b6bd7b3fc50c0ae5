//! The event `routed`.

use serde::{Deserialize, Serialize};

use crate::issue::Issue;
use crate::record::CallKey;
use crate::run::Run;
use crate::run::replies::Replies;
use crate::nouns::Phase;

use super::check::Check;
use super::{Checked, Recorded};

/// The reply of a routing call was read (spec 2.3). If the request is a single task, its list is adopted instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Routed {
    /// The call.
    pub key: CallKey,
    /// The skill. `None` if the reply names none or several tasks are needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The files that the request asks for, by their paths in the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Why the reply names no skill.
    pub issues: Vec<Issue>,
}

impl Recorded for Routed {
    fn check(&self, run: &Run) -> Checked {
        // The last skill of a list completes it.
        let completes = self.key.run.is_some() && run.unrouted_tasks().nth(1).is_none();
        Check(run).to_be_read(&self.key, self.key.phase == Phase::Route && !completes)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Replies(run).routed(&self.key, self.skill.as_deref(), &self.writes, &self.issues);
    }
}
