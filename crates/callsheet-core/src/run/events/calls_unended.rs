//! The event `calls_unended`.

use serde::{Deserialize, Serialize};

use crate::nouns::{Slug, ToolCall};
use crate::run::Run;
use crate::run::unended::Unended;

use super::{Checked, Recorded, When};

/// The run that this one was forked from started calls after the fork that may not be repeated, and they did not end. A
/// person is asked before an equal call is made here (spec 2.18).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallsUnended {
    /// The calls, each with its task.
    pub calls: Vec<(Slug, ToolCall)>,
}

impl Recorded for CallsUnended {
    fn when(&self) -> When {
        When::Always
    }

    fn check(&self, _run: &Run) -> Checked {
        Ok(())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        self.calls.iter().for_each(|(task, call)| Unended(run).note(task, call));
    }
}
