//! Effects on their way: those in flight, and those that the shell is to begin.

use std::collections::BTreeSet;

use crate::record::EffectKey;
use crate::spec::Slug;

use super::effect::Effect;
use super::gates::gate_names;

/// Effects that were started and have no result yet, and what was derived last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Flights {
    in_flight: BTreeSet<EffectKey>,
    /// In flight or not: what is outstanding.
    pending_effects: Vec<Effect>,
    /// Calls that are pending as well, and wait for what others reserved of a budget.
    blocked_on_budget: Vec<EffectKey>,
}

impl Flights {
    pub fn contains(&self, key: &EffectKey) -> bool {
        self.in_flight.contains(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = &EffectKey> {
        self.in_flight.iter()
    }

    pub fn start(&mut self, key: EffectKey) {
        self.in_flight.insert(key);
    }

    /// Its result came, or nobody waits for it any more.
    pub fn end(&mut self, key: &EffectKey) {
        self.in_flight.remove(key);
    }

    /// All of it, for a resume: nothing is in flight any more.
    pub fn settle(&mut self) -> BTreeSet<EffectKey> {
        std::mem::take(&mut self.in_flight)
    }

    /// Gives up what the rule names.
    pub fn abort(&mut self, goes: impl Fn(&EffectKey) -> bool) {
        self.in_flight.retain(|key| !goes(key));
    }

    pub fn pending(&self) -> &[Effect] {
        &self.pending_effects
    }

    pub fn is_pending(&self, key: &EffectKey) -> bool {
        self.pending_effects.iter().any(|effect| effect.key() == *key)
    }

    pub fn is_blocked_on_budget(&self, key: &EffectKey) -> bool {
        self.blocked_on_budget.contains(key)
    }

    /// What is to be done from now on.
    pub fn set_pending(&mut self, effects: Vec<Effect>, blocked_on_budget: Vec<EffectKey>) {
        (self.pending_effects, self.blocked_on_budget) = (effects, blocked_on_budget);
    }

    /// Applies in flight.
    pub fn has_applies(&self) -> bool {
        self.in_flight.iter().any(|key| matches!(key, EffectKey::Apply { .. }))
    }

    /// An apply in flight outlives its task (spec 3.10), which may not begin anew meanwhile.
    pub fn applies_for(&self, slug: &Slug) -> bool {
        self.in_flight.iter().any(|key| matches!(key, EffectKey::Apply { task, .. } if task == slug))
    }

    /// Whether anything of a task is in flight.
    pub fn works_for(&self, slug: &Slug) -> bool {
        self.in_flight.iter().any(|key| works_for(key, slug))
    }

    /// Whether anything of a task is in flight that no person is asked about.
    pub fn works_by_itself(&self, slug: &Slug) -> bool {
        let asks = |key: &EffectKey| matches!(key, EffectKey::Gate(_) | EffectKey::Question { .. });
        self.applies_for(slug) || self.in_flight.iter().any(|key| works_for(key, slug) && !asks(key))
    }

    /// Gives up what a task has in flight. An apply is never abandoned: nothing may be applied half (spec 3.10).
    pub fn abort_task(&mut self, slug: &Slug) {
        self.abort(|key| works_for(key, slug));
    }
}

/// Whether the key belongs to a unit of the task. Applies outlive it (spec 3.10).
fn works_for(key: &EffectKey, slug: &Slug) -> bool {
    match key {
        EffectKey::Ask(call) => call.task.as_ref() == Some(slug),
        EffectKey::Tool { task, .. } | EffectKey::Question { task, .. } | EffectKey::Try { task, .. } => task == slug,
        EffectKey::Gate(gate) => gate_names(gate, slug),
        _ => false,
    }
}
