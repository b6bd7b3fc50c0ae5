//! The event `edit_held`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::run::lists::Lists;
use crate::nouns::Slug;

use super::{Recorded, When};

/// An edit of the sheet is faulty. Until it is corrected, these tasks do not start, and the run does not end by
/// itself (spec 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EditHeld {
    /// The tasks that the edit changes or removes. `None` if the sheet is correct again.
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
