//! The event `run_started`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Entry, ToolPolicy};
use crate::run::Run;
use crate::nouns::{RunId, Settings};

use super::{Line, Recorded, When};

/// The first event of every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunStarted {
    /// The name of the run.
    pub run: RunId,
    /// How the run begins.
    pub entry: Entry,
    /// The settings.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub settings: Settings,
    /// The policies of the registered tools, by canonical name. A tool that is not listed counts as `Write`, `Once`
    /// (spec 11.1).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolPolicy>,
}

impl Recorded for RunStarted {
    fn when(&self) -> When {
        When::First
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        run.setup.start(&self.run, &self.entry, &self.settings, &self.tools);
        run.progress.go(run.setup.stage_without_list());
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::new(format!("run {}", self.run)))
    }
}
