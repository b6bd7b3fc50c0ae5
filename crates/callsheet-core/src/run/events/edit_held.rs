//! The event `edit_held`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::run::lists::Lists;
use crate::nouns::Slug;

use super::{Recorded, When};

/// An edit of the sheet has errors: until it is right, nothing of these tasks starts, and the run does not end by
/// itself (spec 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EditHeld {
    /// Tasks that the edit changes or lacks; `None`: the sheet is right again.
    pub tasks: Option<BTreeSet<Slug>>,
}

impl Recorded for EditHeld {
    fn when(&self) -> When {
        When::Always
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Lists(run).hold(self.tasks.as_ref());
    }
}
