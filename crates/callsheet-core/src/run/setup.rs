//! The setup of a run: its name, its beginning, its settings, its tools, and the prompt files that it used.

use std::collections::BTreeMap;

use crate::nouns::{RunId, Settings};
use crate::record::{Entry, PromptFile, ToolPolicy};

use super::state::Stage;

/// The setup of a run. Empty before `RunStarted`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Setup {
    id: Option<RunId>,
    entry: Option<Entry>,
    settings: Settings,
    tools: BTreeMap<String, ToolPolicy>,
    /// The prompt files by key, each with the content of its last use (spec 8.1).
    prompts: BTreeMap<String, PromptFile>,
    /// The run whose replies calls may reuse.
    reused: Option<RunId>,
}

impl Setup {
    pub fn start(&mut self, run: &RunId, entry: &Entry, settings: &Settings, tools: &BTreeMap<String, ToolPolicy>) {
        self.id = Some(run.clone());
        self.entry = Some(entry.clone());
        self.settings = settings.clone();
        self.tools.clone_from(tools);
    }

    /// Allows calls from here on to reuse the replies of this run.
    pub fn reuse(&mut self, run: &RunId) {
        self.reused = Some(run.clone());
    }

    /// The run whose replies calls may reuse.
    pub fn reused(&self) -> Option<&RunId> {
        self.reused.as_ref()
    }

    pub fn id(&self) -> Option<&RunId> {
        self.id.as_ref()
    }

    pub fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    /// Replaces a prompt for which no list was ever made.
    pub fn ask_instead(&mut self, prompt: &str) {
        self.entry = Some(Entry::Prompt { prompt: prompt.to_owned() });
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets the settings from here on.
    pub fn set(&mut self, settings: &Settings) {
        self.settings = settings.clone();
    }

    /// Raises the bound of a limit of the run, by its name, from here on.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a value above the range becomes the largest count"
    )]
    pub fn raise_limit(&mut self, limit: &str, max: f64) {
        let limits = &mut self.settings.limits;
        match limit {
            "max_calls" => limits.max_calls = max as u32,
            "max_tokens" => limits.max_tokens = Some(max as u64),
            // A person who raises it also goes beyond what the limit of a day left.
            "max_cost_usd" => (limits.max_cost_usd, limits.day_share_usd) = (Some(max), None),
            "run_timeout_seconds" => limits.run_timeout_seconds = Some(max as u64),
            _ => {}
        }
    }

    /// The registered tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = (&str, ToolPolicy)> {
        self.tools.iter().map(|(name, policy)| (name.as_str(), *policy))
    }

    /// The policy of a tool (spec 11.1).
    pub fn policy(&self, tool: &str) -> ToolPolicy {
        self.tools.get(tool).copied().unwrap_or_default()
    }

    /// Whether a tool is registered that might do more than was approved.
    pub fn has_unheld_tools(&self) -> bool {
        self.tools.values().any(|policy| policy.unheld)
    }

    pub fn prompts(&self) -> &BTreeMap<String, PromptFile> {
        &self.prompts
    }

    pub fn use_prompts(&mut self, prompts: &BTreeMap<String, PromptFile>) {
        self.prompts.extend(prompts.iter().map(|(key, file)| (key.clone(), file.clone())));
    }

    /// The stage of a run that has no list yet.
    pub fn stage_without_list(&self) -> Stage {
        match self.entry {
            Some(Entry::Prompt { .. }) => Stage::Prepare,
            _ => Stage::AwaitList,
        }
    }
}
