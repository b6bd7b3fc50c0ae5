//! A task goes from one phase to the next, along the table of spec 2.10, and lets go of what it held.

use std::sync::Arc;

use crate::adopt::is_same_work;
use crate::issue::{Issue, IssueCode};
use crate::nouns::{ExecutionId, SkillPolicy, Slug, Task};
use crate::record::{EffectKey, PlannedTask, ResultParts};

use super::Run;
use super::execution::{Execution, ToolState};
use super::failure::Failure;
use super::ideal::Ideal;
use super::refused::RefusedMove;
use super::state::State;
use super::task::{Notice, ReferenceCheck, Refined, RemovedBy, TaskPhase, TaskRun};

/// Changes the phases of tasks.
pub(super) struct TaskChange<'a>(pub &'a mut Run);

impl TaskChange<'_> {
    /// Moves a task along the table. Staying in a state is no move. What an event asks for was checked before, so a move that
    /// the table does not hold is a defect: it is noted, and the task stays.
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

    /// A person has a task done again. This is the one way out of `done`.
    pub fn reopen(&mut self, slug: &Slug) {
        match self.0.tasks.get_mut(slug) {
            Some(task) if task.state() == State::Done => task.phase = TaskPhase::Planned,
            _ => self.enter(slug, TaskPhase::Planned),
        }
    }

    /// Lists a task in a round. `policy`: that of its skill, if it names one that is there.
    pub fn list(&mut self, planned: &PlannedTask, policy: Option<Option<&SkillPolicy>>, issues: &[Issue], round: u32) {
        let run = &mut *self.0;
        let slug = planned.task.slug.clone();
        for alias in &planned.task.aliases {
            run.tasks.alias(alias.clone(), slug.clone());
        }
        let is_problem = run.tasks.get(&slug).is_some_and(|task| task.state().is_problem());
        match run.tasks.get_mut(&slug) {
            None => run.tasks.insert(slug.clone(), TaskRun::new(planned.task.clone())),
            Some(task) if task.state() == State::Running || planned.unchanged && !task.state().is_ended() => {
                task.round = round;
                return;
            }
            Some(_) => {
                let mut change = TaskChange(run);
                change.enter(&slug, TaskPhase::Planned);
                // What it had in flight or waiting was for another text.
                change.abort_in_flight(&slug);
                change.abandon_calls(&slug, None);
                run.changes.make_stale(&slug);
            }
        }
        let revision = run.changes.revision();
        run.ledger.open_task(&slug, None);
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
        task.skill = policy.flatten().cloned();
        task.skill_lost = matches!(policy, Some(None));
        task.round = round;
        // A plan-carried call that was dropped forces refinement (spec 3.4).
        let call_dropped = issues.iter().any(|issue| {
            issue.code == IssueCode::CallDropped && issue.place.task.as_deref() == Some(planned.task.name.as_str())
        });
        if call_dropped {
            task.refined = Refined::Due;
        }
    }

    /// The first piece of work of an execution makes a ready task run.
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

    /// Spec 11.7: the task is not executed, its pending changes are discarded.
    pub fn deny(&mut self, slug: &Slug, words: &str) {
        self.enter(slug, TaskPhase::Denied { words: words.to_owned(), notice: Notice::New });
    }

    /// The task is done (spec 10.5).
    pub fn finish(&mut self, slug: &Slug, mut result: Arc<ResultParts>) {
        let run = &mut *self.0;
        let Some(task) = run.tasks.get_mut(slug) else { return };
        let of_runs = task.runs.iter().filter_map(|exec| exec.result()).any(|result| result.more_work);
        // A list that says it is complete knows better, and no task asks twice (spec 2.13).
        if (of_runs || result.more_work) && !task.plan_complete && !task.asked_for_more {
            task.asked_for_more = true;
            run.progress.rounds_mut().note_more_work();
        }
        if task.merge.is_some() {
            Arc::make_mut(&mut result).details = task.details();
        }
        // Whoever reads the result hears what of it a person refused (spec 11.4).
        for part in task.refused() {
            let result = Arc::make_mut(&mut result);
            result.summary = format!("{}\n\n{}", result.summary.trim_end(), part.told);
        }
        self.enter(slug, TaskPhase::Done(result));
    }

    /// An ended task holds nothing. A cancelled one may be resumed, so what was in flight stays known until the resume
    /// settles it.
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

    /// The task, or one execution of it, ended or starts anew: nothing of the trees of its calls is done any more.
    pub fn abandon_calls(&mut self, slug: &Slug, run: Option<&ExecutionId>) {
        for leaf in self.0.operators.abandon(slug, run) {
            let open = self.0.tasks.get_mut(&leaf).filter(|leaf| !leaf.state().is_ended());
            if let Some(open) = open {
                open.phase = TaskPhase::Dropped(RemovedBy::Caller);
                self.release(&leaf);
            }
        }
        // Where the task comes back with this execution, its call begins anew.
        let own = |exec: &&mut Execution| run.is_none_or(|run| exec.id == *run);
        let runs = self.0.tasks.get_mut(slug).into_iter().flat_map(|task| &mut task.runs).filter(own);
        for call in runs.flat_map(|exec| &mut exec.calls) {
            if matches!(call.state, ToolState::Mounted(_)) {
                call.state = ToolState::Queued;
            }
        }
    }

    /// Gives up what a task has in flight and what of it waits for a person. An apply in flight is never abandoned:
    /// nothing may be applied half (spec 3.10).
    pub fn abort_in_flight(&mut self, slug: &Slug) {
        let run = &mut *self.0;
        let given_up = run.in_flight.abort_task(slug);
        return_reserves(run, &given_up);
        let in_flight = &run.in_flight;
        run.changes.abort_task(slug, |apply| in_flight.contains(apply));
    }
}

/// A call that was given up does not come back: what it reserved is free for others.
pub(super) fn return_reserves(run: &mut Run, given_up: &[EffectKey]) {
    for key in given_up {
        if let EffectKey::Ask(call) = key {
            run.ledger.released(call);
        }
    }
}
