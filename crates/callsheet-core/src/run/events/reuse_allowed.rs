//! The event `reuse_allowed`.

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::nouns::RunId;

use super::{Line, Recorded};

/// A person lets calls of this run reuse the replies of another run's calls with exactly the same request (spec
/// 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReuseAllowed {
    /// The other run.
    pub run: RunId,
}

impl Recorded for ReuseAllowed {
    fn apply(&self, run: &mut Run, _at: u64) {
        run.setup.reuse(&self.run);
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::new(format!("reuses replies of {} for equal requests", self.run)))
    }
}
