//! What a run was set up with: its name, how it begins, settings, tools, and the prompt files it used.

use std::collections::BTreeMap;

use crate::nouns::{RunId, Settings};
use crate::record::{Entry, PromptFile, ToolPolicy};

use super::state::Stage;

/// What a run was set up with. Empty before `RunStarted`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Setup {
    id: Option<RunId>,
    entry: Option<Entry>,
    settings: Settings,
    tools: BTreeMap<String, ToolPolicy>,
    /// Prompt files by key, as they were when they were used last (spec 8.1).
    prompts: BTreeMap<String, PromptFile>,
    /// The run whose replies calls may have.
    reused: Option<RunId>,
}

impl Setup {
    pub fn start(&mut self, run: &RunId, entry: &Entry, settings: &Settings, tools: &BTreeMap<String, ToolPolicy>) {
        self.id = Some(run.clone());
        self.entry = Some(entry.clone());
        self.settings = settings.clone();
        self.tools.clone_from(tools);
    }

    /// Calls may have replies of this run from here on.
    pub fn reuse(&mut self, run: &RunId) {
        self.reused = Some(run.clone());
    }

    /// The run whose replies calls may have.
    pub fn reused(&self) -> Option<&RunId> {
        self.reused.as_ref()
    }

    pub fn id(&self) -> Option<&RunId> {
        self.id.as_ref()
    }

    pub fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    /// Another text takes the place of a prompt for which there was never a list.
    pub fn ask_instead(&mut self, prompt: &str) {
        self.entry = Some(Entry::Prompt { prompt: prompt.to_owned() });
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Settings in force from here on.
    pub fn set(&mut self, settings: &Settings) {
        self.settings = settings.clone();
    }

    /// A limit of the run, by its name, has a higher bound from here on.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "more than any count is the most there is"
    )]
    pub fn raise_limit(&mut self, limit: &str, max: f64) {
        let limits = &mut self.settings.limits;
        match limit {
            "max_calls" => limits.max_calls = max as u32,
            "max_tokens" => limits.max_tokens = Some(max as u64),
            "max_cost_usd" => limits.max_cost_usd = Some(max),
            "run_timeout_seconds" => limits.run_timeout_seconds = Some(max as u64),
            _ => {}
        }
    }

    /// Registered tools, in the order of names.
    pub fn tools(&self) -> impl Iterator<Item = (&str, ToolPolicy)> {
        self.tools.iter().map(|(name, policy)| (name.as_str(), *policy))
    }

    /// What is known of a tool (spec 11.1).
    pub fn policy(&self, tool: &str) -> ToolPolicy {
        self.tools.get(tool).copied().unwrap_or_default()
    }

    /// Whether nothing holds calls of some tool to what was approved.
    pub fn has_unheld_tools(&self) -> bool {
        self.tools.values().any(|policy| policy.unheld)
    }

    pub fn prompts(&self) -> &BTreeMap<String, PromptFile> {
        &self.prompts
    }

    pub fn use_prompts(&mut self, prompts: &BTreeMap<String, PromptFile>) {
        self.prompts.extend(prompts.iter().map(|(key, file)| (key.clone(), file.clone())));
    }

    /// What a run does that has no list yet.
    pub fn stage_without_list(&self) -> Stage {
        match self.entry {
            Some(Entry::Prompt { .. }) => Stage::Prepare,
            _ => Stage::AwaitList,
        }
    }
}
