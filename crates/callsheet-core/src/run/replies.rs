//! The results of model calls: replies, faults, refusals, and the content of accepted replies.

use std::sync::Arc;

use crate::issue::{Issue, Repair};
use crate::nouns::{BlobId, Phase, Refinement, TaskList};
use crate::record::{Beside, CallFault, CallKey, CallSizes, EffectKey, Outcome, ResultParts};

use super::attempts::GivenUp;
use super::changing::Changing;
use super::failure::{Cause, Failure};
use super::ideal::Ideal;
use super::joins::Joins;
use super::limit::Limit;
use super::next_stage::NextStage;
use super::reviews::Reviews;
use super::task::{ReferenceCheck, Refined, TaskPhase, TaskRun};
use super::task_change::TaskChange;
use super::{Run, limits, reviews};

/// Applies the results of model calls.
pub(super) struct Replies<'a>(pub &'a mut Run);

impl Replies<'_> {
    /// Ends the call. Nothing of it is in flight or reserved any more.
    pub fn landed(&mut self, key: &CallKey) {
        self.0.in_flight.end(&EffectKey::Ask(key.clone()));
        self.0.ledger.released(key);
    }

    /// Notes the reading in the record of the call. Returns the reply.
    fn read(&mut self, key: &CallKey, accepted: bool, repairs: &[Repair], issues: &[Issue]) -> Option<BlobId> {
        self.0.calls.note_reading(key, accepted, repairs, issues)
    }

    /// Notes an accepted reply.
    pub fn accept(&mut self, key: &CallKey, repairs: &[Repair], issues: &[Issue]) {
        self.read(key, true, repairs, issues);
    }

    pub fn refused(&mut self, key: &CallKey, issues: &[Issue], repairs: &[Repair], valid: Option<&Refinement>) {
        let reply = self.read(key, false, repairs, issues);
        if key.phase == Phase::Join {
            return Joins(self.0).refused(issues);
        }
        if let (Phase::Refine, Some(valid)) = (key.phase, valid)
            && let Some(task) = key.task.as_ref().and_then(|slug| self.0.tasks.get_mut(slug))
        {
            task.take(valid);
        }
        let max = reviews::attempts(self.0, key);
        let given_up = self.0.attempts_mut(key).and_then(|attempts| attempts.refuse(issues.to_vec(), reply, max));
        if let Some(given_up) = given_up {
            self.exhausted(key, issues.to_vec(), given_up);
        }
    }

    pub fn refined(&mut self, key: &CallKey, refinement: &Refinement, repairs: &[Repair], issues: &[Issue]) {
        self.accept(key, repairs, issues);
        let Some(slug) = &key.task else { return };
        Ideal(self.0).note_refined(slug);
        if let Some(task) = self.0.tasks.get_mut(slug) {
            task.refine.close();
            task.refined = Refined::Done;
            task.check = ReferenceCheck::Open;
            task.take(refinement);
        }
        TaskChange(self.0).enter(slug, TaskPhase::Ready);
    }

    /// Applies the choice of a skill. `skill` is `None` if the routing call gave none.
    pub fn routed(&mut self, key: &CallKey, skill: Option<&str>, writes: &[String], issues: &[Issue]) {
        self.accept(key, &[], issues);
        if key.run.is_none() {
            self.0.calls.restart_list(Phase::Route);
            self.0.progress.routing_mut().ask_for(writes);
        }
        self.0.progress.routing_mut().routed(key.run.as_ref(), skill);
    }

    /// Notes a list whose tasks still need skills.
    pub fn drafted(&mut self, key: &CallKey, draft: (&TaskList, &Beside), repairs: &[Repair], issues: &[Issue]) {
        self.accept(key, repairs, issues);
        if let Some(attempts) = self.0.calls.list_mut(key.phase) {
            attempts.close();
        }
        self.0.progress.routing_mut().draft(key, draft);
    }

    /// Notes the result of an execution or a merge.
    pub fn finished(&mut self, key: &CallKey, result: &ResultParts, repairs: &[Repair], issues: &[Issue]) {
        let Some(slug) = &key.task else { return };
        self.accept(key, repairs, issues);
        TaskChange(self.0).enter_running(slug);
        if key.phase == Phase::Merge {
            TaskChange(self.0).finish(slug, Arc::new(result.clone()));
        } else {
            let Some(id) = key.run.as_ref().filter(|_| !Reviews(self.0).put_under_review(key, result)) else { return };
            Changing(self.0).accepted(slug, id, result);
        }
    }

    /// Takes back a call that was refused before it was sent. It does not count as a model call, and other calls may
    /// use what it had reserved (spec "Templates" 9).
    pub fn take_back(&mut self, key: &CallKey) {
        let run = &mut *self.0;
        run.ledger.taken_back(key.task.as_ref());
        if run.attempts_mut(key).is_some_and(|attempts| std::mem::take(&mut attempts.counted)) {
            run.calls.need_one_less();
        }
    }

    /// Notes that a call gave no reply.
    pub fn call_failed(&mut self, key: &CallKey, fault: &CallFault, message: &str, sizes: Option<CallSizes>, at: u64) {
        self.landed(key);
        let run = &mut *self.0;
        run.ledger.failed(key.task.as_ref());
        if let Some(task) = key.task.as_ref().and_then(|slug| run.tasks.get_mut(slug)) {
            task.measure(sizes, None);
        }
        let max = reviews::attempts(run, key);
        let task = key.task.as_ref().and_then(|slug| run.tasks.get(slug));
        let handler = task.is_some_and(TaskRun::is_handler);
        let run_is_over = limits::time_is_over(run, at);
        if key.phase == Phase::Review {
            let cut = *fault == CallFault::Timeout && run_is_over;
            if !cut {
                Reviews(run).failed(key, fault, message, sizes);
            }
            return;
        }
        if key.phase == Phase::Join {
            return Joins(run).failed(fault, message);
        }
        let Some(attempts) = run.attempts_mut(key) else { return };
        match fault {
            CallFault::Cancelled => {}
            CallFault::ContextOverflow | CallFault::Configuration if handler => {
                attempts.close();
                let cause = if *fault == CallFault::Configuration { Cause::Configuration } else { Cause::Overflow };
                self.phase_failed(key, Failure { reason: message.to_owned(), cause, ..Failure::default() });
            }
            CallFault::ContextOverflow => {
                if attempts.overflow(max) {
                    self.never_fitted(key, message);
                }
            }
            CallFault::Configuration => {
                attempts.close();
                let reviewed = key.task.as_ref().zip(key.run.as_ref());
                let kept = reviewed.is_some_and(|(slug, id)| Reviews(run).keep(slug, id, message));
                if !kept && !run.progress.is_concluding() {
                    run.progress.conclude_saying(Outcome::Misconfigured, message.to_owned());
                }
            }
            CallFault::Budget => self.left_no_room(key, message, sizes),
            CallFault::Cost => self.too_dear(key, message),
            // The run's own limit will end the run (spec 2.15). The task stays pending.
            CallFault::Timeout if run_is_over => {}
            CallFault::Timeout => {
                attempts.close();
                run.progress.notified_mut().note_reached(Limit::TaskTimeout);
                let cause = Cause::Limit(Limit::TaskTimeout);
                self.phase_failed(key, Failure { reason: message.to_owned(), cause, ..Failure::default() });
            }
            CallFault::Reference => {
                attempts.close();
                self.phase_failed(key, Failure { reason: message.to_owned(), ..Failure::default() });
            }
            CallFault::Communication => {
                attempts.close();
                attempts.communication = true;
                let reason = message.to_owned();
                self.phase_failed(key, Failure { reason, communication: true, ..Failure::default() });
            }
        }
    }

    /// Notes that a token budget left no room for a reply. A budget of the run ends the run, and the task stays
    /// pending (spec 2.15).
    fn left_no_room(&mut self, key: &CallKey, message: &str, sizes: Option<CallSizes>) {
        let run = &mut *self.0;
        let task = key.task.as_ref().and_then(|slug| run.tasks.get(slug));
        let needed = sizes.map_or(0, |sizes| sizes.prompt);
        let cause = match limits::short_of_tokens(run, task, needed) {
            // The size of the call is now known, and it waits until enough is left.
            limits::Shortfall::Now => return,
            limits::Shortfall::Run => return self.note_no_room(key, false),
            limits::Shortfall::Task => Cause::Limit(Limit::TaskTokens),
            limits::Shortfall::Above => Cause::AboveLimit(Limit::TaskTokens),
        };
        self.note_no_room(key, false);
        let run = &mut *self.0;
        run.progress.notified_mut().note_reached(Limit::TaskTokens);
        if let Some(attempts) = run.attempts_mut(key) {
            attempts.close();
        }
        self.phase_failed(key, Failure { reason: message.to_owned(), cause, ..Failure::default() });
    }

    /// Notes that a prompt would cost more than what is left of a cost limit. A limit of the run ends the run, and
    /// the task stays pending.
    fn too_dear(&mut self, key: &CallKey, message: &str) {
        let run = &mut *self.0;
        let task = key.task.as_ref().and_then(|slug| run.tasks.get(slug));
        let Some((account, left)) = limits::least_cost_left(run, task) else { return };
        run.ledger.note_too_dear(account, left);
        if run.ledger.is_of_run(account) {
            return;
        }
        run.progress.notified_mut().note_reached(Limit::MaxCost);
        if let Some(attempts) = run.attempts_mut(key) {
            attempts.close();
        }
        let cause = Cause::Limit(Limit::MaxCost);
        self.phase_failed(key, Failure { reason: message.to_owned(), cause, ..Failure::default() });
    }

    /// Ends a phase without further attempts: the last column of the table of spec 12.
    pub fn exhausted(&mut self, key: &CallKey, issues: Vec<Issue>, given_up: GivenUp) {
        let run = &mut *self.0;
        if given_up == GivenUp::UsedUp {
            run.progress.notified_mut().note_reached(Limit::Attempts);
        }
        let max = limits::attempts(run);
        let no_list = |what: &str| format!("{what} a valid task list {}.", given_up.words(max));
        let phase = match key.phase {
            Phase::Route if key.run.is_none() => return self.routed(key, None, &[], &[]),
            Phase::Route => run.progress.routing().phase(),
            phase => phase,
        };
        match phase {
            Phase::Plan => run.progress.conclude_saying(Outcome::PlanFailed, no_list("Could not build")),
            Phase::Iterate => {
                run.progress.say(no_list("The iteration did not give"));
                NextStage(run).iteration_failed();
            }
            // The list and the follow-ups stay as they were (spec 12).
            Phase::Continue => {
                run.progress.conclude_saying(Outcome::IterationFailed, no_list("The model did not give"))
            }
            _ => {
                let reason = format!("no valid reply {}", given_up.words(max));
                let cause = self.turns_are_over(key).map_or(Cause::Other, Cause::Limit);
                self.phase_failed(key, Failure { reason, issues, cause, ..Failure::default() });
            }
        }
    }

    /// The limit of turns, if it had withdrawn the tools of a conversation (spec 10.7).
    fn turns_are_over(&self, key: &CallKey) -> Option<Limit> {
        let task = self.0.tasks.get(key.task.as_ref()?)?;
        limits::withdraws_tools(self.0, task, task.run(key.run.as_ref()?)?).filter(|limit| *limit == Limit::MaxTurns)
    }

    /// Marks the smallest token budget of a call as used up, because too little of it is left. `beside` takes into
    /// account what other calls have reserved.
    pub fn note_no_room(&mut self, key: &CallKey, beside: bool) {
        let task = key.task.as_ref().and_then(|slug| self.0.tasks.get(slug));
        if let Some((account, left)) = limits::smallest_budget(self.0, task, beside) {
            self.0.ledger.note_no_room(account, left);
        }
    }

    /// Ends a phase whose last attempt was a prompt that did not fit (spec 12.3).
    fn never_fitted(&mut self, key: &CallKey, message: &str) {
        if key.task.is_none() || key.phase == Phase::Merge {
            return self.exhausted(key, Vec::new(), GivenUp::UsedUp);
        }
        self.0.progress.notified_mut().note_reached(Limit::Attempts);
        let reason = format!("no valid reply after {} attempts; the last one: {message}", limits::attempts(self.0));
        self.phase_failed(key, Failure { reason, ..Failure::default() });
    }

    /// Ends a phase that gave no valid reply.
    fn phase_failed(&mut self, key: &CallKey, failure: Failure) {
        let run = &mut *self.0;
        if run.progress.is_concluding() {
            // A cancelled or ending run may be resumed, so nothing fails.
            return;
        }
        let Some(slug) = &key.task else {
            return run.progress.conclude_saying(Outcome::Unreachable, failure.reason);
        };
        match (key.phase, &key.run) {
            (Phase::Execute | Phase::Review, Some(id)) => {
                if Reviews(run).keep(slug, id, &failure.reason) {
                    return;
                }
                if let Some(run) = run.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) {
                    run.fail(failure);
                }
            }
            (Phase::Merge, _) => {
                if let Some(merge) = run.tasks.get_mut(slug).and_then(|task| task.merge.as_mut()) {
                    merge.fall_back();
                }
            }
            _ => TaskChange(run).fail(slug, failure),
        }
    }
}
