//! Calls of templates (spec "Templates" 16). A task of a sheet whose skill is a template makes a call, and the
//! template runs as a tree below that task, in the same run. The call waits without a slot until the tree returns.
//! The result of the tree is then the result of the call. The tasks of the tree end with the task that made the call.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::{BlobId, ExecutionId, SkillPolicy, Slug};
use crate::record::{EffectKey, Outcome, ResultParts, Tree};

use super::Run;
use super::execution::{Execution, ExecutionPhase, ToolOutput, ToolRun, ToolState};
use super::failure::Failure;
use super::operators::{Caller, NodeInstance, Redo, Trees};
use super::reject::Reject;
use super::state::State;
use super::task::{ExecutionStage, TaskRun};
use super::task_change::TaskChange;

/// Begins and ends calls of templates.
pub(super) struct Mounts<'a>(pub &'a mut Run);

impl Mounts<'_> {
    /// Begins the call of a template.
    pub fn mounted(&mut self, caller: Caller, tree: Tree) {
        TaskChange(self.0).enter_running(&caller.task);
        let number = Trees(self.0).mount(tree, Some(caller.clone()));
        if let Some(tool) = self.0.tool_mut(&caller.task, &caller.run, &caller.call) {
            tool.state = ToolState::Mounted(number);
        }
    }

    /// Ends the call of a template, because its tree returned or the call could not begin. `result` is the result of
    /// its execution.
    pub fn returned(&mut self, caller: &Caller, result: &ResultParts, failed: Option<&str>) {
        let Caller { task, run, call } = caller;
        TaskChange(self.0).enter_running(task);
        let (revision, now) = (self.0.changes.revision(), self.0.clock.now());
        self.0.calls.note_tool();
        let Some(tool) = self.0.tool_mut(task, run, call) else { return };
        let mount = if let ToolState::Mounted(number) = tool.state { Some(number) } else { None };
        let blob = result.document.clone().unwrap_or_else(|| BlobId::of(b""));
        tool.state = ToolState::Done(ToolOutput::Text { blob, error: failed.is_some() });
        let top = mount.and_then(|number| self.0.operators.top_of(number));
        let ms = top.map_or(0, |top| top.clock.spent_ms(now));
        let communication =
            top.and_then(|top| top.closed()).is_some_and(|closed| closed.outcome == Outcome::Unreachable);
        let Some(exec) = self.0.tasks.get_mut(task).and_then(|task| task.run_mut(run)) else { return };
        if let Some(tool) = exec.call_mut(call) {
            (tool.ms, tool.mount) = (ms, mount);
        }
        match failed {
            Some(reason) => exec.fail(Failure { reason: reason.to_owned(), communication, ..Failure::default() }),
            None => exec.finish(result.clone(), revision),
        }
        exec.attempts.close();
        TaskChange(self.0).abandon_calls(task, Some(run));
    }

    /// Continues the trees of calls that failed because no provider could be reached. Returns the leaves that begin
    /// again.
    pub fn reopen_after_outage(&mut self) -> BTreeSet<Slug> {
        let failed = self.0.tasks.values().filter(|task| task.calls_template() && task.is_unreached());
        let failed: Vec<Slug> = failed.map(TaskRun::slug).collect();
        let mut leaves = BTreeSet::new();
        for slug in failed {
            for (run, call, mount) in calls_of_failed(self.0, &slug) {
                let reopened = mount.map(|mount| Trees(self.0).reopen(mount)).unwrap_or_default();
                let state = match mount.filter(|_| !reopened.is_empty()) {
                    Some(mount) => ToolState::Mounted(mount),
                    None => ToolState::Queued,
                };
                if let Some(tool) = self.0.tool_mut(&slug, &run, &call) {
                    tool.state = state;
                }
                leaves.extend(reopened);
            }
        }
        leaves
    }

    /// Makes the call of a tree wait for the tree again. `part` is any task of the tree.
    pub fn wait_again(&mut self, part: usize) {
        let Some(mount) = self.0.operators.at(part).map(|part| part.mount) else { return };
        let Some(Caller { task, run, call }) = self.0.operators.caller(mount).cloned() else { return };
        let Some(task) = self.0.tasks.get_mut(&task) else { return };
        task.execution = ExecutionStage::OnHold;
        task.merge = None;
        let Some(exec) = task.run_mut(&run) else { return };
        if exec.is_ended() {
            exec.phase = ExecutionPhase::Working;
        }
        if let Some(tool) = exec.call_mut(&call) {
            tool.state = ToolState::Mounted(mount);
        }
    }
}

/// The call of a template that a running task makes or has made.
fn template_call<'a>(run: &'a Run, caller: &Caller) -> Option<&'a ToolRun> {
    let task = run.tasks.get(&caller.task).filter(|task| run.stage().is_working() && task.calls_template())?;
    task.run(&caller.run).filter(|exec| task.is_executing() && !exec.is_ended())?.call(&caller.call)
}

fn may_mount(run: &Run, caller: &Caller) -> bool {
    let tool = template_call(run, caller);
    tool.is_some_and(|tool| matches!(tool.state, ToolState::Queued | ToolState::Approved))
}

/// Checks whether the call of a template may begin.
pub(super) fn check_mount(run: &Run, caller: &Caller, tree: &Tree) -> Result<(), Reject> {
    if may_mount(run, caller) && tree.templates.contains_key(&tree.entry) {
        return Ok(());
    }
    let Caller { task, run, call } = caller.clone();
    Err(Reject::NotOutstanding(EffectKey::Mount { task, run, call }))
}

/// Checks whether the call of a template may end. If `failed`, it need not have begun.
pub(super) fn check_return(run: &Run, caller: &Caller, failed: bool) -> Result<(), Reject> {
    let may_return = template_call(run, caller).is_some_and(|tool| match tool.state {
        ToolState::Mounted(number) => run.operators.top_of(number).is_some_and(|top| top.is_closed()),
        _ => false,
    });
    if may_return || failed && may_mount(run, caller) {
        return Ok(());
    }
    let Caller { task, run, call } = caller.clone();
    Err(Reject::NotOutstanding(EffectKey::Return { task, run, call }))
}

/// The calls of the task's failed executions, each with its tree.
fn calls_of_failed(run: &Run, task: &Slug) -> Vec<(ExecutionId, String, Option<usize>)> {
    let runs = run.tasks.get(task).into_iter().flat_map(|task| &task.runs).filter(|exec| exec.failure().is_some());
    let calls = |exec: &Execution| {
        let calls = exec.calls.iter().map(|call| (exec.id.clone(), call.call.id.clone(), call.mount));
        calls.collect::<Vec<_>>()
    };
    runs.flat_map(calls).collect()
}

/// The top tasks of the failed calls of a task that failed only because of its calls of templates. Their trees continue
/// with what they have if the skill has not changed. `None` if the whole task must begin again.
pub(super) fn failed_calls(run: &Run, task: &Slug, skills: &BTreeMap<String, SkillPolicy>) -> Option<Vec<usize>> {
    let known = run.tasks.get(task).filter(|task| task.state() == State::Failed)?;
    let changed = known.task.skill.as_ref().is_some_and(|skill| skills.contains_key(skill));
    let calls = calls_of_failed(run, task);
    if changed || calls.is_empty() {
        return None;
    }
    let failed = calls.into_iter().map(|(_, _, mount)| {
        let top = run.operators.top_of(mount?).filter(|top| !top.is_former())?;
        (top.failed() || run.operators.has_failed_items(top)).then_some(top.number)
    });
    failed.collect()
}

/// Checks whether the call continues whose tree contains the task, once the task is repeated or removed. Returns the task
/// that made the call.
///
/// # Errors
/// The task has not returned, or its caller has gone on without the call.
pub(super) fn check_call<'a>(run: &'a Run, part: &NodeInstance, how: Redo) -> Result<Option<&'a TaskRun>, Reject> {
    if !part.is_closed() {
        return Err(how.refused(&part.id));
    }
    caller_of(run, part, how)
}

/// The task that made the call whose tree contains the task, if it can continue with that tree.
///
/// # Errors
/// It has gone on without the call.
pub(super) fn caller_of<'a>(run: &'a Run, part: &NodeInstance, how: Redo) -> Result<Option<&'a TaskRun>, Reject> {
    let refused = || how.refused(&part.id);
    let Some(caller) = run.operators.caller(part.mount) else { return Ok(None) };
    let task = run.tasks.get(&caller.task).ok_or_else(refused)?;
    let is_of_call = |tool: &ToolRun| tool.state == ToolState::Mounted(part.mount) || tool.mount == Some(part.mount);
    let waits = task.run(&caller.run).and_then(|exec| exec.call(&caller.call)).is_some_and(is_of_call);
    let ended = task.state().is_ended() && !matches!(task.state(), State::Failed | State::Done);
    if waits && !ended { Ok(Some(task)) } else { Err(refused()) }
}
