//! The fold: which type notes which log entry. Whatever does not fit was refused before (`check`).

use std::collections::BTreeMap;

use crate::record::{EffectKey, Event};
use crate::spec::{Phase, SkillPolicy, Slug};

use super::Run;
use super::answers::Answers;
use super::changes::SetKey;
use super::changing::Changing;
use super::commands::Commands;
use super::continuation::Continuation;
use super::conversations::Conversations;
use super::execute::Executing;
use super::failure::Failure;
use super::joins::Joins;
use super::lists::Lists;
use super::mounts::Mounts;
use super::next_stage::NextStage;
use super::operators::{Caller, Trees};
use super::replies::Replies;
use super::resume::Resume;
use super::reviews::Reviews;
use super::steps::Steps;
use super::task::TaskRun;
use super::task_change::TaskChange;
use super::tools::ToolResults;

/// Folds log entries into a run.
pub(super) struct Fold<'a>(pub &'a mut Run);

impl Fold<'_> {
    pub fn event(&mut self, event: &Event, at: u64) {
        let run = &mut *self.0;
        if !concerns_one_task(event) {
            run.flights.look_again();
        }
        match event {
            Event::RunStarted { run: id, entry, settings, tools } => {
                run.setup.start(id, entry, settings, tools);
                run.progress.go(run.setup.stage_without_list());
            }
            Event::RunResumed { settings } => Resume(run).resume(settings),
            Event::RunContinued { text, settings } => Continuation(run).ask(text, settings),
            Event::FollowUpWithdrawn { outcome } => Continuation(run).withdraw(*outcome),
            Event::SheetRendered { hash } => run.sheet.note_file(hash, at),
            Event::EditHeld { tasks } => Lists(run).hold(tasks.as_ref()),
            Event::TaskRetried { task, skills } => self.retried(task, skills),
            Event::TaskDropped { task } => Commands(run).drop_task(task),
            Event::TaskFailed { task, reason } => {
                TaskChange(run).fail(task, Failure { reason: reason.clone(), ..Failure::default() });
            }
            Event::ListAdopted { origin, list, repairs, issues } => {
                Lists(run).adopted(origin, list, (repairs, issues), at);
            }
            Event::Started { effect, reserved } => self.started(effect, *reserved),
            Event::ReplyReceived { .. }
            | Event::CallFailed { .. }
            | Event::ReplyRefused { .. }
            | Event::TaskRefined { .. }
            | Event::RunFinished { .. }
            | Event::Routed { .. }
            | Event::ListDrafted { .. }
            | Event::Reviewed { .. }
            | Event::Joined { .. }
            | Event::CallsAsked { .. } => self.model_call(event, at),
            Event::ReferencesChecked { .. } => Steps(run).references_checked(event),
            Event::RunsMerged { task, result, .. } => Executing(run).merged(task, result),
            Event::ToolFinished { .. }
            | Event::QuestionAnswered { .. }
            | Event::CallMounted { .. }
            | Event::CallReturned { .. } => self.tool_call(event),
            Event::GateAnswered { gate, answer, .. } => Answers(run).answered(gate, answer),
            Event::ChangesChecked { .. }
            | Event::ChangesApplied { .. }
            | Event::ChangesRebased { .. }
            | Event::ChangesRejected { .. }
            | Event::ChangesRolledBack { .. }
            | Event::ChangesReverted { .. } => self.change_set(event),
            Event::TreeAdopted { tree } => Trees(run).adopt(tree),
            Event::LimitsChanged { limits } => Trees(run).change_limits(limits),
            Event::Evaluated { task, step, .. } => Trees(run).evaluated(task, step),
            Event::ContextRetrieved { task, n, retrieval, empty_index } => {
                Trees(run).retrieved(task, *n, retrieval, *empty_index);
            }
            Event::PromptsUsed { prompts } => run.setup.use_prompts(prompts),
            Event::LimitNear { task, limit, max, .. } => {
                run.progress.notified_mut().note_near(task.as_ref(), limit, *max)
            }
            Event::LimitRaised { limit, max } => run.setup.raise_limit(limit, *max),
            Event::CancelRequested => NextStage(run).cancel(),
            Event::RunWaiting { outcome } => Answers(run).wait_for_person(*outcome),
            Event::RunConcluded { outcome, .. } => {
                run.progress.concluded(*outcome);
                run.flights.end(&EffectKey::Conclude);
            }
        }
    }

    fn retried(&mut self, task: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        let run = &mut *self.0;
        if run.operators.tree().is_some() {
            Trees(run).retry(task);
        } else if run.operators.named(task).is_some() {
            Commands(run).retry_in_call(task, skills);
        } else {
            Commands(run).retry(task, skills);
        }
    }

    /// What came of model calls.
    fn model_call(&mut self, event: &Event, at: u64) {
        let mut replies = Replies(self.0);
        match event {
            Event::ReplyReceived { .. } => replies.received(event),
            Event::CallFailed { .. } => replies.unanswered(event, at),
            Event::ReplyRefused { key, issues, repairs, valid } => {
                replies.refused(key, issues, repairs, valid.as_ref())
            }
            Event::TaskRefined { key, refinement, repairs, issues } => {
                replies.refined(key, refinement, repairs, issues)
            }
            Event::RunFinished { key, result, repairs, issues } => replies.finished(key, result, repairs, issues),
            Event::Routed { key, skill, writes, issues } => replies.routed(key, skill.as_deref(), writes, issues),
            Event::ListDrafted { key, list, beside, repairs, issues } => {
                replies.drafted(key, (list, beside), repairs, issues);
            }
            Event::Reviewed { key, missing, repairs, issues } => {
                Reviews(self.0).reviewed(key, missing.as_deref(), repairs, issues);
            }
            Event::Joined { key, answer, unsupported, repairs, issues } => {
                Joins(self.0).joined(key, (answer, unsupported), repairs, issues);
            }
            Event::CallsAsked { key, calls, said, repeats, stuck, repairs, issues } => {
                Conversations(self.0).tool_calls_requested(
                    key,
                    calls,
                    (said.as_ref(), repeats, stuck),
                    repairs,
                    issues,
                );
            }
            _ => {}
        }
    }

    /// What came of calls of tools and templates.
    fn tool_call(&mut self, event: &Event) {
        let run = &mut *self.0;
        match event {
            Event::ToolFinished { task, run: exec, call, record, ms } => {
                ToolResults(run).finished(task, exec, call, record, *ms);
            }
            Event::QuestionAnswered { task, run: exec, call, output } => {
                let key = EffectKey::Question { task: task.clone(), run: exec.clone(), call: call.clone() };
                ToolResults(run).answered(&key, output);
            }
            Event::CallMounted { task, run: exec, call, tree, shared } => {
                let tree = run.operators.completed(tree, shared);
                Mounts(run).mounted(Caller { task: task.clone(), run: exec.clone(), call: call.clone() }, tree);
            }
            Event::CallReturned { task, run: exec, call, result, failed } => {
                let caller = Caller { task: task.clone(), run: exec.clone(), call: call.clone() };
                Mounts(run).returned(&caller, result, failed.as_deref());
            }
            _ => {}
        }
    }

    /// What came of change sets.
    fn change_set(&mut self, event: &Event) {
        let mut changing = Changing(self.0);
        let key = |task: &Slug, run: &crate::spec::ExecutionId, set: u32| SetKey {
            task: task.clone(),
            run: run.clone(),
            set,
        };
        match event {
            Event::ChangesChecked { task, run, set, check, issues } => {
                changing.checked(&key(task, run, *set), check, issues);
            }
            Event::ChangesApplied { task, run, set, changes } => changing.applied(&key(task, run, *set), changes),
            Event::ChangesRebased { task, run, set, changes, as_shown } => {
                changing.rebased(&key(task, run, *set), changes, *as_shown);
            }
            Event::ChangesRejected { task, run, set, issues } => changing.rejected(&key(task, run, *set), issues),
            Event::ChangesRolledBack { task, run, set } => changing.rolled_back(&key(task, run, *set)),
            Event::ChangesReverted { task, set, .. } => changing.reverted(task, *set),
            _ => {}
        }
    }

    /// An effect is about to be performed.
    fn started(&mut self, key: &EffectKey, reserved: u64) {
        let run = &mut *self.0;
        match key {
            EffectKey::Ask(call) => {
                run.ledger.started(call, reserved);
                if let Some(slug) = call.task.as_ref().filter(|_| call.phase != Phase::Refine) {
                    TaskChange(run).enter_running(slug);
                }
                run.calls.note_started(call);
                if matches!(call.phase, Phase::Iterate | Phase::Continue) {
                    run.tasks.values_mut().for_each(TaskRun::show_problem);
                }
                let mut counted = true;
                if let Some(attempts) = run.attempts_mut(call) {
                    attempts.admitted = true;
                    counted = std::mem::replace(&mut attempts.counted, true);
                }
                if !counted {
                    run.calls.need_one();
                }
            }
            EffectKey::Tool { task, run: exec, .. }
            | EffectKey::Try { task, run: exec, .. }
            | EffectKey::Apply { task, run: exec, .. } => {
                TaskChange(run).enter_running(task);
                if let Some(exec) = run.tasks.get_mut(task).and_then(|task| task.run_mut(exec)) {
                    exec.attempts.admitted = true;
                }
            }
            _ => {}
        }
        run.flights.start(key.clone());
    }
}

/// Whether an entry leaves alone what all tasks have under way but one that it names.
fn concerns_one_task(event: &Event) -> bool {
    matches!(
        event,
        Event::Started { .. }
            | Event::ReplyReceived { .. }
            | Event::CallFailed { .. }
            | Event::ReplyRefused { .. }
            | Event::TaskRefined { .. }
            | Event::RunFinished { .. }
            | Event::Reviewed { .. }
            | Event::CallsAsked { .. }
            | Event::ReferencesChecked { .. }
            | Event::ToolFinished { .. }
            | Event::QuestionAnswered { .. }
            | Event::RunsMerged { .. }
            | Event::ChangesChecked { .. }
            | Event::ChangesApplied { .. }
            | Event::SheetRendered { .. }
            | Event::PromptsUsed { .. }
            | Event::LimitNear { .. }
    )
}
