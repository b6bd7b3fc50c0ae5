//! The event `skills_edited`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::run::commands::Commands;
use crate::nouns::{BlobId, SkillPolicy};

use super::{blobs, Recorded, Stale};

/// Skills were edited while the run rested. Tasks that have not begun use their current versions (spec 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SkillsEdited {
    /// The current policies.
    pub skills: BTreeMap<String, SkillPolicy>,
}

impl Recorded for SkillsEdited {
    fn apply(&self, run: &mut Run, _at: u64) {
        Commands(run).use_edited(&self.skills);
    }

    fn blobs(&self) -> Vec<&BlobId> {
        blobs::of_skills(self.skills.values())
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }
}
