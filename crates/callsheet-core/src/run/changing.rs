//! Moves change sets towards the disk (spec 3.10): stages, applies, rebases, rejects and reverts them.

use std::sync::Arc;

use crate::issue::{Issue, IssueCode};
use crate::nouns::{ExecutionId, Slug};
use crate::record::{ChangeSet, CheckEnd, CheckReport, EffectKey, Gate, GateKind, ResultParts};

use super::approval::Approval;
use super::attempts::GivenUp;
use super::changes::{PendingSet, SetKey, SetSource, SetStage};
use super::execution::{AppliedSet, Execution, ExecutionPhase, ToolOutput, ToolState};
use super::failure::Failure;
use super::limit::Limit;
use super::state::State;
use super::task::TaskRun;
use super::{Run, limits};

/// Moves change sets from stage to stage.
pub(super) struct Changing<'a>(pub &'a mut Run);

impl Changing<'_> {
    /// Takes an accepted execution reply. Its changes still have to be approved and applied.
    pub fn accepted(&mut self, slug: &Slug, id: &ExecutionId, result: &ResultParts) {
        let revision = self.0.changes.revision();
        let Some(run) = self.0.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return };
        run.attempts.reading = None;
        match result.changes.as_ref().filter(|changes| !changes.files.is_empty()) {
            Some(changes) => {
                run.phase = ExecutionPhase::Accepted(Arc::new(result.clone()));
                self.stage(slug, id, SetSource::Reply, changes.clone());
            }
            None => run.finish(result.clone(), revision),
        }
    }

    /// Notes a change set that is not on disk yet. Returns its number.
    pub fn stage(&mut self, task: &Slug, run: &ExecutionId, source: SetSource, changes: ChangeSet) -> u32 {
        let checks =
            source == SetSource::Reply && self.0.tasks.get(task).is_some_and(|task| check_of(self.0, task).is_some());
        let stage = if checks { SetStage::Unchecked } else { self.first_stage(task) };
        let Some(entry) = self.0.tasks.get_mut(task) else { return 0 };
        entry.sets = entry.sets.saturating_add(1);
        let set = entry.sets;
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.0.changes.insert(key, PendingSet { changes, source, stage, refused: None, stale: false, check: None });
        set
    }

    /// The first stage of a new change set of the task.
    fn first_stage(&mut self, slug: &Slug) -> SetStage {
        if self.0.tasks.get(slug).is_some_and(|task| Approval(self.0).holds_acts_of(task)) {
            SetStage::Gated(self.0.gates.next())
        } else {
            SetStage::Approved
        }
    }

    /// The execution that a change set belongs to, if it has not ended.
    fn owner_mut(&mut self, key: &SetKey) -> Option<&mut Execution> {
        let task = self.0.tasks.get_mut(&key.task).filter(|task| is_under_way(task))?;
        task.run_mut(&key.run)
    }

    /// Notes the check of a change set (spec 10.10). The first failure goes back to the model if it has an attempt
    /// left.
    pub fn checked(&mut self, key: &SetKey, check: &CheckReport, issues: &[Issue]) {
        self.0.in_flight.end(&key.attempt());
        let max = limits::attempts(self.0);
        let Some(owner) = self.owner_mut(key) else {
            self.0.changes.take(key);
            return;
        };
        let again = check.end == CheckEnd::Failed && !owner.checked_again && owner.attempts.attempt < max;
        if !again {
            let stage = self.first_stage(&key.task);
            self.0.changes.checked(key, check, stage);
            return;
        }
        self.0.changes.take(key);
        let reply = self.0.calls.note_rejection(&key.task, &key.run, issues);
        let Some(owner) = self.owner_mut(key) else { return };
        owner.checked_again = true;
        owner.phase = ExecutionPhase::Working;
        owner.attempts.refuse(issues.to_vec(), reply, max);
    }

    /// Lets changes go on without a check if the settings no longer contain their check.
    pub fn skip_lost_checks(&mut self) {
        let unchecked = self.0.changes.iter().filter(|(_, set)| set.stage == SetStage::Unchecked);
        let lost = |key: &SetKey| self.0.tasks.get(&key.task).is_none_or(|task| check_of(self.0, task).is_none());
        let lost: Vec<SetKey> = unchecked.map(|(key, _)| key.clone()).filter(lost).collect();
        for key in lost {
            let stage = self.first_stage(&key.task);
            self.0.changes.set_stage(&key, stage);
        }
    }

    pub fn applied(&mut self, key: &SetKey, changes: &ChangeSet) {
        self.0.in_flight.end(&key.apply());
        let Some(pending) = self.0.changes.take(key) else { return };
        self.0.changes.note_change();
        let revision = self.0.changes.revision();
        let set = key.set;
        if let Some(task) = self.0.tasks.get_mut(&key.task) {
            let (run, refused, check) = (key.run.clone(), pending.refused.clone(), pending.check.clone());
            task.applied.push(AppliedSet { run, set, changes: changes.clone(), refused, check, reverted: false });
        }
        let Some(owner) = self.owner_mut(key) else { return };
        match pending.source.call() {
            None => {
                let result = owner.shared_result().unwrap_or_default();
                owner.finish(result, revision);
            }
            Some(id) => {
                if let Some(call) = owner.call_mut(id) {
                    call.state = ToolState::Done(ToolOutput::Applied { set });
                }
            }
        }
    }

    /// Replaces a set that no longer fits by one that fits the current files, under the next number. The gate asks
    /// again if the hunks differ from those that were approved or that a gate shows.
    pub fn rebased(&mut self, key: &SetKey, changes: &ChangeSet, as_shown: bool) {
        self.0.in_flight.end(&key.apply());
        let Some(pending) = self.0.changes.take(key) else { return };
        let as_shown = as_shown && !matches!(pending.stage, SetStage::Gated(_));
        if let SetStage::Gated(n) = pending.stage {
            let (task, run, set) = (key.task.clone(), key.run.clone(), key.set);
            self.0.in_flight.end(&EffectKey::Gate(Gate { n, kind: GateKind::BeforeApply { task, run, set } }));
            self.0.progress.stop_waiting();
        }
        if pending.stale || self.owner_mut(key).is_none() {
            return;
        }
        let stage = if as_shown { SetStage::Approved } else { self.first_stage(&key.task) };
        let Some(entry) = self.0.tasks.get_mut(&key.task) else { return };
        entry.sets = entry.sets.saturating_add(1);
        let next = SetKey { set: entry.sets, ..key.clone() };
        if let (Some(id), Some(owner)) = (pending.source.call(), self.owner_mut(&next))
            && let Some(call) = owner.call_mut(id)
        {
            call.state = ToolState::Staged(next.set);
        }
        self.0.changes.insert(next, PendingSet { changes: changes.clone(), stage, ..pending });
    }

    pub fn rejected(&mut self, key: &SetKey, issues: &[Issue]) {
        self.0.in_flight.end(&key.apply());
        let Some(pending) = self.0.changes.take(key) else { return };
        if let Some(id) = pending.source.call() {
            if let Some(call) = self.owner_mut(key).and_then(|owner| owner.call_mut(id)) {
                call.state = ToolState::Done(ToolOutput::Rejected(issues.to_vec()));
            }
            return;
        }
        let reply = self.0.calls.note_rejection(&key.task, &key.run, issues);
        let max = limits::attempts(self.0);
        let Some(owner) = self.owner_mut(key) else { return };
        owner.phase = ExecutionPhase::Working;
        // Another reply cannot make the file readable. A person must do that.
        if issues.iter().all(|issue| issue.code == IssueCode::FileUnreadable) {
            let reason = "its changes could not be written".to_owned();
            owner.fail(Failure { reason, issues: issues.to_vec(), ..Failure::default() });
            return;
        }
        if let Some(given_up) = owner.attempts.refuse(issues.to_vec(), reply, max) {
            let reason = format!("no valid reply {}", given_up.words(max));
            owner.fail(Failure { reason, issues: issues.to_vec(), ..Failure::default() });
            if given_up == GivenUp::UsedUp {
                self.0.progress.notified_mut().note_reached(Limit::Attempts);
            }
        }
    }

    /// Notes that an interrupted application was rolled back.
    pub fn rolled_back(&mut self, key: &SetKey) {
        self.0.in_flight.end(&key.roll_back());
        let wanted = self.0.tasks.get(&key.task).is_some_and(is_under_way);
        self.0.changes.rolled_back(key, wanted);
    }

    /// Notes that a person took applied changes back, usually after the run.
    pub fn reverted(&mut self, task: &Slug, set: u32) {
        let Some(entry) = self.0.tasks.get_mut(task) else { return };
        if let Some(applied) = entry.applied.iter_mut().find(|applied| applied.set == set && !applied.reverted) {
            applied.reverted = true;
            self.0.changes.note_change();
        }
    }
}

/// The name and command of the check for a task: the check of its skill, if the settings have a command of this name.
pub(super) fn check_of<'a>(run: &'a Run, task: &'a TaskRun) -> Option<(&'a str, &'a [String])> {
    let name = task.skill.as_ref()?.check.as_deref()?;
    let argv = run.settings().checks.get(name).filter(|argv| !argv.is_empty())?;
    Some((name, argv))
}

/// Whether the task's execution is under way now, or after a resume.
fn is_under_way(task: &TaskRun) -> bool {
    task.is_executing() || (task.has_begun() && task.state() == State::Cancelled)
}
