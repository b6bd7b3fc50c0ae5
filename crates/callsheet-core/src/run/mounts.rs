//! Calls of templates (spec "Templates" 16): a task of a sheet whose skill is a template makes a call, and the template
//! runs as a tree below that task, in this run. Until the tree has come back the call waits and holds no slot; what the
//! tree gave is then its result. Tasks of the tree end with the task that made the call.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{EffectKey, Outcome, ResultParts, Tree};
use crate::spec::{BlobId, ExecRunId, SkillMode, SkillPolicy, Slug};

use super::operators::Caller;
use super::{Effect, ExecRun, Failure, Reject, Run, State, TaskRun, ToolOutput, ToolRun, ToolState};

impl TaskRun {
    /// Whether its calls run templates.
    pub(super) fn calls_template(&self) -> bool {
        self.skill.as_ref().is_some_and(|skill| skill.mode == SkillMode::Template)
    }
}

impl Run {
    /// What a call of a template owes; `None`: its tree works.
    pub(super) fn template_owing(&self, task: &Slug, run: &ExecRunId, tool: &ToolRun) -> Option<Effect> {
        let (task, run) = (task.clone(), run.clone());
        match tool.state {
            ToolState::Mounted(number) => {
                let is_over = self.operators.top_of(number).is_some_and(|top| top.closed.is_some());
                is_over.then(|| Effect::ReturnTemplate { task, run, call: tool.call.id.clone() })
            }
            _ => Some(Effect::MountTemplate { task, run, call: tool.call.clone() }),
        }
    }

    /// The call of a template begins.
    pub(super) fn call_mounted(&mut self, task: &Slug, run: &ExecRunId, call: &str, tree: Tree) -> Result<(), Reject> {
        let (task, run, call) = (task.clone(), run.clone(), call.to_owned());
        let key = EffectKey::Mount { task: task.clone(), run: run.clone(), call: call.clone() };
        if !self.may_mount(&task, &run, &call) || !tree.templates.contains_key(&tree.entry) {
            return Err(Reject::NotOutstanding(key));
        }
        self.enter_running(&task)?;
        let caller = Caller { task: task.clone(), run: run.clone(), call: call.clone() };
        let number = self.mount(tree, Some(caller));
        if let Some(tool) = self.tool_mut(&task, &run, &call) {
            tool.state = ToolState::Mounted(number);
        }
        Ok(())
    }

    /// The call of a template that a task at work is to make, or made.
    fn template_call(&self, task: &Slug, run: &ExecRunId, call: &str) -> Option<&ToolRun> {
        let task = self.tasks.get(task).filter(|task| self.stage.is_working() && task.calls_template())?;
        task.run(run).filter(|run| task.is_executing() && !run.is_ended())?.call(call)
    }

    fn may_mount(&self, task: &Slug, run: &ExecRunId, call: &str) -> bool {
        let tool = self.template_call(task, run, call);
        tool.is_some_and(|tool| matches!(tool.state, ToolState::Queued | ToolState::Approved))
    }

    fn may_return(&self, task: &Slug, run: &ExecRunId, call: &str) -> bool {
        self.template_call(task, run, call).is_some_and(|tool| match tool.state {
            ToolState::Mounted(number) => self.operators.top_of(number).is_some_and(|top| top.closed.is_some()),
            _ => false,
        })
    }

    /// The tree of a call came back, or the call could not begin: this is the result of its execution run.
    pub(super) fn call_returned(
        &mut self,
        task: &Slug,
        run: &ExecRunId,
        call: &str,
        result: &ResultParts,
        failed: Option<&str>,
    ) -> Result<(), Reject> {
        let task = task.clone();
        let could_not_begin = failed.is_some() && self.may_mount(&task, run, call);
        if !self.may_return(&task, run, call) && !could_not_begin {
            let key = EffectKey::Return { task, run: run.clone(), call: call.to_owned() };
            return Err(Reject::NotOutstanding(key));
        }
        self.enter_running(&task)?;
        self.finished_tools = self.finished_tools.saturating_add(1);
        let (world, now) = (self.world, self.now);
        let Some(tool) = self.tool_mut(&task, run, call) else { return Ok(()) };
        let mount = if let ToolState::Mounted(number) = tool.state { Some(number) } else { None };
        let blob = result.document.clone().unwrap_or_else(|| BlobId::of(b""));
        tool.state = ToolState::Done(ToolOutput::Text { blob, error: failed.is_some() });
        let top = mount.and_then(|number| self.operators.top_of(number));
        let ms = top.map_or(0, |top| top.clock.spent_ms(now));
        let communication =
            top.and_then(|top| top.closed.as_ref()).is_some_and(|closed| closed.outcome == Outcome::Unreachable);
        let Some(exec) = self.tasks.get_mut(&task).and_then(|task| task.run_mut(run)) else { return Ok(()) };
        if let Some(tool) = exec.call_mut(call) {
            (tool.ms, tool.mount) = (ms, mount);
        }
        match failed {
            Some(reason) => {
                exec.failure = Some(Failure { reason: reason.to_owned(), communication, ..Failure::default() });
            }
            None => {
                exec.result = Some(result.clone());
                exec.finished = true;
                exec.finished_world = world;
            }
        }
        exec.attempts.close();
        self.abandon(&task, Some(run));
        Ok(())
    }

    /// The task ended, or starts anew: nothing of its trees goes on.
    pub(super) fn abandon_calls(&mut self, task: &Slug) {
        self.abandon(task, None);
    }

    fn abandon(&mut self, task: &Slug, run: Option<&ExecRunId>) {
        for leaf in self.operators.abandon(task, run) {
            let open = self.tasks.get_mut(&leaf).filter(|leaf| !leaf.state.is_ended());
            if let Some(open) = open {
                open.state = State::Dropped;
                self.let_go(&leaf);
            }
        }
    }

    /// After an outage: trees of calls that failed because no provider could be reached go on where they stopped. Returns
    /// the leaves that begin again.
    pub(super) fn reopen_calls_after_outage(&mut self) -> BTreeSet<Slug> {
        let unreached = |failure: &Option<Failure>| failure.as_ref().is_some_and(|failure| failure.communication);
        let failed = self.tasks.values().filter(|task| task.calls_template() && task.state == State::Failed);
        let failed: Vec<Slug> = failed.filter(|task| unreached(&task.failure)).map(TaskRun::slug).collect();
        let mut leaves = BTreeSet::new();
        for slug in failed {
            for (run, call, mount) in self.failed_calls(&slug) {
                let reopened = mount.map(|mount| self.reopen_mount(mount)).unwrap_or_default();
                let state = match mount.filter(|_| !reopened.is_empty()) {
                    Some(mount) => ToolState::Mounted(mount),
                    None => ToolState::Queued,
                };
                if let Some(tool) = self.tool_mut(&slug, &run, &call) {
                    tool.state = state;
                }
                leaves.extend(reopened);
            }
        }
        leaves
    }

    /// Calls of the task's failed execution runs, each with its tree.
    fn failed_calls(&self, task: &Slug) -> Vec<(ExecRunId, String, Option<usize>)> {
        let runs = self.tasks.get(task).into_iter().flat_map(|task| &task.runs).filter(|run| run.failure.is_some());
        let calls = |run: &ExecRun| {
            let calls = run.calls.iter().map(|call| (run.id.clone(), call.call.id.clone(), call.mount));
            calls.collect::<Vec<_>>()
        };
        runs.flat_map(calls).collect()
    }

    /// A person has a task done again that failed by its calls of templates: the trees go on with what they have, while the
    /// skill is as it was. False if there is none.
    pub(super) fn retry_calls(&mut self, task: &Slug, skills: &BTreeMap<String, SkillPolicy>) -> Result<bool, Reject> {
        let Some(known) = self.tasks.get(task).filter(|task| task.state == State::Failed) else { return Ok(false) };
        let changed = known.task.skill.as_ref().is_some_and(|skill| skills.contains_key(skill));
        let calls = self.failed_calls(task);
        let failed = |mount: usize| self.operators.top_of(mount).is_some_and(|top| top.failed() && !top.former);
        if changed || calls.is_empty() || !calls.iter().all(|(.., mount)| mount.is_some_and(failed)) {
            return Ok(false);
        }
        for (run, call, mount) in calls {
            let Some((mount, top)) = mount.and_then(|mount| Some((mount, self.operators.top_of(mount)?.number))) else {
                continue;
            };
            self.retry_op(top)?;
            self.go_on_in_call(task, &run, &call, mount);
        }
        Ok(true)
    }

    /// A person has a task of a call's tree done again: the task that made the call goes on with it.
    pub(super) fn retried_in_call(
        &mut self,
        slug: &Slug,
        skills: &BTreeMap<String, SkillPolicy>,
    ) -> Result<(), Reject> {
        let refused = || Reject::NotFailed(slug.clone());
        let op = self.operators.named(slug).ok_or_else(|| Reject::UnknownTask(slug.clone()))?;
        let (number, mount) = (op.number, op.mount);
        let Caller { task, run, call } = self.operators.caller(mount).cloned().ok_or_else(refused)?;
        let caller = self.tasks.get(&task).ok_or_else(refused)?;
        let is_of_call = |tool: &ToolRun| tool.state == ToolState::Mounted(mount) || tool.mount == Some(mount);
        if !op.failed() || op.former || !caller.run(&run).and_then(|run| run.call(&call)).is_some_and(is_of_call) {
            return Err(refused());
        }
        match caller.state {
            State::Failed => {
                let mut after = self.clone();
                after.retry_op(number)?;
                after.go_on_in_call(&task, &run, &call, mount);
                after.come_back(&task, skills)?;
                *self = after;
                Ok(())
            }
            state if state.is_ended() => Err(refused()),
            _ => self.retry_op(number),
        }
    }

    /// The call waits for its tree again.
    fn go_on_in_call(&mut self, task: &Slug, run: &ExecRunId, call: &str, mount: usize) {
        if let Some(exec) = self.tasks.get_mut(task).and_then(|task| task.run_mut(run)) {
            exec.failure = None;
            if let Some(tool) = exec.call_mut(call) {
                tool.state = ToolState::Mounted(mount);
            }
        }
        if let Some(task) = self.tasks.get_mut(task) {
            (task.executing, task.kept, task.failure) = (false, true, None);
            task.problem_seen = false;
        }
    }
}
