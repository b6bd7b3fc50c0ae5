//! Settling: what follows from a fact without anybody doing anything; the ends of passes, rounds and runs.

use crate::record::Outcome;
use crate::spec::{Policy, Slug};

use super::steps::Advance;
use super::{Attempts, Limit, Reject, Run, Stage, State, TaskRun, limits};

impl Run {
    /// Makes every transition that needs neither work nor a person.
    pub(super) fn settle(&mut self) -> Result<(), Reject> {
        // Each turn moves a task, a run or the stage along a finite order; the bound only guards against a defect.
        for _ in 0..10_000 {
            let moved = match self.stage {
                Stage::Pass => {
                    let moved = self.settle_pass()?;
                    if !moved {
                        self.tasks.settled();
                    }
                    moved
                }
                Stage::Operate => {
                    let moved = self.settle_tree()?;
                    if !moved {
                        self.tasks.settled();
                    }
                    moved
                }
                Stage::Iterate => self.end_overdue_tasks()?,
                _ => false,
            };
            if !moved {
                break;
            }
        }
        self.release_slots();
        self.refresh();
        self.set_clocks();
        Ok(())
    }

    /// Brings up to date what is known of the tasks.
    pub(super) fn refresh(&mut self) {
        self.tasks.refresh(&self.aliases);
    }

    fn settle_pass(&mut self) -> Result<bool, Reject> {
        let calls = self.operators.are_at_work();
        if calls {
            // Budgets of a tree are shared, so a fact of one leaf may end another.
            self.tasks.look_again();
        }
        let mut moved = self.end_reviews()?;
        moved |= self.end_overdue_tasks()?;
        moved |= self.end_executions()?;
        moved |= self.promote()?;
        self.refresh();
        if calls {
            moved |= self.step_tree();
            self.refresh();
        }
        match self.advance()? {
            Advance::Moved => moved = true,
            Advance::Waiting => {}
            Advance::Over if moved || self.listed().any(|task| task.is_executing() && self.is_approved(task)) => {}
            Advance::Over => {
                self.end_pass()?;
                return Ok(true);
            }
        }
        self.refresh();
        moved |= self.open_call_gates();
        Ok(moved)
    }

    /// Spec 2.13 and 12.4: iterate, or conclude.
    fn end_pass(&mut self) -> Result<(), Reject> {
        let unreachable: Vec<bool> = self
            .tasks
            .values()
            .filter(|task| task.below.is_none() && task.state == State::Failed && !task.problem_seen)
            .map(|task| task.failure.as_ref().is_some_and(|failure| failure.communication))
            .collect();
        if !unreachable.is_empty() && unreachable.iter().all(|communication| *communication) {
            self.stage = Stage::Conclude(Outcome::Unreachable);
            return Ok(());
        }
        let all_done = self.tasks().all(|task| matches!(task.state, State::Done | State::Dropped));
        match self.settings.iterate {
            Policy::Never => {
                self.block_held_tasks()?;
                self.stage = Stage::Conclude(self.verdict());
            }
            Policy::Auto if all_done && self.goals.plan_complete && !self.more_work => {
                self.stage = Stage::Conclude(self.verdict());
            }
            Policy::Auto | Policy::Always => {
                self.iteration_due = true;
                self.iterate = Attempts::default();
                self.stage = Stage::Iterate;
            }
        }
        Ok(())
    }

    /// Without an iteration nobody will release them.
    fn block_held_tasks(&mut self) -> Result<(), Reject> {
        let problem =
            self.tasks.values().find(|task| task.below.is_none() && task.state.is_problem() && !task.problem_seen);
        let cause = problem.map(TaskRun::slug);
        let held = self.listed().filter(|task| task.below.is_none() && !task.state.is_ended());
        let held: Vec<Slug> = held.map(TaskRun::slug).collect();
        for slug in held {
            let cause = cause.clone().unwrap_or_else(|| slug.clone());
            self.block(&slug, cause)?;
        }
        Ok(())
    }

    /// The list stays as it was; writer steps stay held (spec 2.11).
    pub(super) fn iteration_failed(&mut self) -> Result<(), Reject> {
        let startable = self.current_step().is_some_and(|step| !self.is_held(step));
        if !startable {
            self.stage = Stage::Conclude(Outcome::IterationFailed);
            return Ok(());
        }
        self.round = self.round.saturating_add(1);
        self.rounds = self.rounds.saturating_add(1);
        self.iteration_due = false;
        self.stage = Stage::Pass;
        self.conclude_if_nothing_starts();
        Ok(())
    }

    /// The head of the loop of spec 2.4.
    pub(super) fn conclude_if_nothing_starts(&mut self) {
        if !self.has_pending() {
            self.stage = Stage::Conclude(self.verdict());
        } else if limits::rounds_are_over(self) {
            self.reached.insert(Limit::MaxRounds);
            self.message = Some("Max rounds reached.".to_owned());
            self.stage = Stage::Conclude(Outcome::MaxRounds);
        }
    }

    /// `has_pending_exec()` of spec 2.4.
    pub(super) fn has_pending(&self) -> bool {
        self.tasks.values().any(|task| !task.state.is_ended())
    }

    fn verdict(&self) -> Outcome {
        if self.tasks().any(|task| task.state.is_problem()) { Outcome::Incomplete } else { Outcome::Complete }
    }

    /// A task whose time is over fails (spec 12.6).
    pub(super) fn end_overdue_tasks(&mut self) -> Result<bool, Reject> {
        self.refresh();
        // The time of a task passes only while it holds a slot.
        let mut overdue: Vec<Slug> = self
            .tasks
            .all_holding()
            .chain(self.tasks.unsettled())
            .filter(|task| matches!(task.state, State::Refining | State::Ready | State::Running))
            // Its call ends by itself at that time; then what was reviewed counts.
            .filter(|task| !self.has_reviewed_result(task))
            .filter(|task| limits::task_time_is_over(self, task))
            .map(TaskRun::slug)
            .collect();
        overdue.sort();
        overdue.dedup();
        for slug in &overdue {
            self.reached.insert(Limit::TaskTimeout);
            let reason = "it ran out of time".to_owned();
            let cause = super::Cause::Limit(Limit::TaskTimeout);
            self.fail_task(slug, super::Failure { reason, cause, ..super::Failure::default() })?;
        }
        Ok(!overdue.is_empty())
    }

    /// A unit that has ended, or whose next thing is a gate or a question, holds no slot (spec 2.6).
    fn release_slots(&mut self) {
        self.refresh();
        let mut free = Vec::new();
        for task in self.tasks.all_holding().filter(|task| task.executing) {
            for (index, run) in task.runs.iter().enumerate().filter(|(_, run)| run.attempts.admitted) {
                let owing = self.execution_owing(task, run);
                if run.is_ended() || (owing.work.is_empty() && owing.person) {
                    free.push((task.task.slug.clone(), index));
                }
            }
        }
        for (slug, index) in free {
            if let Some(run) = self.tasks.get_mut(&slug).and_then(|task| task.runs.get_mut(index)) {
                run.attempts.admitted = false;
            }
        }
    }

    /// Clocks count while something of theirs holds a slot.
    fn set_clocks(&mut self) {
        let now = self.now;
        let asking = self.plan.admitted || self.iterate.admitted || self.follow.admitted;
        let working = self.tasks.set_clocks(now) || asking;
        self.set_tree_clocks(now);
        self.clock.set(working && !matches!(self.stage, Stage::Concluded(_)), now);
    }
}
