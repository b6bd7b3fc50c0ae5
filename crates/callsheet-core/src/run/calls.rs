//! Facts about model calls: replies, faults, refusals, and what accepted replies gave.

use crate::issue::{Issue, Repair};
use crate::record::{CallFault, CallKey, CallSizes, EffectKey, Event, Outcome, ResultParts, StopReason};
use crate::spec::{BlobId, Phase, Refinement};

use super::{CallRecord, Cause, Effect, Failure, Limit, Reject, Run, Stage, State, TaskRun, limits};

impl Run {
    pub(super) fn reply_received(&mut self, event: &Event) -> Result<(), Reject> {
        let Event::ReplyReceived { key, prompt, reply, model, usage, ms, sends, stop, sizes } = event else {
            return Ok(());
        };
        self.landed(EffectKey::Ask(key.clone()))?;
        // Where the run's own limit cut it, it is asked for again with a larger one.
        let task = key.task.as_ref().and_then(|slug| self.tasks.get(slug));
        let short = *stop == StopReason::Budget && limits::short_of_tokens(self, task, u64::MAX) == limits::Short::Run;
        let mut attempt = 1;
        if let Some(attempts) = self.attempts_mut(key) {
            attempt = attempts.attempt;
            attempts.reading = Some(key.clone()).filter(|_| !short);
            attempts.communication = false;
            attempts.busy_ms = attempts.busy_ms.saturating_add(*ms);
        }
        if let Some(task) = key.task.as_ref().and_then(|slug| self.tasks.get_mut(slug)) {
            task.measure(*sizes, Some(self.now));
        }
        self.ledger.charged(key.task.as_ref(), usage);
        if short {
            self.no_room = limits::tokens_left(self);
        }
        let number = u32::try_from(self.calls.len()).unwrap_or(u32::MAX).saturating_add(1);
        let part = self.part(key).to_owned();
        self.call_index.insert(key.clone(), self.calls.len());
        if let Some(slug) = &key.task {
            self.task_calls.entry(slug.clone()).or_default().push(self.calls.len());
        }
        self.calls.push(CallRecord {
            key: key.clone(),
            part,
            number,
            attempt,
            model: model.clone(),
            usage: *usage,
            ms: *ms,
            sends: *sends,
            stop: *stop,
            prompt: prompt.clone(),
            reply: reply.clone(),
            repairs: Vec::new(),
            issues: Vec::new(),
            accepted: None,
            rejected: Vec::new(),
        });
        Ok(())
    }

    /// The reply of `key` is about to be read, so that what came out of the reading may be folded.
    fn expect_reading(&self, key: &CallKey) -> Result<(), Reject> {
        let owed = self.owed.iter().any(|effect| matches!(effect, Effect::ReadReply(asked) if asked.key == *key));
        if owed { Ok(()) } else { Err(Reject::NotAwaited(key.clone())) }
    }

    /// Notes the reading in the record of the call. Returns the reply.
    fn read(&mut self, key: &CallKey, accepted: bool, repairs: &[Repair], issues: &[Issue]) -> Option<BlobId> {
        for repair in repairs {
            *self.repairs.entry(repair.code.as_str().to_owned()).or_insert(0) += 1;
        }
        let record = self.call_index.get(key).and_then(|index| self.calls.get_mut(*index))?;
        record.accepted = Some(accepted);
        record.repairs = repairs.to_vec();
        record.issues = issues.to_vec();
        Some(record.reply.clone())
    }

    /// An accepted reply.
    pub(super) fn accept(&mut self, key: &CallKey, repairs: &[Repair], issues: &[Issue]) -> Result<(), Reject> {
        self.expect_reading(key)?;
        self.read(key, true, repairs, issues);
        Ok(())
    }

    pub(super) fn reply_refused(
        &mut self,
        key: &CallKey,
        issues: &[Issue],
        repairs: &[Repair],
        valid: Option<&Refinement>,
    ) -> Result<(), Reject> {
        self.expect_reading(key)?;
        if key.phase == Phase::Review {
            // What cannot be read of a review counts as a verdict.
            return Err(Reject::NotAwaited(key.clone()));
        }
        let reply = self.read(key, false, repairs, issues);
        if let (Phase::Refine, Some(valid)) = (key.phase, valid)
            && let Some(task) = key.task.as_ref().and_then(|slug| self.tasks.get_mut(slug))
        {
            task.take(valid);
        }
        let max = self.attempts_of(key);
        let exhausted = self.attempts_mut(key).is_some_and(|attempts| attempts.refuse(issues.to_vec(), reply, max));
        if exhausted { self.exhausted(key, issues.to_vec()) } else { Ok(()) }
    }

    pub(super) fn task_refined(
        &mut self,
        key: &CallKey,
        refinement: &Refinement,
        repairs: &[Repair],
        issues: &[Issue],
    ) -> Result<(), Reject> {
        if key.phase != Phase::Refine {
            return Err(Reject::NotAwaited(key.clone()));
        }
        self.accept(key, repairs, issues)?;
        let Some(slug) = key.task.clone() else { return Err(Reject::NotAwaited(key.clone())) };
        self.note_ideal_refined(&slug);
        if let Some(task) = self.tasks.get_mut(&slug) {
            task.must_refine = false;
            task.refine.close();
            task.refined = true;
            task.checked = None;
            task.take(refinement);
        }
        self.set_state(&slug, State::Ready)
    }

    pub(super) fn run_finished(
        &mut self,
        key: &CallKey,
        result: &ResultParts,
        repairs: &[Repair],
        issues: &[Issue],
    ) -> Result<(), Reject> {
        let Some(slug) = key.task.clone() else { return Err(Reject::NotAwaited(key.clone())) };
        match key.phase {
            Phase::Merge => {
                self.accept(key, repairs, issues)?;
                self.enter_running(&slug)?;
                self.finish_task(&slug, result)
            }
            Phase::Execute => {
                self.accept(key, repairs, issues)?;
                self.enter_running(&slug)?;
                if self.puts_under_review(&slug, key, result) {
                    return Ok(());
                }
                self.evaluated(&slug, key, result)
            }
            _ => Err(Reject::NotAwaited(key.clone())),
        }
    }

    /// A call gave no reply.
    pub(super) fn unanswered(&mut self, event: &Event, at: u64) -> Result<(), Reject> {
        let Event::CallFailed { key, fault, sends, message, sizes } = event else { return Ok(()) };
        self.call_failed(key, fault, message, *sizes, at)?;
        self.take_back(key, *sends);
        Ok(())
    }

    /// A call of a handler that was refused before it was sent is no model call: what it took is free again, for others
    /// as well (spec "Templates" 9).
    fn take_back(&mut self, key: &CallKey, sends: u32) {
        let task = key.task.as_ref().filter(|_| sends == 0).and_then(|slug| self.tasks.get(slug));
        let Some(task) = task.filter(|task| task.is_handler()) else { return };
        self.ledger.taken_back(&task.task.slug);
        let counted = self.attempts_mut(key).is_some_and(|attempts| std::mem::take(&mut attempts.counted));
        self.minimum_calls = self.minimum_calls.saturating_sub(u32::from(counted));
    }

    fn call_failed(
        &mut self,
        key: &CallKey,
        fault: &CallFault,
        message: &str,
        sizes: Option<CallSizes>,
        at: u64,
    ) -> Result<(), Reject> {
        self.landed(EffectKey::Ask(key.clone()))?;
        self.ledger.failed(key.task.as_ref());
        if let Some(task) = key.task.as_ref().and_then(|slug| self.tasks.get_mut(slug)) {
            task.measure(sizes, None);
        }
        let max = self.attempts_of(key);
        let handler = key.task.as_ref().and_then(|slug| self.tasks.get(slug)).is_some_and(TaskRun::is_handler);
        let run_is_over = limits::time_is_over(self, at);
        if key.phase == Phase::Review {
            let cut = *fault == CallFault::Timeout && run_is_over;
            return if cut { Ok(()) } else { self.review_failed(key, fault, message, sizes) };
        }
        let Some(attempts) = self.attempts_mut(key) else { return Ok(()) };
        match fault {
            CallFault::Cancelled => Ok(()),
            CallFault::ContextOverflow | CallFault::Configuration if handler => {
                attempts.close();
                let cause = if *fault == CallFault::Configuration { Cause::Configuration } else { Cause::Overflow };
                self.phase_failed(key, Failure { reason: message.to_owned(), cause, ..Failure::default() })
            }
            CallFault::ContextOverflow => {
                let exhausted = attempts.overflow(max);
                if exhausted { self.never_fitted(key, message) } else { Ok(()) }
            }
            CallFault::Configuration => {
                attempts.close();
                if !matches!(self.stage, Stage::Conclude(_)) {
                    self.message = Some(message.to_owned());
                    self.stage = Stage::Conclude(Outcome::Misconfigured);
                }
                Ok(())
            }
            CallFault::Budget => self.left_no_room(key, message, sizes),
            // The run's own limit will end it (spec 2.15); the task stays pending.
            CallFault::Timeout if run_is_over => Ok(()),
            CallFault::Timeout => {
                attempts.close();
                self.reached.insert(Limit::TaskTimeout);
                let cause = Cause::Limit(Limit::TaskTimeout);
                self.phase_failed(key, Failure { reason: message.to_owned(), cause, ..Failure::default() })
            }
            CallFault::Communication => {
                attempts.close();
                attempts.communication = true;
                let reason = message.to_owned();
                self.phase_failed(key, Failure { reason, communication: true, ..Failure::default() })
            }
        }
    }

    /// A token budget left no room for a reply. That of the run ends the run, and the task stays pending (spec 2.15).
    fn left_no_room(&mut self, key: &CallKey, message: &str, sizes: Option<CallSizes>) -> Result<(), Reject> {
        let task = key.task.as_ref().and_then(|slug| self.tasks.get(slug));
        let needed = sizes.map_or(0, |sizes| sizes.prompt);
        let cause = match limits::short_of_tokens(self, task, needed) {
            // It is known now how large it is, and waits until there is as much.
            limits::Short::Now => return Ok(()),
            limits::Short::Run => {
                self.no_room = limits::tokens_left(self);
                return Ok(());
            }
            limits::Short::Task => Cause::Limit(Limit::TaskTokens),
            limits::Short::Above => Cause::AboveLimit(Limit::TaskTokens),
        };
        self.reached.insert(Limit::TaskTokens);
        if let Some(attempts) = self.attempts_mut(key) {
            attempts.close();
        }
        self.phase_failed(key, Failure { reason: message.to_owned(), cause, ..Failure::default() })
    }

    /// All attempts of a phase are used up: the last column of the table of spec 12.
    pub(super) fn exhausted(&mut self, key: &CallKey, issues: Vec<Issue>) -> Result<(), Reject> {
        self.reached.insert(Limit::Attempts);
        let tries = limits::attempts(self);
        match key.phase {
            Phase::Plan => {
                self.message = Some(format!("Could not build valid task list after {tries} tries."));
                self.stage = Stage::Conclude(Outcome::PlanFailed);
                Ok(())
            }
            Phase::Iterate => {
                self.message = Some(format!("Task list iteration: could not get valid task list after {tries} tries."));
                self.iteration_failed()
            }
            Phase::Continue => {
                self.continuation_failed(tries);
                Ok(())
            }
            _ => {
                let reason = format!("no valid reply after {tries} attempts");
                self.phase_failed(key, Failure { reason, issues, ..Failure::default() })
            }
        }
    }

    /// All attempts of a phase are used up, the last one by a prompt that did not fit (spec 12.3).
    fn never_fitted(&mut self, key: &CallKey, message: &str) -> Result<(), Reject> {
        if key.task.is_none() || key.phase == Phase::Merge {
            return self.exhausted(key, Vec::new());
        }
        self.reached.insert(Limit::Attempts);
        let reason = format!("no valid reply after {} attempts; the last one: {message}", limits::attempts(self));
        self.phase_failed(key, Failure { reason, ..Failure::default() })
    }

    /// A phase ended without a valid reply.
    pub(super) fn phase_failed(&mut self, key: &CallKey, failure: Failure) -> Result<(), Reject> {
        if matches!(self.stage, Stage::Conclude(_)) {
            // A cancelled or ending run is taken up by a resume; there is nothing to fail.
            return Ok(());
        }
        let Some(slug) = key.task.clone() else {
            self.message = Some(failure.reason);
            self.stage = Stage::Conclude(Outcome::Unreachable);
            return Ok(());
        };
        match (key.phase, &key.run) {
            (Phase::Execute | Phase::Review, Some(id)) => {
                if self.keep_reviewed(&slug, id, &failure.reason) {
                    return Ok(());
                }
                if let Some(run) = self.tasks.get_mut(&slug).and_then(|task| task.run_mut(id)) {
                    run.failure = Some(failure);
                    run.attempts.close();
                }
                Ok(())
            }
            (Phase::Merge, _) => {
                if let Some(merge) = self.tasks.get_mut(&slug).and_then(|task| task.merge.as_mut()) {
                    merge.fell_back = true;
                    merge.attempts.close();
                }
                Ok(())
            }
            _ => self.fail_task(&slug, failure),
        }
    }
}
