//! The event `prompts_used`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::PromptFile;
use crate::run::Run;

use super::Recorded;

/// Prompt templates are used for the first time in this run, or with another text than before (spec 8.1). The event
/// is recorded before the calls that use them. A resume records those that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PromptsUsed {
    /// The source of each template and the hash of its text, by key.
    pub prompts: BTreeMap<String, PromptFile>,
}

impl Recorded for PromptsUsed {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        run.setup.use_prompts(&self.prompts);
    }
}
