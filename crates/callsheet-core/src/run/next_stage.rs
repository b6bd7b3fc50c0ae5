//! Decides what a run does next as a whole: another round, the iteration, or the end (spec 2.4, 2.11, 2.13, 2.16).

use crate::nouns::{Phase, Policy, Slug};
use crate::record::{EffectKey, Outcome};

use super::joins::Joins;
use super::limit::Limit;
use super::state::{Stage, State};
use super::task::{TaskPhase, TaskRun};
use super::task_change::{TaskChange, return_reserves};
use super::{Run, limits};

/// Changes the stage of a run.
pub(super) struct NextStage<'a>(pub &'a mut Run);

impl NextStage<'_> {
    /// Ends a pass that can start nothing more (spec 2.13, 12.4): iterates or concludes. Does neither and returns
    /// false while the sheet has errors.
    pub fn end_pass(&mut self) -> bool {
        let failed = |task: &&TaskRun| task.is_own() && task.state() == State::Failed && task.has_open_problem();
        let failed: Vec<bool> = self.0.tasks.values().filter(failed).map(TaskRun::is_unreached).collect();
        if !failed.is_empty() && failed.iter().all(|unreached| *unreached) {
            self.0.progress.conclude(Outcome::Unreachable);
            return true;
        }
        if self.0.sheet.held().is_some() {
            return false;
        }
        if self.has_nothing_to_read() {
            Joins(self.0).finish();
            return true;
        }
        let iterate = self.0.settings().iterate;
        if iterate == Policy::Never {
            self.block_held_tasks();
        }
        let run = &mut *self.0;
        let all_done = run.tasks().all(|task| matches!(task.state(), State::Done | State::Dropped));
        let complete = all_done && run.sheet.goals().plan_complete && !run.progress.rounds().wants_more_work();
        if iterate == Policy::Never || iterate == Policy::Auto && complete {
            Joins(run).finish();
            return true;
        }
        run.progress.rounds_mut().set_iteration_due(true);
        run.calls.forget_list(Phase::Iterate);
        run.progress.go(Stage::Iterate);
        true
    }

    /// Whether all failures are questions for which no file was found. Another list would not find files either.
    fn has_nothing_to_read(&self) -> bool {
        let mut problems = self.0.tasks().filter(|task| task.state().is_problem()).peekable();
        !self.0.tasks.has_pending() && problems.peek().is_some() && problems.all(TaskRun::reads_nothing)
    }

    /// Blocks the tasks that problems hold, because no iteration will release them.
    fn block_held_tasks(&mut self) {
        let cause = self.0.tasks.values().find(|task| task.is_own() && task.has_open_problem()).map(TaskRun::slug);
        let held: Vec<Slug> =
            self.0.tasks.listed().filter(|task| task.is_own() && !task.state().is_ended()).map(TaskRun::slug).collect();
        for slug in held {
            let cause = cause.clone().unwrap_or_else(|| slug.clone());
            TaskChange(self.0).block(&slug, cause);
        }
    }

    /// Begins a round, because a list was accepted.
    pub fn begin_round(&mut self) {
        let run = &mut *self.0;
        let rounds = run.progress.rounds_mut();
        if run.tasks.has_pending() || rounds.total() == 0 {
            rounds.begin();
        }
        rounds.set_iteration_due(false);
        rounds.forget_more_work();
        rounds.restart_pass();
        run.progress.set_idle(false);
        for phase in [Phase::Route, Phase::Plan, Phase::Iterate, Phase::Continue, Phase::Join] {
            run.calls.forget_list(phase);
        }
        run.progress.unsay();
        if run.settings().plan_only {
            run.progress.conclude(Outcome::Planned);
        } else {
            self.pass();
        }
    }

    /// Notes that the iteration gave no list. The plan stays as it was, and steps with writers stay held (spec 2.11).
    pub fn iteration_failed(&mut self) {
        let run = &mut *self.0;
        if !run.may_start_step() {
            return run.progress.conclude(Outcome::IterationFailed);
        }
        let rounds = run.progress.rounds_mut();
        rounds.begin();
        rounds.set_iteration_due(false);
        self.pass();
    }

    /// Begins a pass over the steps, unless nothing can start. This is the head of the loop of spec 2.4.
    pub fn pass(&mut self) {
        let run = &mut *self.0;
        run.progress.go(Stage::Pass);
        if !run.tasks.has_pending() {
            if run.sheet.held().is_none() {
                Joins(run).finish();
            }
        } else if limits::rounds_are_over(run) {
            run.progress.notified_mut().note_reached(Limit::MaxRounds);
            run.progress.conclude_saying(Outcome::MaxRounds, "Max rounds reached.".to_owned());
        }
    }

    /// Reacts to a changed list. Between rounds, the next round begins if one of its tasks could start. A run that
    /// was about to end continues.
    pub fn follow_list(&mut self) {
        self.ask_lists_anew();
        let run = &mut *self.0;
        let continues = match run.stage() {
            Stage::Iterate | Stage::Conclude(Outcome::IterationFailed) => run.may_start_step(),
            // A follow-up without a list does not hold up other work.
            Stage::Continue => run.follow_ups.has_failed() && run.tasks.has_pending(),
            Stage::Join(outcome) | Stage::Conclude(outcome) => ends_by_itself(outcome) && run.tasks.has_pending(),
            _ => false,
        };
        if continues {
            self.next_round();
        }
    }

    /// Keeps a run from ending by itself while the sheet has errors, because the corrected edit may add tasks.
    pub fn wait_for_edit(&mut self) {
        let run = &mut *self.0;
        let ends = matches!(run.stage(), Stage::Join(outcome) | Stage::Conclude(outcome) if ends_by_itself(outcome));
        if ends && run.sheet.held().is_some() && run.sheet.has_list() {
            self.stop_ending();
            self.0.progress.go(Stage::Pass);
        }
    }

    /// Goes on with the tree of the run, because a person has a task of it repeated or removed.
    pub fn operate(&mut self) {
        self.stop_ending();
        let progress = &mut self.0.progress;
        progress.stop_waiting();
        progress.set_idle(false);
        progress.go(Stage::Operate);
    }

    fn stop_ending(&mut self) {
        let run = &mut *self.0;
        run.progress.unsay();
        run.in_flight.end(&EffectKey::Conclude);
        Joins(run).give_up();
    }

    /// Restarts calls for lists whose prompts contain the former list. The run no longer waits for a person.
    pub fn ask_lists_anew(&mut self) {
        let run = &mut *self.0;
        run.progress.stop_waiting();
        run.gates.close_before_run();
        let asks_for_list = |key: &EffectKey| matches!(key, EffectKey::Ask(call) if matches!(call.phase, Phase::Route | Phase::Iterate | Phase::Continue));
        let given_up = run.in_flight.abort(asks_for_list);
        run.progress.routing_mut().forget_draft();
        run.calls.restart_list(Phase::Route);
        return_reserves(run, &given_up);
        match run.stage() {
            Stage::Iterate => run.calls.restart_list(Phase::Iterate),
            Stage::Continue => run.calls.restart_list(Phase::Continue),
            _ => {}
        }
    }

    fn next_round(&mut self) {
        let run = &mut *self.0;
        let idle = run.progress.is_idle();
        run.progress.set_idle(false);
        let rounds = run.progress.rounds_mut();
        if !idle {
            rounds.begin();
        }
        rounds.set_iteration_due(false);
        rounds.restart_pass();
        self.stop_ending();
        let run = &mut *self.0;
        run.follow_ups.forget_before();
        self.pass();
    }

    /// Stops the run for a person. All work is dropped, and tasks that have not ended are cancelled. An apply in
    /// flight goes on, because changes must not be applied by half (spec 2.16).
    pub fn cancel(&mut self) {
        let pending: Vec<Slug> =
            self.0.tasks.values().filter(|task| !task.state().is_ended()).map(TaskRun::slug).collect();
        for slug in pending {
            TaskChange(self.0).enter(&slug, TaskPhase::Cancelled);
        }
        self.0.calls.release_lists();
        self.0.progress.routing_mut().release();
        self.0.progress.stop_waiting();
        self.0.progress.conclude(Outcome::Cancelled);
    }
}

/// Whether the outcome means that nothing is left to start, and not that somebody or a limit stopped the run.
pub(super) fn ends_by_itself(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Complete | Outcome::Incomplete | Outcome::IterationFailed)
}

/// Whether the outcome means that a call for a list was given up. A call that a person or a limit ended is only
/// interrupted.
pub(super) fn gave_up_list(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::IterationFailed | Outcome::Unreachable | Outcome::Misconfigured)
}

/// The outcome that a resting run would have without its pending follow-up. `None` if it has no pending follow-up or
/// is not at rest.
pub(super) fn without_follow_up(run: &Run) -> Option<Outcome> {
    run.follow_ups.pending()?;
    match run.stage() {
        Stage::Concluded(outcome) => Some(run.follow_ups.before().unwrap_or(outcome)),
        Stage::Continue => run.follow_ups.before(),
        _ => None,
    }
}

/// Whether the run has a follow-up for which no list could be made, which waits until nothing else is left to do.
pub(super) fn follow_up_waits(run: &Run) -> bool {
    let ended = run.progress.ending().is_some_and(gave_up_list);
    let failed = run.follow_ups.pending().is_some() && (run.follow_ups.has_failed() || ended);
    failed && (run.tasks.has_pending() || run.progress.rounds().iteration_is_due())
}
