//! Moves a task from one phase to the next by the table of spec 2.10, and releases what the task no longer needs.

use std::sync::Arc;

use crate::adopt::is_same_work;
use crate::issue::{Issue, IssueCode};
use crate::nouns::{ExecutionId, SkillPolicy, Slug, Task};
use crate::record::{EffectKey, PlannedTask, ResultParts};

use super::Run;
use super::execution::{Execution, ToolState};
use super::failure::Failure;
use super::ideal::Ideal;
use super::ledger::Holder;
use super::refused::RefusedMove;
use super::state::State;
use super::task::{Notice, ReferenceCheck, Refined, RemovedBy, TaskPhase, TaskRun};
use super::unended::Unended;

/// Changes the phases of tasks.
pub(super) struct TaskChange<'a>(pub &'a mut Run);

impl TaskChange<'_> {
    /// Moves a task by the table. Nothing happens if the task already has the state. Events were checked before, so a
    /// move outside the table is a defect. It is noted, and the task keeps its state.
    pub fn enter(&mut self, slug: &Slug, to: TaskPhase) {
        let state = to.state();
        let from = self.0.tasks.get(slug).map(TaskRun::state);
        if from == Some(state) {
            return;
        }
        let Some(task) = self.0.tasks.get_mut(slug).filter(|_| from.is_some_and(|from| from.may_become(state))) else {
            let after = self.0.last_fact();
            self.0.tasks.refuse(RefusedMove { task: slug.clone(), from, to: state, after });
            return;
        };
        task.phase = to;
        if state.is_ended() {
            self.release(slug);
        }
    }

    /// Makes a task planned again for a person. No other move leads out of `done`.
    pub fn reopen(&mut self, slug: &Slug) {
        match self.0.tasks.get_mut(slug) {
            Some(task) if task.state() == State::Done => task.phase = TaskPhase::Planned,
            _ => self.enter(slug, TaskPhase::Planned),
        }
    }

    /// Lists a task in a round. `policy` is that of its skill.
    pub fn list(&mut self, planned: &PlannedTask, policy: Option<&SkillPolicy>, issues: &[Issue], round: u32) {
        let run = &mut *self.0;
        let slug = planned.task.slug.clone();
        for alias in &planned.task.aliases {
            run.tasks.alias(alias.clone(), slug.clone());
        }
        let is_problem = run.tasks.get(&slug).is_some_and(|task| task.state().is_problem());
        match run.tasks.get_mut(&slug) {
            None => {
                run.tasks.insert(slug.clone(), TaskRun::new(planned.task.clone()));
            }
            Some(task) if task.state() == State::Running || planned.unchanged && !task.state().is_ended() => {
                task.round = round;
                return;
            }
            Some(_) => {
                let mut change = TaskChange(run);
                change.enter(&slug, TaskPhase::Planned);
                // What was in flight or waiting belonged to another text.
                change.abort_in_flight(&slug);
                change.abandon_calls(&slug, None);
                run.changes.make_stale(&slug);
            }
        }
        let revision = run.changes.revision();
        run.ledger.open(&slug, Holder::Task(slug.clone()), None);
        let plan_complete = run.sheet.goals().plan_complete;
        let Some(task) = run.tasks.get_mut(&slug) else { return };
        let relisted = is_problem && is_same_work(&task.task, &planned.task);
        task.restart(revision);
        (task.plan_complete, task.relisted) = (plan_complete, relisted);
        task.note_former();
        task.task = planned.task.clone();
        task.direct = planned.direct;
        task.writer.clone_from(&planned.writer);
        if task.task.approval && task.writer.is_none() {
            task.writer = Some(Task::ASKS_FOR_APPROVAL.to_owned());
        }
        task.skill = policy.cloned();
        task.round = round;
        // If a call of the plan was dropped, the task must be refined (spec 3.4).
        let call_dropped = issues.iter().any(|issue| {
            issue.code == IssueCode::CallDropped && issue.place.task.as_deref() == Some(planned.task.name.as_str())
        });
        if call_dropped {
            task.refined = Refined::Due;
        }
    }

    /// Makes a ready task running, because the first work of its execution started.
    pub fn enter_running(&mut self, slug: &Slug) {
        if self.0.tasks.get(slug).is_some_and(|task| task.state() == State::Ready) {
            self.enter(slug, TaskPhase::Running);
        }
    }

    pub fn fail(&mut self, slug: &Slug, failure: Failure) {
        self.enter(slug, TaskPhase::failed(failure));
    }

    pub fn block(&mut self, slug: &Slug, by: Slug) {
        self.enter(slug, TaskPhase::Blocked { by, notice: Notice::New });
    }

    /// Denies a task. It is not executed, and its pending changes are discarded (spec 11.7).
    pub fn deny(&mut self, slug: &Slug, words: &str) {
        self.enter(slug, TaskPhase::Denied { words: words.to_owned(), notice: Notice::New });
    }

    /// Finishes a task (spec 10.5).
    pub fn finish(&mut self, slug: &Slug, mut result: Arc<ResultParts>) {
        let run = &mut *self.0;
        let Some(task) = run.tasks.get_mut(slug) else { return };
        let of_runs = task.runs.iter().filter_map(|exec| exec.result()).any(|result| result.more_work);
        // The request counts once for each task, and not if the list says that it is complete (spec 2.13).
        if (of_runs || result.more_work) && !task.plan_complete && !task.asked_for_more {
            task.asked_for_more = true;
            run.progress.rounds_mut().note_more_work();
        }
        if task.merge.is_some() {
            Arc::make_mut(&mut result).details = task.details();
        }
        // Readers of the result must know what a person refused of the changes (spec 11.4).
        for part in task.refused() {
            let result = Arc::make_mut(&mut result);
            result.summary = format!("{}\n\n{}", result.summary.trim_end(), part.told);
        }
        self.enter(slug, TaskPhase::Done(result));
    }

    /// Releases everything that an ended task has. A cancelled task may be resumed, so its effects in flight stay
    /// known until the resume settles them.
    fn release(&mut self, slug: &Slug) {
        if self.0.tasks.get(slug).is_some_and(|task| task.state() != State::Cancelled) {
            self.abort_in_flight(slug);
            self.abandon_calls(slug, None);
        }
        if let Some(task) = self.0.tasks.get_mut(slug) {
            if task.is_being_checked() {
                task.check = ReferenceCheck::Open;
            }
            task.release_slots();
        }
        Ideal(self.0).note_end(slug);
    }

    /// Gives up the trees of a task's calls, because the task or one of its executions ended or starts again.
    pub fn abandon_calls(&mut self, slug: &Slug, run: Option<&ExecutionId>) {
        for leaf in self.0.operators.abandon(slug, run) {
            self.give_up(leaf);
        }
        // If the task comes back with this execution, its call begins again.
        let own = |exec: &&mut Execution| run.is_none_or(|run| exec.id == *run);
        let runs = self.0.tasks.get_mut(slug).into_iter().flat_map(|task| &mut task.runs).filter(own);
        for call in runs.flat_map(|exec| &mut exec.calls) {
            if matches!(call.state, ToolState::Mounted(_)) {
                call.state = ToolState::Queued;
            }
        }
    }

    /// Gives up a handler or process that has not ended, because what it works for begins again or ended.
    pub fn give_up(&mut self, leaf: usize) {
        let open = self.0.tasks.at_mut(leaf).filter(|leaf| !leaf.state().is_ended());
        if let Some(open) = open {
            open.phase = TaskPhase::Dropped(RemovedBy::Caller);
            let leaf = open.slug();
            self.release(&leaf);
        }
    }

    /// Drops what a task has in flight and what waits for a person. An apply in flight goes on, because changes must
    /// not be applied by half (spec 3.10). A person is asked before a command that is cut off runs again (spec 2.18).
    pub fn abort_in_flight(&mut self, slug: &Slug) {
        let cut_off = Unended(self.0).at_work(slug);
        let run = &mut *self.0;
        let given_up = run.in_flight.abort_task(slug);
        return_reserves(run, &given_up);
        let in_flight = &run.in_flight;
        run.changes.abort_task(slug, |apply| in_flight.contains(apply));
        // They are in flight no longer, so their approvals end, too.
        cut_off.iter().for_each(|call| Unended(run).note(slug, call));
    }
}

/// Returns the reservations of calls that were given up, so that other calls can use them.
pub(super) fn return_reserves(run: &mut Run, given_up: &[EffectKey]) {
    for key in given_up {
        if let EffectKey::Ask(call) = key {
            run.ledger.released(call);
        }
    }
}
