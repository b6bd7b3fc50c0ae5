//! Effects on their way: those in flight, and those that the shell is to begin.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::Slug;
use crate::record::EffectKey;

use super::effect::Effect;
use super::gates::gate_names;
use super::places::Place;

/// Effects that were started and have no result yet, and what was derived last.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    in_flight: BTreeSet<EffectKey>,
    /// Pending effects of tasks of which nothing else is to be begun, all of them in flight, by the places of the tasks. They
    /// are as they were when they were begun, and stay until something happens to their task or to what all share.
    under_way: BTreeMap<Place, Vec<Effect>>,
    /// All other pending effects, in flight or not.
    pending: Vec<Effect>,
    /// Calls that are pending as well, and wait for what others reserved of a budget.
    blocked_on_budget: Vec<EffectKey>,
    /// Counts how often something in flight may have ceased to be pending without a result.
    losses: u64,
}

/// What is under way is as it was when it was begun; only that it is matters.
impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        let keys =
            |in_flight: &Self| -> Vec<EffectKey> { in_flight.under_way.values().flatten().map(Effect::key).collect() };
        let same = self.in_flight == other.in_flight && self.blocked_on_budget == other.blocked_on_budget;
        same && self.pending == other.pending && keys(self) == keys(other)
    }
}

impl InFlight {
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
        self.losses += 1;
        std::mem::take(&mut self.in_flight)
    }

    /// Gives up what the rule names, and returns it.
    pub fn abort(&mut self, goes: impl Fn(&EffectKey) -> bool) -> Vec<EffectKey> {
        let given_up: Vec<EffectKey> = self.in_flight.iter().filter(|key| goes(key)).cloned().collect();
        for key in &given_up {
            self.in_flight.remove(key);
        }
        self.losses += u64::from(!given_up.is_empty());
        given_up
    }

    /// What is outstanding, in flight or not.
    pub fn pending(&self) -> impl Iterator<Item = &Effect> {
        self.under_way.values().flatten().chain(&self.pending)
    }

    /// What is outstanding and not in flight.
    pub fn to_begin(&self) -> impl Iterator<Item = &Effect> {
        self.pending.iter().filter(|effect| !self.in_flight.contains(&effect.key()))
    }

    pub fn is_pending(&self, key: &EffectKey) -> bool {
        self.pending().any(|effect| effect.has_key(key))
    }

    pub fn is_blocked_on_budget(&self, key: &EffectKey) -> bool {
        self.blocked_on_budget.contains(key)
    }

    /// Whether what a task has pending is all under way, by the place of the task.
    pub fn is_under_way(&self, place: Place) -> bool {
        self.under_way.contains_key(&place)
    }

    /// Pieces of work that are under way.
    pub fn count_under_way(&self) -> usize {
        self.under_way.values().map(Vec::len).sum()
    }

    /// Something happened to the task at this place: what it has pending is derived anew.
    pub fn look_again_at(&mut self, place: Place) {
        self.pending.extend(self.under_way.remove(&place).into_iter().flatten());
    }

    /// Something happened to what all tasks share.
    pub fn look_again(&mut self) {
        self.under_way.clear();
        self.losses += 1;
    }

    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// What is to be done from now on, beside what stays under way.
    pub fn set_pending(
        &mut self,
        effects: Vec<Effect>,
        under_way: Vec<(Place, Vec<Effect>)>,
        blocked_on_budget: Vec<EffectKey>,
    ) {
        let former = std::mem::replace(&mut self.pending, effects);
        self.blocked_on_budget = blocked_on_budget;
        self.under_way.extend(under_way);
        let mut former = former.iter().map(Effect::key);
        let lost = former.any(|key| self.in_flight.contains(&key) && !self.is_pending(&key));
        self.losses += u64::from(lost);
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
    pub fn abort_task(&mut self, slug: &Slug) -> Vec<EffectKey> {
        self.abort(|key| works_for(key, slug))
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
