//! The event `sheet_rendered`.

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::nouns::BlobId;

use super::{Recorded, When};

/// `sheet.md` is about to be written with this content. A file with this content does not count as edited (spec
/// 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SheetRendered {
    /// The hash of the content.
    pub hash: BlobId,
}

impl Recorded for SheetRendered {
    fn when(&self) -> When {
        When::Always
    }

    fn concerns_one_task(&self) -> bool {
        true
    }

    fn apply(&self, run: &mut Run, at: u64) {
        run.sheet.note_file(&self.hash, at);
    }
}
