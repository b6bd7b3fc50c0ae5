//! The event `list_drafted`.

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair};
use crate::record::{Beside, CallKey};
use crate::run::Run;
use crate::run::lists::check_draft;
use crate::run::replies::Replies;
use crate::nouns::TaskList;

use super::{Checked, Recorded};

/// A list was read in which tasks have no skill. Each task gets a skill before the list is adopted (spec 2.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListDrafted {
    /// The call.
    pub key: CallKey,
    /// The list.
    pub list: TaskList,
    /// The parts of the reply beside the tasks.
    #[serde(flatten)]
    pub beside: Beside,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// Issues that do not refuse the list.
    pub issues: Vec<Issue>,
}

impl Recorded for ListDrafted {
    fn check(&self, run: &Run) -> Checked {
        check_draft(run, &self.key, &self.list)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Replies(run).drafted(&self.key, (&self.list, &self.beside), &self.repairs, &self.issues);
    }
}
