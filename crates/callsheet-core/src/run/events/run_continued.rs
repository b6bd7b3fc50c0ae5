//! The event `run_continued`.

use serde::{Deserialize, Serialize};

use crate::run::{Reject, Run, Stage};
use crate::run::continuation::Continuation;
use crate::nouns::Settings;

use super::check::require;
use super::{Checked, Line, Recorded, When};

/// A person follows up on an ended run (spec 2.17). The run is resumed, and a model makes a list from the text. The
/// text counts as a follow-up once that list is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunContinued {
    /// The text, verbatim.
    pub text: String,
    /// The settings from here on.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub settings: Settings,
}

impl Recorded for RunContinued {
    fn when(&self) -> When {
        When::Always
    }

    fn needs_list(&self) -> bool {
        true
    }

    fn takes_up(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        require(matches!(run.stage(), Stage::Concluded(_) | Stage::Continue), || Reject::NotEnded)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Continuation(run).ask(&self.text, &self.settings);
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::new("follow-up: ").quote(&self.text, 200))
    }
}
