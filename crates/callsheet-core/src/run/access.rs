//! What the driver, prompts and views read off the parts of a run, and where one of them is reached through another.

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

/// A task that ended without output, for `task_problems` (spec 2.9) and the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem<'a> {
    /// The task.
    pub task: &'a TaskRun,
    /// What happened.
    pub kind: ProblemKind<'a>,
}

/// What happened to a task that ended without output.
#[derive(Clone, Debug, PartialEq)]
pub enum ProblemKind<'a> {
    /// It failed.
    Failed {
        /// Why.
        reason: &'a str,
        /// Issues of its last reply or check.
        issues: &'a [Issue],
        /// The provider could not be reached.
        communication: bool,
    },
    /// A person refused it.
    Denied {
        /// Their words, verbatim; may be empty.
        words: &'a str,
    },
    /// It waits for something that will not come.
    Blocked {
        /// The task that caused it; itself if a policy holds it.
        cause: &'a Slug,
    },
}

/// How far a limit of the run, or of one task of its tree, is used, for telling at the warning threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitUse {
    /// The task of the tree whose limit it is; `None`: the run's.
    pub task: Option<Slug>,
    /// Which.
    pub limit: Limit,
    /// Used, in the unit of the limit (seconds for times).
    pub used: f64,
    /// The limit.
    pub max: f64,
    /// The share of it from which on it is told.
    pub threshold: f64,
}

impl LimitUse {
    /// Whether so much of it is used that it is told.
    pub fn is_near(&self) -> bool {
        self.used > 0.0 && self.used >= self.max * self.threshold
    }
}

impl Run {
    /// Name of the run; `None` before `RunStarted`.
    pub fn id(&self) -> Option<&RunId> {
        self.setup.id()
    }

    /// How it began.
    pub fn entry(&self) -> Option<&Entry> {
        self.setup.entry()
    }

    /// The original prompt (spec 2.1); empty before `RunStarted`.
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

    /// The original prompt, the accepted follow-ups, and the one that is being asked for: what headings of references may
    /// mean (spec 5.1). Empty before `RunStarted`.
    pub fn prompts(&self) -> Vec<&str> {
        let all = [self.prompt()].into_iter().chain(self.follow_ups.accepted().iter().map(String::as_str));
        all.chain(self.follow_ups.pending()).filter(|text| !text.is_empty()).collect()
    }

    /// Whether a task was listed for the latest follow-up, or for the request if there is none.
    pub fn is_of_latest(&self, task: &TaskRun) -> bool {
        self.follow_ups.accepted().is_empty() || task.round > self.follow_ups.rounds_before()
    }

    /// Task trees that run here, and what was opened of them.
    pub fn operators(&self) -> &Operators {
        &self.operators
    }

    /// Names of the registered tools with what they do, in the order of names.
    pub fn tools(&self) -> impl Iterator<Item = (&str, ToolPolicy)> {
        self.setup.tools()
    }

    /// Settings in force.
    pub fn settings(&self) -> &Settings {
        self.setup.settings()
    }

    /// Goals and markers of the latest accepted list.
    pub fn goals(&self) -> &Goals {
        self.sheet.goals()
    }

    /// Goals of earlier lists, oldest first.
    pub fn former_goals(&self) -> &[Goals] {
        self.sheet.former_goals()
    }

    /// Links that iterations marked as no longer relevant (spec 5.10).
    pub fn no_longer_relevant(&self) -> &[String] {
        self.sheet.no_longer_relevant()
    }

    /// What the latest list reply said under `Issues with the tasks`, for the person only.
    pub fn remarks(&self) -> &[String] {
        self.sheet.remarks()
    }

    /// The message for a person that goes with the stage or outcome, if there is one.
    pub fn message(&self) -> Option<&str> {
        self.progress.message()
    }

    /// What the run is doing.
    pub fn stage(&self) -> Stage {
        self.progress.stage()
    }

    /// The round, from 1, counted anew at a resume; 0 before the first list.
    pub fn round(&self) -> u32 {
        self.progress.rounds().current()
    }

    /// Rounds since the start of the run.
    pub fn rounds(&self) -> u32 {
        self.progress.rounds().total()
    }

    /// How the run ended, or why it waits; `None` while it goes on or still owes its report.
    pub fn outcome(&self) -> Option<Outcome> {
        self.progress.outcome()
    }

    /// Moves that accepted events asked for and the machine refused: defects.
    pub fn refused_moves(&self) -> &[RefusedMove] {
        self.tasks.refused()
    }

    /// Whether an order of this key was carried out.
    pub fn has_carried_out(&self, key: &str) -> bool {
        self.clock.has_carried_out(key)
    }

    /// The number of the last fact that was applied.
    pub fn last_fact(&self) -> u64 {
        self.clock.last_entry()
    }

    /// The time of the last fact, milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> u64 {
        self.clock.now()
    }

    /// A list was ever accepted.
    pub fn has_list(&self) -> bool {
        self.sheet.has_list()
    }

    /// Slugs of the current list by step, in sheet order.
    pub fn steps(&self) -> &[Vec<Slug>] {
        self.tasks.steps()
    }

    /// The step that runs, 0-based; `None` when all tasks of the list have ended.
    pub fn step(&self) -> Option<usize> {
        self.tasks.current_step()
    }

    /// The 0-based step of a task in the current list.
    pub fn step_of(&self, slug: &Slug) -> Option<usize> {
        self.tasks.step_of(slug)
    }

    /// A task by slug or by the former slug of a renamed task (spec 6.4).
    pub fn task(&self, slug: &Slug) -> Option<&TaskRun> {
        self.tasks.find(slug)
    }

    /// Every task that was listed, or of the template that is run, in the order of first appearance. What templates that a
    /// listed task calls are made of is not among them.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks.in_order().filter(|task| task.is_own())
    }

    /// Tasks of the templates that a listed task calls, in the order they were opened.
    pub fn tasks_below(&self, task: &Slug) -> impl Iterator<Item = &TaskRun> {
        self.tasks.below(task)
    }

    /// Every task of the run, each behind the one whose call it is part of.
    pub fn all_tasks(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks().flat_map(|task| std::iter::once(task).chain(self.tasks_below(&task.task.slug)))
    }

    /// Where a task stands for people: it runs only while something works at it. One that merely waits for a person is
    /// ready, and in a run that has ended or waits every task is as a resume finds it.
    pub fn standing(&self, task: &TaskRun) -> State {
        let state = self.judged(task);
        if self.outcome().is_some() || state == State::Running && self.merely_asks(&task.task.slug) {
            return state.at_rest();
        }
        state
    }

    /// A person is asked about a task, and nothing of it is in flight.
    fn merely_asks(&self, slug: &Slug) -> bool {
        let approval = Approval(self);
        let asks = approval.open_gates().any(|gate| gate_names(&gate, slug))
            || approval.questions().any(|question| question.task() == Some(slug));
        asks && !self.in_flight.works_by_itself(slug)
    }

    /// The work of a task of a template may be done and its result a failure: it failed, and until its result is judged it
    /// runs. What a person had done again counts no more.
    fn judged(&self, task: &TaskRun) -> State {
        let Some(op) = self.operators.of_leaf(&task.task.slug) else { return task.state() };
        if task.state().is_ended() && op.is_replaced(&task.task.slug) {
            return State::Dropped;
        }
        if task.state() != State::Done {
            return task.state();
        }
        let is_former = op.reparse.is_some() || op.leaf().as_ref() != Some(&task.task.slug);
        match &op.closed {
            _ if is_former => State::Failed,
            Some(_) if op.failed() => State::Failed,
            Some(_) => State::Done,
            None => State::Running,
        }
    }

    /// Counts what happened to tasks.
    pub fn looks(&self) -> u64 {
        self.tasks.looks()
    }

    /// Every task of the run that something happened to since that count was `looks`, with its number in the order of first
    /// appearance and its 0-based step in the current list. In sheet order, each before those of the templates that it calls.
    pub fn changed_since(&self, looks: u64) -> Vec<(usize, &TaskRun, Option<usize>)> {
        self.tasks.looked_since(looks)
    }

    /// Whether a step before that of a task has a writer that has not ended.
    pub fn has_writer_before(&self, task: &Slug) -> bool {
        self.tasks.has_writer_before(task)
    }

    /// Finished tasks, in the order of first appearance.
    pub fn done(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks().filter(|task| task.state() == State::Done)
    }

    /// Every slug ever given, former ones included (spec 6.3).
    pub fn taken(&self) -> impl Iterator<Item = &Slug> {
        self.tasks.slugs()
    }

    /// Whether a person approved every writer of this run (spec 11.5).
    pub fn writer_approval(&self) -> bool {
        self.gates.approves_all()
    }

    /// What no accepted iteration has seen yet: `task_problems`.
    pub fn problems(&self) -> impl Iterator<Item = Problem<'_>> {
        self.all_problems().filter(|problem| problem.task.has_open_problem())
    }

    /// Every task that is failed, denied or blocked now, for the report.
    pub fn all_problems(&self) -> impl Iterator<Item = Problem<'_>> {
        self.tasks().filter_map(|task| {
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

    /// The attempts of the unit that a call belongs to: attempt number, budget scale, issues and reply of the last
    /// refusal.
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

    /// A list that waits for the skills of its tasks, with those that are known, and what stands beside its tasks.
    pub fn drafted(&self) -> Option<(&TaskList, &Beside)> {
        self.progress.routing().list()
    }

    /// The tasks of that list whose skills are still to come.
    pub fn unrouted_tasks(&self) -> impl Iterator<Item = &Task> {
        self.progress.routing().open().map(|(task, _)| task)
    }

    /// The task of that list whose skill a routing call is to choose.
    pub fn routed_task(&self, key: &CallKey) -> Option<&Task> {
        let slug = key.run.as_ref()?.as_str();
        self.unrouted_tasks().find(|task| task.slug.as_str() == slug)
    }

    /// What the execution run of a call is called (spec 10.1); empty if it has no name of its own.
    pub fn part(&self, key: &CallKey) -> &str {
        let task = key.task.as_ref().and_then(|slug| self.tasks.get(slug));
        let exec = key.run.as_ref().and_then(|id| task?.run(id));
        exec.map(|exec| exec.title.as_str()).unwrap_or_default()
    }

    /// A change set that is not on disk yet.
    pub fn pending_changes(&self, task: &Slug, run: &ExecutionId, set: u32) -> Option<&ChangeSet> {
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.changes.get(&key).map(|pending| &pending.changes)
    }

    /// How the check of a change set that is not on disk came out.
    pub fn check_of_changes(&self, task: &Slug, run: &ExecutionId, set: u32) -> Option<&CheckReport> {
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.changes.get(&key)?.check.as_ref()
    }

    /// Model calls of this run whose replies later ones may have, oldest first.
    pub fn calls_offered(&self) -> &[CallRecord] {
        self.calls.offered()
    }

    /// The other run whose replies calls may have.
    pub fn reuses_run(&self) -> Option<&RunId> {
        self.setup.reused()
    }

    /// Model calls that gave a reply, in the order they were recorded.
    pub fn calls(&self) -> &[CallRecord] {
        self.calls.records()
    }

    /// Those of one task, by the slug it had.
    pub fn calls_of(&self, task: &Slug) -> impl DoubleEndedIterator<Item = &CallRecord> {
        self.calls.of_task(task)
    }

    /// Those of one task without the reviews of its results.
    pub fn turns_of(&self, task: &Slug) -> impl DoubleEndedIterator<Item = &CallRecord> {
        self.calls_of(task).filter(|call| call.key.phase != Phase::Review)
    }

    /// Tasks with a result whose review is not over.
    pub fn reviewed(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks.reviewed().filter(|task| task.runs.iter().any(Execution::has_open_review))
    }

    /// The record of one call.
    pub fn call_record(&self, key: &CallKey) -> Option<&CallRecord> {
        self.calls.get(key)
    }

    /// Calls, tokens, cost, repairs by code.
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

    /// What a task of a tree and all below it spent.
    pub fn spent(&self, op: &NodeInstance) -> Spent {
        self.ledger.of_op(op.number)
    }

    /// The least number of model calls that what happened so far needs without retries (spec 2.14).
    pub fn minimum_calls(&self) -> u32 {
        self.calls.minimum()
    }

    /// Milliseconds in which work was in flight.
    pub fn busy_ms(&self) -> u64 {
        self.clock.spent_ms(self.clock.now())
    }

    /// What the time of the run went to, up to the last entry.
    pub fn times(&self) -> Times {
        self.clock.times()
    }

    /// The same up to now, for a run that is being watched.
    pub fn times_at(&self, at: u64) -> Times {
        self.clock.times_at(at, counts_as(self, false))
    }

    /// What the last resume had not to do again; `None`: the run was never resumed.
    pub fn reused(&self) -> Option<Reuse> {
        self.clock.reused()
    }

    /// The limit that ended the run, if one did.
    pub fn ended_by(&self) -> Option<Limit> {
        self.progress.ended_by().filter(|_| self.outcome() == Some(Outcome::LimitReached))
    }

    /// Limits that shaped this run.
    pub fn limits_reached(&self) -> impl Iterator<Item = Limit> {
        self.progress.notified().reached()
    }

    /// The prompt templates this run used, by key, as they were when they were used last (spec 8.1).
    pub fn prompts_used(&self) -> &BTreeMap<String, PromptFile> {
        self.setup.prompts()
    }

    /// Whether `sheet.md` was ever to be written with this content.
    pub fn has_rendered(&self, hash: &BlobId) -> bool {
        self.sheet.has_rendered(hash)
    }

    /// Whether any rendering was recorded.
    pub fn has_rendered_any(&self) -> bool {
        self.sheet.has_rendered_any()
    }

    /// What `sheet.md` was to hold last, or held when it was read as an edit last, and when that was recorded, in
    /// milliseconds since the Unix epoch.
    pub fn last_sheet(&self) -> Option<(&BlobId, u64)> {
        self.sheet.last_file()
    }

    /// What is known of a tool (spec 11.1).
    pub fn policy(&self, tool: &str) -> ToolPolicy {
        self.setup.policy(tool)
    }

    /// Tasks that an edit of the sheet with errors changes or lacks: nothing of them starts until it is right (spec 2.18).
    /// `None`: there is no such edit.
    pub fn held_by_edit(&self) -> Option<&BTreeSet<Slug>> {
        self.sheet.held()
    }

    /// Whether the effect is outstanding.
    pub fn is_outstanding(&self, key: &EffectKey) -> bool {
        self.in_flight.is_pending(key)
    }

    /// Whether the effect has been started and its result has not been applied.
    pub fn is_in_flight(&self, key: &EffectKey) -> bool {
        self.in_flight.contains(key)
    }

    /// The reply of the call is about to be read.
    pub(super) fn is_to_be_read(&self, key: &CallKey) -> bool {
        self.in_flight.is_pending(&EffectKey::Read(key.clone()))
    }

    /// The problems that hold a step: the next one that has a writer, until an accepted iteration has seen them (spec
    /// 2.9).
    pub(super) fn held_by(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        let asked = self.progress.rounds().has_passed_gate(step);
        let may_hold = !asked && self.tasks.pending_of(step).any(|task| task.writer.is_some());
        let tasks = may_hold.then(|| self.tasks.values()).into_iter().flatten();
        tasks.filter(|task| task.is_own() && task.has_open_problem())
    }

    pub(super) fn is_held(&self, step: usize) -> bool {
        self.held_by(step).next().is_some()
    }

    /// Whether the step that comes next is not held.
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
            // A review belongs to the attempt whose result it is about.
            Phase::Execute | Phase::Review => task.run_mut(key.run.as_ref()?).map(|run| &mut run.attempts),
            Phase::Merge => task.merge.as_mut().map(|merge| &mut merge.attempts),
            _ => None,
        }
    }

    pub(super) fn tool_mut(&mut self, task: &Slug, run: &ExecutionId, call: &str) -> Option<&mut ToolRun> {
        self.tasks.get_mut(task)?.run_mut(run)?.call_mut(call)
    }
}
