//! Facts about tool calls, questions and change sets (spec 3.10, 10.4).

use crate::issue::{Issue, IssueCode};
use crate::record::{ChangeSet, EffectKey, ToolRecord};
use crate::spec::{BlobId, ExecRunId, Phase, Slug, ToolEffect};

use super::task::{PendingSet, SetKey, SetSource, SetStage};
use super::{AppliedSet, ExecRun, Failure, Reject, Run, State, TaskRun, ToolOutput, ToolRun, ToolState, limits};

impl Run {
    pub(super) fn tool_mut(&mut self, task: &Slug, run: &ExecRunId, call: &str) -> Option<&mut ToolRun> {
        self.tasks.get_mut(task)?.run_mut(run)?.call_mut(call)
    }

    pub(super) fn tool_finished(
        &mut self,
        task: &Slug,
        run: &ExecRunId,
        call: &str,
        record: &ToolRecord,
        ms: u64,
    ) -> Result<(), Reject> {
        let key = EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.to_owned() };
        self.landed(key)?;
        if let Some(tool) = self.tool_mut(task, run, call) {
            tool.ms = tool.ms.saturating_add(ms);
        }
        if *record == ToolRecord::Cut {
            self.cut(task, run, call);
            return Ok(());
        }
        self.finished_tools = self.finished_tools.saturating_add(1);
        let name = self.tool_mut(task, run, call).map(|tool| tool.call.name.clone()).unwrap_or_default();
        let policy = self.policy(&name);
        if policy.effect != ToolEffect::Read && !policy.stages_changes() {
            self.world = self.world.saturating_add(1);
        }
        let state = match record {
            ToolRecord::Output { blob, error } => {
                ToolState::Done(ToolOutput::Text { blob: blob.clone(), error: *error })
            }
            ToolRecord::Question(question) => ToolState::Asking(question.clone()),
            ToolRecord::Changes(changes) => {
                let source = SetSource::Call(call.to_owned());
                ToolState::Staged(self.stage_changes(task, run, source, changes.clone()))
            }
            ToolRecord::Cut => return Ok(()),
        };
        if let Some(tool) = self.tool_mut(task, run, call) {
            tool.state = state;
        }
        Ok(())
    }

    /// The run's time was over before the call ended. It is not made again before a resume.
    fn cut(&mut self, task: &Slug, run: &ExecRunId, call: &str) {
        let name = self.tool_mut(task, run, call).map(|tool| tool.call.name.clone()).unwrap_or_default();
        let policy = self.policy(&name);
        if policy.effect != ToolEffect::Read && !policy.stages_changes() {
            self.world = self.world.saturating_add(1);
        }
        if let Some(tool) = self.tool_mut(task, run, call) {
            tool.cut = true;
        }
    }

    /// Open questions: task, run, call.
    pub(super) fn open_questions(&self) -> impl Iterator<Item = EffectKey> {
        let tasks = self.tasks.asking().filter(|task| task.is_executing());
        tasks.flat_map(|task| {
            let runs = task.runs.iter().filter(|run| !run.is_ended());
            runs.flat_map(move |run| {
                let asking = run.calls.iter().filter(|call| matches!(call.state, ToolState::Asking(_)));
                asking.map(move |call| EffectKey::Question {
                    task: task.slug(),
                    run: run.id.clone(),
                    call: call.call.id.clone(),
                })
            })
        })
    }

    pub(super) fn question_answered(
        &mut self,
        task: &Slug,
        run: &ExecRunId,
        call: &str,
        output: &BlobId,
    ) -> Result<(), Reject> {
        let key = EffectKey::Question { task: task.clone(), run: run.clone(), call: call.to_owned() };
        if !self.stage.is_working() {
            return Err(Reject::Concluding);
        }
        if !self.open_questions().any(|open| open == key) {
            return Err(Reject::NotInFlight(key));
        }
        self.in_flight.remove(&key);
        self.waiting = None;
        if let Some(tool) = self.tool_mut(task, run, call) {
            tool.state = ToolState::Done(ToolOutput::Answered(output.clone()));
        }
        Ok(())
    }

    /// Notes a change set that is not on disk yet. Returns its number.
    pub(super) fn stage_changes(&mut self, task: &Slug, run: &ExecRunId, source: SetSource, changes: ChangeSet) -> u32 {
        let stage = self.first_stage(task);
        let Some(entry) = self.tasks.get_mut(task) else { return 0 };
        entry.sets = entry.sets.saturating_add(1);
        let set = entry.sets;
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.sets.insert(key, PendingSet { changes, source, stage, refused: None, stale: false });
        set
    }

    /// The execution run that a change set belongs to, if it still goes on.
    fn owner_mut(&mut self, key: &SetKey) -> Option<&mut ExecRun> {
        let task = self.tasks.get_mut(&key.task).filter(|task| goes_on(task))?;
        task.run_mut(&key.run)
    }

    pub(super) fn changes_applied(
        &mut self,
        task: &Slug,
        run: &ExecRunId,
        set: u32,
        changes: &ChangeSet,
    ) -> Result<(), Reject> {
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        if self.sets.get(&key).is_some_and(|pending| pending.changes != *changes) {
            return Err(Reject::OtherChanges { task: task.clone(), set });
        }
        self.landed(key.apply())?;
        let Some(pending) = self.sets.remove(&key) else { return Ok(()) };
        self.world = self.world.saturating_add(1);
        let world = self.world;
        if let Some(entry) = self.tasks.get_mut(task) {
            let (run, refused) = (run.clone(), pending.refused.clone());
            let applied = AppliedSet { run, set, changes: changes.clone(), refused, reverted: false };
            entry.applied.push(applied);
        }
        let Some(owner) = self.owner_mut(&key) else { return Ok(()) };
        match pending.source.call() {
            None => {
                owner.finished = true;
                owner.finished_world = world;
            }
            Some(id) => {
                if let Some(call) = owner.call_mut(id) {
                    call.state = ToolState::Done(ToolOutput::Applied { set });
                }
            }
        }
        Ok(())
    }

    /// A set that fits the files as they are now takes the place of one that does not, under the next number. Where its
    /// hunks are others than those that were approved, the gate asks again.
    pub(super) fn changes_rebased(
        &mut self,
        task: &Slug,
        run: &ExecRunId,
        set: u32,
        changes: &ChangeSet,
        as_shown: bool,
    ) -> Result<(), Reject> {
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.landed(key.apply())?;
        let Some(pending) = self.sets.remove(&key) else { return Ok(()) };
        if pending.stale || self.owner_mut(&key).is_none() {
            return Ok(());
        }
        let stage = if as_shown { SetStage::Approved } else { self.first_stage(task) };
        let Some(entry) = self.tasks.get_mut(task) else { return Ok(()) };
        entry.sets = entry.sets.saturating_add(1);
        let next = SetKey { set: entry.sets, ..key };
        if let (Some(id), Some(owner)) = (pending.source.call(), self.owner_mut(&next))
            && let Some(call) = owner.call_mut(id)
        {
            call.state = ToolState::Staged(next.set);
        }
        self.sets.insert(next, PendingSet { changes: changes.clone(), stage, ..pending });
        Ok(())
    }

    pub(super) fn changes_rejected(
        &mut self,
        task: &Slug,
        run: &ExecRunId,
        set: u32,
        issues: &[Issue],
    ) -> Result<(), Reject> {
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.landed(key.apply())?;
        let max = limits::attempts(self);
        let reply = self.last_reply(&key);
        let Some(pending) = self.sets.remove(&key) else { return Ok(()) };
        if pending.source.call().is_none()
            && let Some(call) = self.last_call_mut(&key)
        {
            call.rejected = issues.to_vec();
        }
        let Some(owner) = self.owner_mut(&key) else { return Ok(()) };
        let Some(id) = pending.source.call() else {
            owner.result = None;
            // No other reply gives a right to write: a person has to free the cause.
            if issues.iter().all(|issue| issue.code == IssueCode::FileUnreadable) {
                let reason = "its changes could not be written".to_owned();
                owner.failure = Some(Failure { reason, issues: issues.to_vec(), ..Failure::default() });
                owner.attempts.close();
                return Ok(());
            }
            if owner.attempts.refuse(issues.to_vec(), reply, max) {
                let reason = format!("no valid reply after {max} attempts");
                owner.failure = Some(Failure { reason, issues: issues.to_vec(), ..Failure::default() });
                self.reached.insert(super::Limit::Attempts);
            }
            return Ok(());
        };
        if let Some(call) = owner.call_mut(id) {
            call.state = ToolState::Done(ToolOutput::Rejected(issues.to_vec()));
        }
        Ok(())
    }

    /// The record of the reply that asked for a change set.
    fn last_call_mut(&mut self, key: &SetKey) -> Option<&mut super::CallRecord> {
        self.calls.iter_mut().rev().find(|record| gave(record, key))
    }

    fn last_reply(&self, key: &SetKey) -> Option<BlobId> {
        self.calls.iter().rev().find(|record| gave(record, key)).map(|record| record.reply.clone())
    }

    pub(super) fn changes_rolled_back(&mut self, task: &Slug, run: &ExecRunId, set: u32) -> Result<(), Reject> {
        self.landed(EffectKey::RollBack { task: task.clone(), run: run.clone(), set })?;
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        let owned = self.tasks.get(task).is_some_and(goes_on);
        match self.sets.get_mut(&key) {
            Some(pending) if owned && !pending.stale => pending.stage = SetStage::Approved,
            _ => {
                self.sets.remove(&key);
            }
        }
        Ok(())
    }

    /// A person took applied changes back, usually after the run.
    pub(super) fn reverted(&mut self, task: &Slug, set: u32) -> Result<(), Reject> {
        let unknown = Reject::UnknownSet { task: task.clone(), set };
        let entry = self.tasks.get_mut(task).ok_or_else(|| unknown.clone())?;
        let applied = entry.applied.iter_mut().find(|applied| applied.set == set && !applied.reverted);
        applied.ok_or(unknown)?.reverted = true;
        self.world = self.world.saturating_add(1);
        Ok(())
    }
}

/// Its execution goes on now, or after a resume.
fn goes_on(task: &TaskRun) -> bool {
    task.is_executing() || (task.executing && task.state == State::Cancelled)
}

/// Whether a change set may be of this reply: a review asks for none.
fn gave(record: &super::CallRecord, key: &SetKey) -> bool {
    let call = &record.key;
    call.phase != Phase::Review && call.task.as_ref() == Some(&key.task) && call.run.as_ref() == Some(&key.run)
}
