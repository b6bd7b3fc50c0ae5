//! Change sets that are not on disk yet, and the revision of the workspace.

use std::collections::BTreeMap;

use crate::nouns::{ExecutionId, Slug};
use crate::record::{ChangeSet, CheckReport, EffectKey, Gate, GateKind, RefusedPart};

use super::effect::Effect;

/// The change sets that are not on disk yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChangeSets {
    sets: BTreeMap<SetKey, PendingSet>,
    /// Grows with each event that may have changed files: applied sets, calls of tools that do not only read,
    /// resumes.
    workspace_revision: u32,
}

/// The source of a change set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetSource {
    /// The accepted reply of the execution.
    Reply,
    /// The tool call with this id.
    Call(String),
}

/// The stage of a change set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetStage {
    /// It must be checked on a copy of the project.
    Unchecked,
    /// It waits at the before-apply gate with this number.
    Gated(u32),
    /// It must be applied.
    Approved,
    /// Its application was interrupted and must be rolled back before anything else.
    RollBack,
}

/// The identity of a change set.
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
    /// The part that a person refused.
    pub refused: Option<RefusedPart>,
    /// Whether the task has started again since.
    pub stale: bool,
    /// The result of its check, once it was checked.
    pub check: Option<CheckReport>,
}

impl ChangeSets {
    pub fn revision(&self) -> u32 {
        self.workspace_revision
    }

    /// Notes that files may have changed.
    pub fn note_change(&mut self) {
        self.workspace_revision = self.workspace_revision.saturating_add(1);
    }

    pub fn get(&self, key: &SetKey) -> Option<&PendingSet> {
        self.sets.get(key)
    }

    pub fn insert(&mut self, key: SetKey, set: PendingSet) {
        self.sets.insert(key, set);
    }

    /// Removes a change set that is on disk, or that will never be.
    pub fn take(&mut self, key: &SetKey) -> Option<PendingSet> {
        self.sets.remove(key)
    }

    /// The change sets of one execution.
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

    /// Whether a task has change sets.
    pub fn has_any_of(&self, task: &Slug) -> bool {
        self.sets.keys().any(|key| key.task == *task)
    }

    /// The open before-apply gates.
    pub fn open_gates(&self) -> impl Iterator<Item = Gate> {
        self.sets.iter().filter_map(|(key, set)| match set.stage {
            SetStage::Gated(n) => {
                let (task, run) = (key.task.clone(), key.run.clone());
                Some(Gate { n, kind: GateKind::BeforeApply { task, run, set: key.set } })
            }
            _ => None,
        })
    }

    /// The interrupted applications, which must be rolled back before anything else (spec 2.18).
    pub fn roll_backs(&self) -> impl Iterator<Item = Effect> {
        let interrupted = self.sets.iter().filter(|(_, set)| set.stage == SetStage::RollBack);
        interrupted.map(|(key, set)| Effect::RollBack {
            task: key.task.clone(),
            run: key.run.clone(),
            set: key.set,
            changes: set.changes.clone(),
        })
    }

    /// Notes the result of the check and moves the change set to its next stage.
    pub fn checked(&mut self, key: &SetKey, check: &CheckReport, stage: SetStage) {
        if let Some(set) = self.sets.get_mut(key) {
            set.check = Some(check.clone());
            set.stage = stage;
        }
    }

    pub fn approve(&mut self, key: &SetKey) {
        self.set_stage(key, SetStage::Approved);
    }

    /// Opens the gate again under another number.
    pub fn gate(&mut self, key: &SetKey, n: u32) {
        self.set_stage(key, SetStage::Gated(n));
    }

    pub fn set_stage(&mut self, key: &SetKey, stage: SetStage) {
        self.sets.get_mut(key).into_iter().for_each(|set| set.stage = stage);
    }

    /// Replaces the set by the part that the person kept, under the same number (spec 11.4).
    pub fn keep_part(&mut self, key: &SetKey, kept: &ChangeSet, refused: &RefusedPart) {
        if let Some(set) = self.sets.get_mut(key) {
            set.changes = kept.clone();
            set.refused = Some(refused.clone());
            set.stage = SetStage::Approved;
        }
    }

    /// Notes that the process ended while it applied the set.
    pub fn interrupt(&mut self, apply: &EffectKey) {
        if let Some((_, set)) = self.sets.iter_mut().find(|(key, _)| key.apply() == *apply) {
            set.stage = SetStage::RollBack;
        }
    }

    /// Notes that an interrupted application was rolled back. The set is applied again if its task still needs it.
    pub fn rolled_back(&mut self, key: &SetKey, wanted: bool) {
        match self.sets.get(key) {
            Some(set) if wanted && !set.stale => self.approve(key),
            _ => {
                self.sets.remove(key);
            }
        }
    }

    /// Marks the change sets of a task that starts again. An interrupted application is still rolled back, but not
    /// repeated.
    pub fn make_stale(&mut self, task: &Slug) {
        for (_, set) in self.sets.iter_mut().filter(|(key, _)| key.task == *task) {
            set.stale = true;
        }
    }

    /// Drops the change sets of a task that wait for a person. Keeps those that are being applied or rolled back.
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
