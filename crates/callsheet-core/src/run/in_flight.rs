//! Pending effects: those in flight, and those that the driver must start.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::Slug;
use crate::record::EffectKey;

use super::effect::Effect;
use super::gates::gate_names;
use super::places::Place;
use super::scheduler::Work;

/// The effects that were started and have no result yet, and the pending effects that were derived last.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    in_flight: BTreeSet<EffectKey>,
    under_way: UnderWay,
    /// The places of tasks that may have a slot and whose effects are not all under way. `None` if any task may.
    awake: Option<BTreeSet<Place>>,
    /// All other pending effects, in flight or not.
    pending: Vec<Effect>,
    /// Calls that are also pending, and wait for what other calls have reserved of a budget.
    blocked_on_budget: Vec<EffectKey>,
    /// A counter of how often an effect in flight may have stopped being pending without a result.
    losses: u64,
}

/// The pending effects of tasks that have nothing else to start. All of them are in flight. They stay as they were when
/// they were started, until their task or the state that all tasks share changes.
#[derive(Clone, Debug, Default)]
struct UnderWay {
    /// By the place of the task.
    effects: BTreeMap<Place, Vec<Effect>>,
    keys: BTreeSet<EffectKey>,
}

impl UnderWay {
    fn add(&mut self, place: Place, effects: Vec<Effect>) {
        self.take(place);
        self.keys.extend(effects.iter().map(Effect::key));
        self.effects.insert(place, effects);
    }

    fn take(&mut self, place: Place) -> Vec<Effect> {
        let effects = self.effects.remove(&place).unwrap_or_default();
        for effect in &effects {
            self.keys.remove(&effect.key());
        }
        effects
    }

    fn iter(&self) -> impl Iterator<Item = &Effect> {
        self.effects.values().flatten()
    }
}

/// The content of effects under way dates from their start, so equality compares only which effects there are.
impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        let same = self.in_flight == other.in_flight && self.blocked_on_budget == other.blocked_on_budget;
        same && self.pending == other.pending && self.under_way.keys == other.under_way.keys
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

    /// Removes an effect, because its result came or nobody waits for it any more.
    pub fn end(&mut self, key: &EffectKey) {
        self.in_flight.remove(key);
    }

    /// Removes all effects in flight for a resume, and returns them.
    pub fn settle(&mut self) -> BTreeSet<EffectKey> {
        self.losses += 1;
        std::mem::take(&mut self.in_flight)
    }

    /// Drops the effects for which `goes` is true, and returns them.
    pub fn abort(&mut self, goes: impl Fn(&EffectKey) -> bool) -> Vec<EffectKey> {
        let given_up: Vec<EffectKey> = self.in_flight.iter().filter(|key| goes(key)).cloned().collect();
        for key in &given_up {
            self.in_flight.remove(key);
        }
        self.losses += u64::from(!given_up.is_empty());
        given_up
    }

    /// The outstanding effects, in flight or not.
    pub fn pending(&self) -> impl Iterator<Item = &Effect> {
        self.under_way.iter().chain(&self.pending)
    }

    /// The outstanding effects that are not in flight.
    pub fn to_begin(&self) -> impl Iterator<Item = &Effect> {
        self.pending.iter().filter(|effect| !self.in_flight.contains(&effect.key()))
    }

    pub fn is_pending(&self, key: &EffectKey) -> bool {
        self.under_way.keys.contains(key) || self.pending.iter().any(|effect| effect.has_key(key))
    }

    pub fn is_blocked_on_budget(&self, key: &EffectKey) -> bool {
        self.blocked_on_budget.contains(key)
    }

    /// The places of tasks that may have a slot and whose effects are not all under way. `None` if any task may.
    pub fn awake(&self) -> Option<&BTreeSet<Place>> {
        self.awake.as_ref()
    }

    /// The number of effects that are under way.
    pub fn count_under_way(&self) -> usize {
        self.under_way.keys.len()
    }

    /// Makes the next schedule derive the pending effects of the task at this place again, because the task changed.
    pub fn look_again_at(&mut self, place: Place) {
        self.pending.extend(self.under_way.take(place));
        self.awake.iter_mut().for_each(|awake| awake.extend([place]));
    }

    /// Makes the next schedule derive all pending effects again, because the state that all tasks share changed.
    pub fn look_again(&mut self) {
        self.under_way = UnderWay::default();
        self.awake = None;
        self.losses += 1;
    }

    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// Sets the pending effects beside those that stay under way.
    pub fn set_pending(&mut self, work: Work) {
        let former = std::mem::replace(&mut self.pending, work.effects);
        self.blocked_on_budget = work.waiting;
        if let Some(awake) = work.awake {
            self.awake = Some(awake);
        }
        let mut kept: BTreeSet<EffectKey> = self.pending.iter().map(Effect::key).collect();
        for (place, effects) in work.under_way {
            kept.extend(effects.iter().map(Effect::key));
            self.under_way.add(place, effects);
        }
        // What was under way before still is.
        let mut former = former.iter().map(Effect::key);
        let lost = former.any(|key| self.in_flight.contains(&key) && !kept.contains(&key));
        self.losses += u64::from(lost);
    }

    /// Whether applies are in flight.
    pub fn has_applies(&self) -> bool {
        self.in_flight.iter().any(|key| matches!(key, EffectKey::Apply { .. }))
    }

    /// Whether an apply of the task is in flight. An apply outlives its task (spec 3.10), which may not begin again
    /// meanwhile.
    pub fn applies_for(&self, slug: &Slug) -> bool {
        self.in_flight.iter().any(|key| matches!(key, EffectKey::Apply { task, .. } if task == slug))
    }

    /// Whether anything of a task is in flight.
    pub fn works_for(&self, slug: &Slug) -> bool {
        self.in_flight.iter().any(|key| works_for(key, slug))
    }

    /// Whether something of a task is in flight other than a question to a person.
    pub fn works_by_itself(&self, slug: &Slug) -> bool {
        let asks = |key: &EffectKey| matches!(key, EffectKey::Gate(_) | EffectKey::Question { .. });
        self.applies_for(slug) || self.in_flight.iter().any(|key| works_for(key, slug) && !asks(key))
    }

    /// Drops everything of the task that is in flight, except applies, because changes must not be applied by half
    /// (spec 3.10).
    pub fn abort_task(&mut self, slug: &Slug) -> Vec<EffectKey> {
        self.abort(|key| works_for(key, slug))
    }
}

/// Whether the key belongs to a unit of the task. Applies outlive their task (spec 3.10).
fn works_for(key: &EffectKey, slug: &Slug) -> bool {
    match key {
        EffectKey::Ask(call) => call.task.as_ref() == Some(slug),
        EffectKey::Tool { task, .. } | EffectKey::Question { task, .. } | EffectKey::Try { task, .. } => task == slug,
        EffectKey::Gate(gate) => gate_names(gate, slug),
        _ => false,
    }
}
