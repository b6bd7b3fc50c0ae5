//! The event `joined`.

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair};
use crate::record::CallKey;
use crate::run::Run;
use crate::run::joins::Joins;
use crate::nouns::Phase;

use super::check::Check;
use super::{Checked, Recorded};

/// The reply that answers the request from several results was read (spec 2.15).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Joined {
    /// The call.
    pub key: CallKey,
    /// The answer.
    pub answer: String,
    /// The parts of the answer that nothing in its prompt supports (spec 3.14).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// Warnings.
    pub issues: Vec<Issue>,
}

impl Recorded for Joined {
    fn check(&self, run: &Run) -> Checked {
        Check(run).to_be_read(&self.key, self.key.phase == Phase::Join)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Joins(run).joined(&self.key, (&self.answer, &self.unsupported), &self.repairs, &self.issues);
    }
}
