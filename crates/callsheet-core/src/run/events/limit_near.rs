//! The event `limit_near`.

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::nouns::Slug;
use crate::units::amount;

use super::{Line, Recorded};

/// Most of a limit is used. The limit is of the run or of a task of its tree. The event is recorded once for each
/// limit and bound, so that viewers report it once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitNear {
    /// The task of the tree. `None` for a limit of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Slug>,
    /// The limit, by the name by which a person sets it.
    pub limit: String,
    /// How much is used, in the unit of the limit (seconds for times).
    pub used: f64,
    /// The maximum.
    pub max: f64,
}

impl Recorded for LimitNear {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        run.progress.notified_mut().note_near(self.task.as_ref(), &self.limit, self.max);
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        let words = limit_words(self.task.as_ref(), &self.limit, self.used, self.max);
        Some(Line::new(format!("note: {words}")))
    }
}

/// The words for a limit that is nearly used up: `limit max_calls: 8 of 10 used`, `limit max_turns of review: 4 of 5
/// used`.
pub fn limit_words(task: Option<&Slug>, limit: &str, used: f64, max: f64) -> String {
    let of = task.map(|task| format!(" of {task}")).unwrap_or_default();
    format!("limit {limit}{of}: {} of {} used", amount(used), amount(max))
}
