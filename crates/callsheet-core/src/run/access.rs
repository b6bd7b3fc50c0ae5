//! Read access to the parts of a run for the driver, prompts and views, and changing access to the parts that one
//! part owns for another.

use std::collections::{BTreeMap, BTreeSet};

use crate::issue::Issue;
use crate::nouns::{BlobId, ExecutionId, Goals, Phase, RunId, Settings, Slug, Task, TaskList};
use crate::record::{Beside, CallKey, ChangeSet, CheckReport, EffectKey, Entry, Outcome, PromptFile, ToolPolicy};

use super::Run;
use super::approval::Approval;
use super::attempts::Attempts;
use super::changes::SetKey;
use super::clock::{Reuse, Times};
use super::execution::{Execution, ToolRun};
use super::gates::gate_names;
use super::ledger::Spent;
use super::limit::Limit;
use super::operators::{NodeInstance, Operators};
use super::refused::RefusedMove;
use super::state::{Stage, State};
use super::task::{TaskPhase, TaskRun};
use super::time_split::counts_as;
use super::totals::{CallRecord, Totals};

/// A task that ended without output, as `task_problems` (spec 2.9) and the report show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem<'a> {
    /// The task.
    pub task: &'a TaskRun,
    /// What happened to the task.
    pub kind: ProblemKind<'a>,
}

/// What happened to a task that ended without output.
#[derive(Clone, Debug, PartialEq)]
pub enum ProblemKind<'a> {
    /// The task failed.
    Failed {
        /// Why the task failed.
        reason: &'a str,
        /// The issues of its last reply or check.
        issues: &'a [Issue],
        /// Whether it failed because the provider could not be reached.
        communication: bool,
    },
    /// A person denied the task.
    Denied {
        /// The person's words, verbatim. May be empty.
        words: &'a str,
    },
    /// The task waits for an output that will never come.
    Blocked {
        /// The task that blocks it, or the task itself if a policy blocks it.
        cause: &'a Slug,
    },
}

/// How much of a limit is used. The limit is of the run or of one task of its tree. A person is warned at the
/// threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitUse {
    /// The task of the tree that has the limit. `None` if the run has it.
    pub task: Option<Slug>,
    /// Which limit it is.
    pub limit: Limit,
    /// The name by which a person sets it.
    pub name: &'static str,
    /// How much is used, in the unit of the limit (seconds for times).
    pub used: f64,
    /// The maximum.
    pub max: f64,
    /// The share of the maximum at which a person is warned.
    pub threshold: f64,
}

impl LimitUse {
    /// Whether the use has reached the warning threshold.
    pub fn is_near(&self) -> bool {
        self.used > 0.0 && self.used >= self.max * self.threshold
    }
}

impl Run {
    /// The name of the run. `None` before `RunStarted`.
    pub fn id(&self) -> Option<&RunId> {
        self.setup.id()
    }

    /// How the run began.
    pub fn entry(&self) -> Option<&Entry> {
        self.setup.entry()
    }

    /// The original prompt (spec 2.1). Empty before `RunStarted`.
    pub fn prompt(&self) -> &str {
        self.setup.entry().map_or("", Entry::prompt)
    }

    /// Accepted follow-ups, verbatim, in order (spec 2.17).
    pub fn follow_ups(&self) -> &[String] {
        self.follow_ups.accepted()
    }

    /// The follow-up whose list is not accepted yet.
    pub fn pending_follow_up(&self) -> Option<&str> {
        self.follow_ups.pending()
    }

    /// The original prompt, the accepted follow-ups and the pending one. Headings of references may name any of them
    /// (spec 5.1). Empty before `RunStarted`.
    pub fn prompts(&self) -> Vec<&str> {
        let all = [self.prompt()].into_iter().chain(self.follow_ups.accepted().iter().map(String::as_str));
        all.chain(self.follow_ups.pending()).filter(|text| !text.is_empty()).collect()
    }

    /// Whether the task was listed for the latest follow-up, or for the request if there was no follow-up.
    pub fn is_of_latest(&self, task: &TaskRun) -> bool {
        self.follow_ups.accepted().is_empty() || task.round > self.follow_ups.rounds_before()
    }

    /// The task trees of this run and their opened nodes.
    pub fn operators(&self) -> &Operators {
        &self.operators
    }

    /// The names and policies of the registered tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = (&str, ToolPolicy)> {
        self.setup.tools()
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        self.setup.settings()
    }

    /// The goals and markers of the latest accepted list.
    pub fn goals(&self) -> &Goals {
        self.sheet.goals()
    }

    /// The goals of earlier lists, oldest first.
    pub fn former_goals(&self) -> &[Goals] {
        self.sheet.former_goals()
    }

    /// The links that iterations marked as no longer relevant (spec 5.10).
    pub fn no_longer_relevant(&self) -> &[String] {
        self.sheet.no_longer_relevant()
    }

    /// The text under `Issues with the tasks` in the latest list reply. Only the person sees it.
    pub fn remarks(&self) -> &[String] {
        self.sheet.remarks()
    }

    /// The message for a person about the stage or outcome, if there is one.
    pub fn message(&self) -> Option<&str> {
        self.progress.message()
    }

    /// What the run is doing.
    pub fn stage(&self) -> Stage {
        self.progress.stage()
    }

    /// The round, from 1. A resume starts again at 1. 0 before the first list.
    pub fn round(&self) -> u32 {
        self.progress.rounds().current()
    }

    /// Rounds since the start of the run.
    pub fn rounds(&self) -> u32 {
        self.progress.rounds().total()
    }

    /// How the run ended, or why it waits. `None` while it works or its report is not written.
    pub fn outcome(&self) -> Option<Outcome> {
        self.progress.outcome()
    }

    /// Moves that accepted events asked for and the machine refused. Each one is a defect.
    pub fn refused_moves(&self) -> &[RefusedMove] {
        self.tasks.refused()
    }

    /// Whether an event already carried out the order with this key.
    pub fn has_carried_out(&self, key: &str) -> bool {
        self.clock.has_carried_out(key)
    }

    /// The number of the last event that was applied.
    pub fn last_fact(&self) -> u64 {
        self.clock.last_entry()
    }

    /// The time of the last event, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> u64 {
        self.clock.now()
    }

    /// Whether a list was ever accepted.
    pub fn has_list(&self) -> bool {
        self.sheet.has_list()
    }

    /// The slugs of the current list by step, in sheet order.
    pub fn steps(&self) -> &[Vec<Slug>] {
        self.tasks.steps()
    }

    /// The current step, 0-based. `None` when all tasks of the list have ended.
    pub fn step(&self) -> Option<usize> {
        self.tasks.current_step()
    }

    /// The 0-based step of a task in the current list.
    pub fn step_of(&self, slug: &Slug) -> Option<usize> {
        self.tasks.step_of(slug)
    }

    /// The task with this slug, which may be the former slug of a renamed task (spec 6.4).
    pub fn task(&self, slug: &Slug) -> Option<&TaskRun> {
        self.tasks.find(slug)
    }

    /// All tasks of the lists or of the template that is run, in the order in which they first appeared. Excludes the
    /// tasks of templates that a listed task calls.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks.in_order().filter(|task| task.is_own())
    }

    /// The handler or process that currently does the work of a task of a template.
    pub fn leaf(&self, part: &NodeInstance) -> Option<&TaskRun> {
        self.tasks.at(part.leaf()?)
    }

    /// The tasks of the templates that a listed task calls, in the order in which they were opened.
    pub fn tasks_below(&self, task: &Slug) -> impl Iterator<Item = &TaskRun> {
        self.tasks.below(task)
    }

    /// All tasks of the run. The tasks of a called template follow the task that calls it.
    pub fn all_tasks(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks().flat_map(|task| std::iter::once(task).chain(self.tasks_below(&task.task.slug)))
    }

    /// The state of a task that people see. A task is running only while something works on it. A task that only
    /// waits for a person is ready. If the run has ended or waits, each task has the state in which a resume would
    /// find it.
    pub fn standing(&self, task: &TaskRun) -> State {
        let state = self.judged(task);
        if self.outcome().is_some() || state == State::Running && self.merely_asks(&task.task.slug) {
            return state.at_rest();
        }
        state
    }

    /// Whether a person is asked about the task while nothing of it is in flight.
    fn merely_asks(&self, slug: &Slug) -> bool {
        let approval = Approval(self);
        let asks = approval.open_gates().any(|gate| gate_names(&gate, slug))
            || approval.questions().any(|question| question.task() == Some(slug));
        asks && !self.in_flight.works_by_itself(slug)
    }

    /// The state of a task, with the verdict on its result taken into account. A task of a template whose work is
    /// done is running until its result is judged, and failed if the result is a failure. An attempt that a person
    /// has replaced counts as dropped.
    fn judged(&self, task: &TaskRun) -> State {
        let Some(op) = self.operators.of(task) else { return task.state() };
        let number = self.tasks.number_of(&task.task.slug);
        if task.state().is_ended() && number.is_some_and(|run| op.is_replaced(run)) {
            return State::Dropped;
        }
        if task.state() != State::Done {
            return task.state();
        }
        let is_former = op.reparse.is_some() || op.leaf() != number;
        match op.state() {
            _ if is_former => State::Failed,
            state if state.is_ended() => state,
            _ => State::Running,
        }
    }

    /// Whether a person had the work of the task repeated, so that a later task counts in its place.
    pub fn is_replaced(&self, task: &TaskRun) -> bool {
        let is_removed = |op: &NodeInstance| op.state() == State::Dropped && !op.is_former();
        let part = self.operators.of(task).filter(|op| !is_removed(op));
        part.is_some() && task.state() != State::Dropped && self.judged(task) == State::Dropped
    }

    /// A counter that grows with each change to a task.
    pub fn looks(&self) -> u64 {
        self.tasks.looks()
    }

    /// All tasks that changed after the counter was at `looks`. Each comes with its number in the order of first
    /// appearance and its 0-based step in the current list. The order is that of the sheet. A task precedes the tasks
    /// of the templates that it calls.
    pub fn changed_since(&self, looks: u64) -> Vec<(usize, &TaskRun, Option<usize>)> {
        self.tasks.looked_since(looks)
    }

    /// Whether a step before the step of the task has a writer that has not ended.
    pub fn has_writer_before(&self, task: &Slug) -> bool {
        self.tasks.has_writer_before(task)
    }

    /// The finished tasks, in the order in which they first appeared.
    pub fn done(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks().filter(|task| task.state() == State::Done)
    }

    /// All slugs that were ever given, including former ones (spec 6.3).
    pub fn taken(&self) -> impl Iterator<Item = &Slug> {
        self.tasks.slugs()
    }

    /// Whether a person approved every writer of this run (spec 11.5).
    pub fn writer_approval(&self) -> bool {
        self.gates.approves_all()
    }

    /// The problems that no accepted iteration has seen yet: `task_problems`.
    pub fn problems(&self) -> impl Iterator<Item = Problem<'_>> {
        self.all_problems().filter(|problem| problem.task.has_open_problem())
    }

    /// All tasks that are failed, denied or blocked now, for the report. What a person has replaced or removed does not
    /// count.
    pub fn all_problems(&self) -> impl Iterator<Item = Problem<'_>> {
        self.tasks().filter(|task| self.judged(task) != State::Dropped).filter_map(|task| {
            let kind = match &task.phase {
                TaskPhase::Failed { failure, .. } => ProblemKind::Failed {
                    reason: &failure.reason,
                    issues: &failure.issues,
                    communication: failure.communication,
                },
                TaskPhase::Denied { words, .. } => ProblemKind::Denied { words },
                TaskPhase::Blocked { by, .. } => ProblemKind::Blocked { cause: by },
                _ => return None,
            };
            Some(Problem { task, kind })
        })
    }

    /// The attempts of the unit that the call belongs to: the attempt number, the budget scale, and the issues and
    /// the reply of the last refusal.
    pub fn attempts(&self, key: &CallKey) -> Option<&Attempts> {
        let task = || self.tasks.get(key.task.as_ref()?);
        match key.phase {
            Phase::Route if key.run.is_some() => self.progress.routing().attempts(key.run.as_ref()?),
            Phase::Route | Phase::Plan | Phase::Iterate | Phase::Continue | Phase::Join => self.calls.list(key.phase),
            Phase::Refine => task().map(|task| &task.refine),
            Phase::Execute | Phase::Review => task()?.run(key.run.as_ref()?).map(|run| &run.attempts),
            Phase::Merge => task()?.merge.as_ref().map(|merge| &merge.attempts),
        }
    }

    /// A list whose tasks still need skills, with the skills chosen so far, and the parts of the reply beside its
    /// tasks.
    pub fn drafted(&self) -> Option<(&TaskList, &Beside)> {
        self.progress.routing().list()
    }

    /// The tasks of the drafted list that still need a skill.
    pub fn unrouted_tasks(&self) -> impl Iterator<Item = &Task> {
        self.progress.routing().open().map(|(task, _)| task)
    }

    /// The task of the drafted list for which the routing call is to choose a skill.
    pub fn routed_task(&self, key: &CallKey) -> Option<&Task> {
        let slug = key.run.as_ref()?.as_str();
        self.unrouted_tasks().find(|task| task.slug.as_str() == slug)
    }

    /// The title of the execution that the call belongs to (spec 10.1). Empty if the execution has no title.
    pub fn part(&self, key: &CallKey) -> &str {
        let task = key.task.as_ref().and_then(|slug| self.tasks.get(slug));
        let exec = key.run.as_ref().and_then(|id| task?.run(id));
        exec.map(|exec| exec.title.as_str()).unwrap_or_default()
    }

    /// The change set, if it is not on disk yet.
    pub fn pending_changes(&self, task: &Slug, run: &ExecutionId, set: u32) -> Option<&ChangeSet> {
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.changes.get(&key).map(|pending| &pending.changes)
    }

    /// The result of checking a change set that is not on disk yet.
    pub fn check_of_changes(&self, task: &Slug, run: &ExecutionId, set: u32) -> Option<&CheckReport> {
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.changes.get(&key)?.check.as_ref()
    }

    /// The model calls of this run whose replies later calls may reuse, oldest first.
    pub fn calls_offered(&self) -> &[CallRecord] {
        self.calls.offered()
    }

    /// The other run whose replies this run may reuse.
    pub fn reuses_run(&self) -> Option<&RunId> {
        self.setup.reused()
    }

    /// The model calls that gave a reply, in the order in which they were recorded.
    pub fn calls(&self) -> &[CallRecord] {
        self.calls.records()
    }

    /// The model calls of one task, by the slug that the task had then.
    pub fn calls_of(&self, task: &Slug) -> impl DoubleEndedIterator<Item = &CallRecord> {
        self.calls.of_task(task)
    }

    /// The model calls of one task, except the reviews of its results.
    pub fn turns_of(&self, task: &Slug) -> impl DoubleEndedIterator<Item = &CallRecord> {
        self.calls_of(task).filter(|call| call.key.phase != Phase::Review)
    }

    /// The tasks that have a result whose review is not over.
    pub fn reviewed(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks.reviewed().filter(|task| task.runs.iter().any(Execution::has_open_review))
    }

    /// The record of one call.
    pub fn call_record(&self, key: &CallKey) -> Option<&CallRecord> {
        self.calls.get(key)
    }

    /// Totals of calls, tokens and cost, and repairs by code.
    pub fn totals(&self) -> Totals {
        let spent = self.ledger.of_run();
        Totals {
            calls: spent.calls,
            failed_calls: spent.failed_calls,
            input: spent.input,
            output: spent.output,
            cached: spent.cached,
            cost_usd: spent.cost_usd,
            unpriced_calls: spent.unpriced_calls,
            tools: self.calls.tools(),
            repairs: self.calls.repairs().clone(),
        }
    }

    /// What a task of a tree and all tasks below it have used.
    pub fn spent(&self, op: &NodeInstance) -> Spent {
        self.ledger.of_task(&op.id)
    }

    /// The smallest number of model calls that the run so far needed without retries (spec 2.14).
    pub fn minimum_calls(&self) -> u32 {
        self.calls.minimum()
    }

    /// Milliseconds during which work was in flight.
    pub fn busy_ms(&self) -> u64 {
        self.clock.spent_ms(self.clock.now())
    }

    /// How the time of the run was spent, up to the last event.
    pub fn times(&self) -> Times {
        self.clock.times()
    }

    /// How the time of the run was spent, up to `at`, for viewers of a working run.
    pub fn times_at(&self, at: u64) -> Times {
        self.clock.times_at(at, counts_as(self, false))
    }

    /// What the last resume did not have to repeat. `None` if the run was never resumed.
    pub fn reused(&self) -> Option<Reuse> {
        self.clock.reused()
    }

    /// The limit that ended the run, if one did.
    pub fn ended_by(&self) -> Option<Limit> {
        self.progress.ended_by().filter(|_| self.outcome() == Some(Outcome::LimitReached))
    }

    /// The limits that affected this run.
    pub fn limits_reached(&self) -> impl Iterator<Item = Limit> {
        self.progress.notified().reached()
    }

    /// The prompt templates that this run used, by key, each with the content of its last use (spec 8.1).
    pub fn prompts_used(&self) -> &BTreeMap<String, PromptFile> {
        self.setup.prompts()
    }

    /// Whether a rendering of `sheet.md` with this content was recorded.
    pub fn has_rendered(&self, hash: &BlobId) -> bool {
        self.sheet.has_rendered(hash)
    }

    /// Whether any rendering was recorded.
    pub fn has_rendered_any(&self) -> bool {
        self.sheet.has_rendered_any()
    }

    /// The latest content of `sheet.md`, as last rendered or as last read from an edit, and the time of that event in
    /// milliseconds since the Unix epoch.
    pub fn last_sheet(&self) -> Option<(&BlobId, u64)> {
        self.sheet.last_file()
    }

    /// The policy of a tool (spec 11.1).
    pub fn policy(&self, tool: &str) -> ToolPolicy {
        self.setup.policy(tool)
    }

    /// Tasks that a faulty edit of the sheet changes or removes. They do not start until the edit is corrected (spec
    /// 2.18). `None` if there is no such edit.
    pub fn held_by_edit(&self) -> Option<&BTreeSet<Slug>> {
        self.sheet.held()
    }

    /// Whether the effect is outstanding.
    pub fn is_outstanding(&self, key: &EffectKey) -> bool {
        self.in_flight.is_pending(key)
    }

    /// Whether the effect has started and its result has not been applied.
    pub fn is_in_flight(&self, key: &EffectKey) -> bool {
        self.in_flight.contains(key)
    }

    /// Whether the reply of the call is still to be read.
    pub(super) fn is_to_be_read(&self, key: &CallKey) -> bool {
        self.in_flight.is_pending(&EffectKey::Read(key.clone()))
    }

    /// The problems that hold a step. They hold the next step that has a writer until an accepted iteration has seen
    /// them (spec 2.9).
    pub(super) fn held_by(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        let asked = self.progress.rounds().has_passed_gate(step);
        let may_hold = !asked && self.tasks.pending_of(step).any(|task| task.writer.is_some());
        let tasks = may_hold.then(|| self.tasks.values()).into_iter().flatten();
        tasks.filter(|task| task.is_own() && task.has_open_problem())
    }

    pub(super) fn is_held(&self, step: usize) -> bool {
        self.held_by(step).next().is_some()
    }

    /// Whether the next step may start.
    pub(super) fn may_start_step(&self) -> bool {
        self.tasks.current_step().is_some_and(|step| !self.is_held(step))
    }

    /// The attempts that a call belongs to.
    pub(super) fn attempts_mut(&mut self, key: &CallKey) -> Option<&mut Attempts> {
        if key.task.is_none() {
            return match &key.run {
                Some(task) => self.progress.routing_mut().attempts_mut(task),
                None => self.calls.list_mut(key.phase),
            };
        }
        let task = self.tasks.get_mut(key.task.as_ref()?)?;
        match key.phase {
            Phase::Refine => Some(&mut task.refine),
            // A review counts as part of the attempt that gave the result.
            Phase::Execute | Phase::Review => task.run_mut(key.run.as_ref()?).map(|run| &mut run.attempts),
            Phase::Merge => task.merge.as_mut().map(|merge| &mut merge.attempts),
            _ => None,
        }
    }

    pub(super) fn tool_mut(&mut self, task: &Slug, run: &ExecutionId, call: &str) -> Option<&mut ToolRun> {
        self.tasks.get_mut(task)?.run_mut(run)?.call_mut(call)
    }
}
