//! The event `run_resumed`.

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::run::clock::Reuse;
use crate::run::resume::Resume;
use crate::nouns::Settings;
use crate::units::{counted, dollars, duration};

use super::{Line, Recorded, When};

/// A process resumes the run: what was in flight is settled (spec 2.18), waiting ends, and rounds are counted from 1
/// again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunResumed {
    /// The settings from here on.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub settings: Settings,
}

impl Recorded for RunResumed {
    fn when(&self) -> When {
        When::Always
    }

    fn takes_up(&self) -> bool {
        true
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Resume(run).resume(&self.settings);
    }

    fn line(&self, run: &Run) -> Option<Line> {
        let words = run.reused().and_then(|reuse| reuse_words(&reuse));
        let told = words.map(|words| format!(": {words}")).unwrap_or_default();
        Some(Line::new(format!("resumed{told}")))
    }
}

/// The words for what a resume did not have to repeat: `reuses 7 calls, repeats 1; saved $0.04 and 2 min 05 s`.
/// `None` if there is nothing.
pub fn reuse_words(reuse: &Reuse) -> Option<String> {
    if reuse.calls == 0 {
        return None;
    }
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let repeats = if reuse.repeated > 0 { format!(", repeats {}", reuse.repeated) } else { String::new() };
    let money = if reuse.saved_usd > 0.0 { format!("{} and ", dollars(reuse.saved_usd)) } else { String::new() };
    Some(format!("reuses {}{repeats}; saved {money}{}", counted(count(reuse.calls), "call"), duration(reuse.saved_ms)))
}
