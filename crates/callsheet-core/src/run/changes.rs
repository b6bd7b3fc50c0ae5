//! Change sets that are not on disk yet, and how often files may have changed so far.

use std::collections::BTreeMap;

use crate::nouns::{ExecutionId, Slug};
use crate::record::{ChangeSet, CheckReport, EffectKey, Gate, GateKind, RefusedPart};

use super::effect::Effect;

/// Change sets on their way to the disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChangeSets {
    sets: BTreeMap<SetKey, PendingSet>,
    /// Counts what may have changed files: applied sets, calls of tools that do not only read, resumes.
    workspace_revision: u32,
}

/// Where a change set came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetSource {
    /// The accepted reply of the run.
    Reply,
    /// The tool call with this id.
    Call(String),
}

/// Where a change set stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetStage {
    /// To be checked on a copy of the project.
    Unchecked,
    /// At the before-apply gate of this number.
    Gated(u32),
    /// To be applied.
    Approved,
    /// Its apply was interrupted and must be taken back before anything else.
    RollBack,
}

/// Identity of a change set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SetKey {
    pub task: Slug,
    pub run: ExecutionId,
    pub set: u32,
}

/// A change set that is not on disk yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingSet {
    pub changes: ChangeSet,
    pub source: SetSource,
    pub stage: SetStage,
    /// What a person refused of it.
    pub refused: Option<RefusedPart>,
    /// Its task started anew meanwhile.
    pub stale: bool,
    /// How its check came out, once it was checked.
    pub check: Option<CheckReport>,
}

impl ChangeSets {
    pub fn revision(&self) -> u32 {
        self.workspace_revision
    }

    /// Files may have changed.
    pub fn note_change(&mut self) {
        self.workspace_revision = self.workspace_revision.saturating_add(1);
    }

    pub fn get(&self, key: &SetKey) -> Option<&PendingSet> {
        self.sets.get(key)
    }

    pub fn insert(&mut self, key: SetKey, set: PendingSet) {
        self.sets.insert(key, set);
    }

    /// It is on disk, or will never be.
    pub fn take(&mut self, key: &SetKey) -> Option<PendingSet> {
        self.sets.remove(key)
    }

    /// Those of one execution.
    pub fn of_execution(&self, task: &Slug, run: &ExecutionId) -> impl Iterator<Item = (&SetKey, &PendingSet)> {
        self.sets.iter().filter(move |(key, _)| key.task == *task && key.run == *run)
    }

    /// Whether changes of an execution wait for a person.
    pub fn waits_at_gate(&self, task: &Slug, run: &ExecutionId) -> bool {
        self.of_execution(task, run).any(|(_, set)| matches!(set.stage, SetStage::Gated(_)))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&SetKey, &PendingSet)> {
        self.sets.iter()
    }

    /// Whether a task has any.
    pub fn has_any_of(&self, task: &Slug) -> bool {
        self.sets.keys().any(|key| key.task == *task)
    }

    /// Open gates before applies.
    pub fn open_gates(&self) -> impl Iterator<Item = Gate> {
        self.sets.iter().filter_map(|(key, set)| match set.stage {
            SetStage::Gated(n) => {
                let (task, run) = (key.task.clone(), key.run.clone());
                Some(Gate { n, kind: GateKind::BeforeApply { task, run, set: key.set } })
            }
            _ => None,
        })
    }

    /// Interrupted applies, which are taken back before anything else (spec 2.18).
    pub fn roll_backs(&self) -> impl Iterator<Item = Effect> {
        let interrupted = self.sets.iter().filter(|(_, set)| set.stage == SetStage::RollBack);
        interrupted.map(|(key, set)| Effect::RollBack {
            task: key.task.clone(),
            run: key.run.clone(),
            set: key.set,
            changes: set.changes.clone(),
        })
    }

    /// Its check is over: it goes on to a gate, or to the disk.
    pub fn checked(&mut self, key: &SetKey, check: &CheckReport, stage: SetStage) {
        if let Some(set) = self.sets.get_mut(key) {
            set.check = Some(check.clone());
            set.stage = stage;
        }
    }

    pub fn approve(&mut self, key: &SetKey) {
        self.set_stage(key, SetStage::Approved);
    }

    /// The gate asks again, under another number.
    pub fn gate(&mut self, key: &SetKey, n: u32) {
        self.set_stage(key, SetStage::Gated(n));
    }

    pub fn set_stage(&mut self, key: &SetKey, stage: SetStage) {
        self.sets.get_mut(key).into_iter().for_each(|set| set.stage = stage);
    }

    /// What a person kept takes the place of the set, under its number (spec 11.4).
    pub fn keep_part(&mut self, key: &SetKey, kept: &ChangeSet, refused: &RefusedPart) {
        if let Some(set) = self.sets.get_mut(key) {
            set.changes = kept.clone();
            set.refused = Some(refused.clone());
            set.stage = SetStage::Approved;
        }
    }

    /// The process ended in the midst of an apply.
    pub fn interrupt(&mut self, apply: &EffectKey) {
        if let Some((_, set)) = self.sets.iter_mut().find(|(key, _)| key.apply() == *apply) {
            set.stage = SetStage::RollBack;
        }
    }

    /// An interrupted apply was taken back; it is made again if its task still wants it.
    pub fn rolled_back(&mut self, key: &SetKey, wanted: bool) {
        match self.sets.get(key) {
            Some(set) if wanted && !set.stale => self.approve(key),
            _ => {
                self.sets.remove(key);
            }
        }
    }

    /// What is to be taken back of a task that starts anew is taken back, and not applied again after it.
    pub fn make_stale(&mut self, task: &Slug) {
        for (_, set) in self.sets.iter_mut().filter(|(key, _)| key.task == *task) {
            set.stale = true;
        }
    }

    /// Gives up what of a task waits for a person. What is being applied, or taken back, stays.
    pub fn abort_task(&mut self, task: &Slug, is_in_flight: impl Fn(&EffectKey) -> bool) {
        self.sets.retain(|key, set| key.task != *task || set.stage == SetStage::RollBack || is_in_flight(&key.apply()));
    }
}

impl SetKey {
    pub fn attempt(&self) -> EffectKey {
        EffectKey::Try { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }

    pub fn apply(&self) -> EffectKey {
        EffectKey::Apply { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }

    pub fn roll_back(&self) -> EffectKey {
        EffectKey::RollBack { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }

    pub fn apply_effect(&self, changes: &ChangeSet) -> Effect {
        Effect::ApplyChanges { task: self.task.clone(), run: self.run.clone(), set: self.set, changes: changes.clone() }
    }
}

impl SetSource {
    /// The id of the tool call.
    pub fn call(&self) -> Option<&str> {
        match self {
            Self::Reply => None,
            Self::Call(id) => Some(id),
        }
    }
}
