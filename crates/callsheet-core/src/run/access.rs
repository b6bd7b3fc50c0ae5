//! What the driver, prompts and views read off a run.

use crate::issue::Issue;
use crate::record::{CallKey, ChangeSet, Entry, Outcome, ToolPolicy};
use crate::spec::{ExecRunId, Goals, Phase, RunId, Settings, Slug};

use super::task::SetKey;
use super::{Attempts, CallRecord, Limit, Run, Stage, State, TaskRun};

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
        self.id.as_ref()
    }

    /// How it began.
    pub fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    /// The original prompt (spec 2.1); empty before `RunStarted`.
    pub fn prompt(&self) -> &str {
        self.entry.as_ref().map_or("", Entry::prompt)
    }

    /// Accepted follow-ups, verbatim, in order (spec 2.17).
    pub fn follow_ups(&self) -> &[String] {
        &self.follow_ups
    }

    /// The follow-up whose list is not accepted yet.
    pub fn pending_follow_up(&self) -> Option<&str> {
        self.follow_up.as_deref()
    }

    /// The original prompt, the accepted follow-ups, and the one that is being asked for: what headings of references may
    /// mean (spec 5.1). Empty before `RunStarted`.
    pub fn prompts(&self) -> Vec<&str> {
        let all = [self.prompt()].into_iter().chain(self.follow_ups.iter().map(String::as_str));
        all.chain(self.follow_up.as_deref()).filter(|text| !text.is_empty()).collect()
    }

    /// Whether a task was listed for the latest follow-up, or for the request if there is none.
    pub fn is_of_latest(&self, task: &TaskRun) -> bool {
        self.follow_ups.is_empty() || task.round > self.rounds_before
    }

    /// Task trees that run here, and what was opened of them.
    pub fn operators(&self) -> &super::Operators {
        &self.operators
    }

    /// Whether a task of the tree, or one above it, has spent a budget of its own (spec "Templates" 9).
    pub fn is_spent(&self, op: &super::TaskOp) -> bool {
        super::limits::is_spent(self, op)
    }

    /// Names of the registered tools with what they do, in the order of names.
    pub fn tools(&self) -> impl Iterator<Item = (&str, ToolPolicy)> {
        self.tool_policies.iter().map(|(name, policy)| (name.as_str(), *policy))
    }

    /// Settings in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Goals and markers of the latest accepted list.
    pub fn goals(&self) -> &Goals {
        &self.goals
    }

    /// Goals of earlier lists, oldest first.
    pub fn former_goals(&self) -> &[Goals] {
        &self.former_goals
    }

    /// Links that iterations marked as no longer relevant (spec 5.10).
    pub fn no_longer_relevant(&self) -> &[String] {
        &self.no_longer_relevant
    }

    /// What the latest list reply said under `Issues with the tasks`, for the person only.
    pub fn remarks(&self) -> &str {
        &self.remarks
    }

    /// The message for a person that goes with the stage or outcome, if there is one.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// What the run is doing.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The round, from 1, counted anew at a resume; 0 before the first list.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Rounds since the start of the run.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// How the run ended, or why it waits; `None` while it goes on or still owes its report.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.stage {
            Stage::Concluded(outcome) => Some(outcome),
            _ => self.waiting,
        }
    }

    /// The number of the last fact that was applied.
    pub fn last_fact(&self) -> u64 {
        self.last_fact
    }

    /// The time of the last fact, milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> u64 {
        self.now
    }

    /// A list was ever accepted.
    pub fn has_list(&self) -> bool {
        self.list_adopted
    }

    /// Slugs of the current list by step, in sheet order.
    pub fn steps(&self) -> &[Vec<Slug>] {
        self.tasks.steps()
    }

    /// The step that runs, 0-based; `None` when all tasks of the list have ended.
    pub fn step(&self) -> Option<usize> {
        self.current_step()
    }

    /// The 0-based step of a task in the current list.
    pub fn step_of(&self, slug: &Slug) -> Option<usize> {
        self.tasks.step_of(slug)
    }

    /// A task by slug or by the former slug of a renamed task (spec 6.4).
    pub fn task(&self, slug: &Slug) -> Option<&TaskRun> {
        self.tasks.get(slug).or_else(|| self.tasks.get(self.aliases.get(slug)?))
    }

    /// Every task that was listed, or of the template that is run, in the order of first appearance. What templates that a
    /// listed task calls are made of is not among them.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks.in_order().filter(|task| task.below.is_none())
    }

    /// Tasks of the templates that a listed task calls, in the order they were opened.
    pub fn tasks_below(&self, task: &Slug) -> impl Iterator<Item = &TaskRun> {
        self.tasks.below(task)
    }

    /// Every task of the run, each behind the one whose call it is part of.
    pub fn all_tasks(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks().flat_map(|task| std::iter::once(task).chain(self.tasks_below(&task.task.slug)))
    }

    /// Where a task stands for people. The work of a task of a template may be done and its result a failure: it failed,
    /// and until its result is judged it runs.
    pub fn standing(&self, task: &TaskRun) -> State {
        let Some(op) = self.operators.of_leaf(&task.task.slug).filter(|_| task.state == State::Done) else {
            return task.state;
        };
        let is_former = op.reparse.is_some() || op.leaf().as_ref() != Some(&task.task.slug);
        match &op.closed {
            _ if is_former => State::Failed,
            Some(_) if op.failed() => State::Failed,
            Some(_) => State::Done,
            None => State::Running,
        }
    }

    /// Every task as in [`Run::tasks`], with its 0-based step in the current list, as [`Run::step_of`] gives it.
    pub fn tasks_with_steps(&self) -> impl Iterator<Item = (&TaskRun, Option<usize>)> {
        self.tasks.in_order_with_steps().filter(|(task, _)| task.below.is_none())
    }

    /// Finished tasks, in the order of first appearance.
    pub fn done(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks().filter(|task| task.state == State::Done)
    }

    /// Every slug ever given, former ones included (spec 6.3).
    pub fn taken(&self) -> impl Iterator<Item = &Slug> {
        self.tasks().map(|task| &task.task.slug).chain(self.aliases.keys())
    }

    /// Whether a person approved every writer of this run (spec 11.5).
    pub fn writer_approval(&self) -> bool {
        self.writer_approval
    }

    /// What no accepted iteration has seen yet: `task_problems`.
    pub fn problems(&self) -> impl Iterator<Item = Problem<'_>> {
        self.all_problems().filter(|problem| !problem.task.problem_seen)
    }

    /// Every task that is failed, denied or blocked now, for the report.
    pub fn all_problems(&self) -> impl Iterator<Item = Problem<'_>> {
        self.tasks().filter_map(|task| {
            let kind = match task.state {
                State::Failed => {
                    let failure = task.failure.as_ref();
                    ProblemKind::Failed {
                        reason: failure.map_or("", |failure| &failure.reason),
                        issues: failure.map_or(&[], |failure| &failure.issues),
                        communication: failure.is_some_and(|failure| failure.communication),
                    }
                }
                State::Denied => ProblemKind::Denied { words: task.denial.as_deref().unwrap_or_default() },
                State::Blocked => ProblemKind::Blocked { cause: task.blocked_by.as_ref().unwrap_or(&task.task.slug) },
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
            Phase::Plan => Some(&self.plan),
            Phase::Iterate => Some(&self.iterate),
            Phase::Continue => Some(&self.follow),
            Phase::Refine => task().map(|task| &task.refine),
            Phase::Execute | Phase::Review => task()?.run(key.run.as_ref()?).map(|run| &run.attempts),
            Phase::Merge => task()?.merge.as_ref().map(|merge| &merge.attempts),
        }
    }

    /// What the execution run of a call is called (spec 10.1); empty if it has no name of its own.
    pub fn part(&self, key: &CallKey) -> &str {
        let task = key.task.as_ref().and_then(|slug| self.tasks.get(slug));
        let exec = key.run.as_ref().and_then(|id| task?.run(id));
        exec.map(|exec| exec.title.as_str()).unwrap_or_default()
    }

    /// A change set that is not on disk yet.
    pub fn pending_changes(&self, task: &Slug, run: &ExecRunId, set: u32) -> Option<&ChangeSet> {
        let key = SetKey { task: task.clone(), run: run.clone(), set };
        self.sets.get(&key).map(|pending| &pending.changes)
    }

    /// Model calls that gave a reply, in the order they were recorded.
    pub fn calls(&self) -> &[CallRecord] {
        &self.calls
    }

    /// Those of one task, by the slug it had.
    pub fn calls_of(&self, task: &Slug) -> impl DoubleEndedIterator<Item = &CallRecord> {
        let places = self.task_calls.get(task).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| self.calls.get(*place))
    }

    /// Those of one task without the reviews of its results.
    pub fn turns_of(&self, task: &Slug) -> impl DoubleEndedIterator<Item = &CallRecord> {
        self.calls_of(task).filter(|call| call.key.phase != Phase::Review)
    }

    /// The record of one call.
    pub fn call_record(&self, key: &CallKey) -> Option<&CallRecord> {
        self.calls.get(*self.call_index.get(key)?)
    }

    /// The least number of model calls that what happened so far needs without retries (spec 2.14).
    pub fn minimum_calls(&self) -> u32 {
        self.minimum_calls
    }

    /// Milliseconds in which work was in flight.
    pub fn busy_ms(&self) -> u64 {
        self.clock.spent_ms(self.now)
    }

    /// Milliseconds that are left of the run's own time; `None`: there is no limit.
    pub fn time_left_ms(&self) -> Option<u64> {
        super::limits::time_left_ms(self)
    }

    /// Milliseconds of the longest dependency chain of measured times: what the run would have taken with unlimited
    /// slots.
    pub fn ideal_ms(&self) -> u64 {
        self.ideal_pass_ms().saturating_add(self.list_calls_ms())
    }

    /// The limit that ended the run, if one did.
    pub fn ended_by(&self) -> Option<Limit> {
        self.ended_by.filter(|_| self.outcome() == Some(Outcome::LimitReached))
    }

    /// Limits that shaped this run.
    pub fn limits_reached(&self) -> impl Iterator<Item = Limit> {
        self.reached.iter().copied()
    }

    /// How far the limits of the run are used.
    pub fn limit_uses(&self) -> Vec<LimitUse> {
        super::limits::uses(self)
    }
}
