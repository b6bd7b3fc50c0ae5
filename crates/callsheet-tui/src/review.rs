//! A change that a person decides hunk by hunk (spec 11.4).

use std::collections::BTreeMap;

use callsheet_app::RunCommand;
use callsheet_core::record::EffectKey;
use callsheet_core::view::board::Ask;
use callsheet_format::edit::{Hunk, HunkVerdict};

/// The verdicts so far, and the current hunk.
pub struct Review {
    /// The gate.
    pub ask: Ask,
    /// The index of the current hunk.
    pub at: usize,
    /// The verdicts by number.
    pub verdicts: BTreeMap<u32, HunkVerdict>,
}

impl Review {
    /// Starts with the first hunk.
    pub fn new(ask: Ask) -> Self {
        Self { ask, at: 0, verdicts: BTreeMap::new() }
    }

    /// Sets the verdict on the current hunk and goes on to the next.
    pub fn decide(&mut self, hunks: &[Hunk], verdict: HunkVerdict) {
        if let Some(hunk) = hunks.get(self.at) {
            self.verdicts.insert(hunk.number, verdict);
            self.go(hunks, 1);
        }
    }

    /// Keeps the current hunk, unchanged or as edited.
    pub fn keep(&mut self, hunks: &[Hunk]) {
        let verdict = hunks.get(self.at).and_then(|hunk| self.verdicts.get(&hunk.number)).cloned();
        let edited = verdict.filter(|verdict| matches!(verdict, HunkVerdict::Edited(_)));
        self.decide(hunks, edited.unwrap_or(HunkVerdict::Keep));
    }

    /// Goes forward or back by some hunks.
    pub fn go(&mut self, hunks: &[Hunk], by: isize) {
        self.at = self.at.saturating_add_signed(by).min(hunks.len().saturating_sub(1));
    }

    /// Whether every hunk has a verdict.
    pub fn is_whole(&self, hunks: &[Hunk]) -> bool {
        hunks.iter().all(|hunk| self.verdicts.contains_key(&hunk.number))
    }

    /// Whether a hunk is refused, so that a reason is asked for.
    pub fn refuses(&self) -> bool {
        self.verdicts.values().any(|verdict| *verdict == HunkVerdict::Refuse)
    }

    /// The word for a verdict. Empty if there is none.
    pub fn word(&self, number: u32) -> &'static str {
        match self.verdicts.get(&number) {
            Some(HunkVerdict::Keep) => "kept",
            Some(HunkVerdict::Refuse) => "rejected",
            Some(HunkVerdict::Edited(_)) => "edited",
            None => "",
        }
    }

    /// The command for all verdicts.
    pub fn command(&self, because: String) -> Option<RunCommand> {
        let EffectKey::Gate(gate) = &self.ask.key else { return None };
        Some(RunCommand::keep(gate.n, &self.verdicts, because))
    }
}
