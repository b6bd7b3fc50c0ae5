//! The one door in: which file folds which fact.

use crate::record::{EffectKey, Event, Outcome};
use crate::spec::Slug;

use super::{Failure, Reject, Run, Stage, State};

impl Run {
    pub(super) fn fold(&mut self, event: &Event, at: u64) -> Result<(), Reject> {
        let steers =
            matches!(event, Event::RunContinued { .. } | Event::TaskDropped { .. } | Event::ListAdopted { .. });
        if steers && self.operators.tree().is_some() {
            return Err(Reject::RunsTemplate);
        }
        if let Some(folded) = self.fold_at_any_stage(event, at) {
            return folded;
        }
        match event {
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::RunContinued { .. }
            | Event::SheetRendered { .. }
            | Event::FollowUpWithdrawn { .. }
            | Event::ChangesReverted { .. } => Ok(()),
            Event::TaskRetried { task, skills } => self.retried_by_person(task, skills),
            Event::TaskDropped { task } => self.dropped(task),
            Event::Started { effect } => self.started(effect),
            Event::ReplyReceived { .. } => self.reply_received(event),
            Event::CallFailed { .. } => self.unanswered(event, at),
            Event::ReplyRefused { key, issues, repairs, valid } => {
                self.reply_refused(key, issues, repairs, valid.as_ref())
            }
            Event::ListAdopted { origin, list, repairs, issues } => {
                self.list_adopted(origin, list, repairs, issues, at)
            }
            Event::TaskRefined { key, refinement, repairs, issues } => {
                self.task_refined(key, refinement, repairs, issues)
            }
            Event::RunFinished { key, result, repairs, issues } => self.run_finished(key, result, repairs, issues),
            Event::Reviewed { key, missing, repairs, issues } => {
                self.review_read(key, missing.as_deref(), repairs, issues)
            }
            Event::CallsAsked { key, calls, said, again, repairs, issues } => {
                self.calls_asked(key, calls, (said.as_ref(), *again), repairs, issues)
            }
            Event::ReferencesChecked { .. } => self.references_seen(event),
            Event::ToolFinished { .. } | Event::CallMounted { .. } | Event::CallReturned { .. } => {
                self.fold_of_call(event)
            }
            Event::QuestionAnswered { task, run, call, output } => self.question_answered(task, run, call, output),
            Event::RunsMerged { task, n, result } => self.runs_merged(task, *n, result),
            Event::GateAnswered { gate, answer } => self.gate_answered(gate, answer),
            Event::ChangesApplied { .. }
            | Event::ChangesRebased { .. }
            | Event::ChangesRejected { .. }
            | Event::ChangesRolledBack { .. } => self.fold_of_changes(event),
            Event::TaskFailed { task, reason } => self.task_failed(task, reason),
            Event::TreeAdopted { tree } => self.tree_adopted(tree),
            Event::LimitsChanged { limits } => self.limits_changed(limits),
            Event::Evaluated { task, n, step } => self.tree_evaluated(task, *n, step),
            Event::ContextRetrieved { task, n, retrieval, empty_index } => {
                self.context_retrieved(task, *n, retrieval, *empty_index)
            }
            Event::PromptsUsed { prompts } => {
                self.told.used(prompts);
                Ok(())
            }
            Event::LimitNear { task, limit, max, .. } => {
                self.told.near(task.as_ref(), limit, *max);
                Ok(())
            }
            Event::CancelRequested => self.cancel(),
            Event::RunWaiting { outcome } => self.wait_for_person(*outcome),
            Event::RunConcluded { outcome, .. } => self.concluded(*outcome),
        }
    }

    fn task_failed(&mut self, task: &Slug, reason: &str) -> Result<(), Reject> {
        self.expect_task(task)?;
        self.fail_task(task, Failure { reason: reason.to_owned(), ..Failure::default() })
    }

    /// Facts of change sets on their way to the disk; others change nothing.
    fn fold_of_changes(&mut self, event: &Event) -> Result<(), Reject> {
        match event {
            Event::ChangesApplied { task, run, set, changes } => self.changes_applied(task, run, *set, changes),
            Event::ChangesRebased { task, run, set, changes, as_shown } => {
                self.changes_rebased(task, run, *set, changes, *as_shown)
            }
            Event::ChangesRejected { task, run, set, issues } => self.changes_rejected(task, run, *set, issues),
            Event::ChangesRolledBack { task, run, set } => self.changes_rolled_back(task, run, *set),
            _ => Ok(()),
        }
    }

    /// Facts of calls of tools and templates; others change nothing.
    fn fold_of_call(&mut self, event: &Event) -> Result<(), Reject> {
        match event {
            Event::ToolFinished { task, run, call, record, ms } => self.tool_finished(task, run, call, record, *ms),
            Event::CallMounted { task, run, call, tree, shared } => {
                let tree = self.operators.completed(tree, shared);
                self.call_mounted(task, run, call, tree)
            }
            Event::CallReturned { task, run, call, result, failed } => {
                self.call_returned(task, run, call, result, failed.as_deref())
            }
            _ => Ok(()),
        }
    }

    /// Facts that do not ask what the run is doing; `None`: another one, that a run which has not concluded may take.
    fn fold_at_any_stage(&mut self, event: &Event, at: u64) -> Option<Result<(), Reject>> {
        Some(match event {
            Event::RunStarted { .. } if self.id.is_some() => Err(Reject::AlreadyStarted),
            Event::RunStarted { run, entry, settings, tools } => {
                self.id = Some(run.clone());
                self.entry = Some(entry.clone());
                self.settings = settings.clone();
                self.tool_policies = tools.clone();
                self.stage = self.stage_without_list();
                Ok(())
            }
            _ if self.id.is_none() => Err(Reject::NotStarted),
            Event::RunResumed { settings } => {
                self.resume(settings, at);
                Ok(())
            }
            Event::RunContinued { text, settings } => self.continued(text, settings, at),
            Event::SheetRendered { hash } => {
                self.sheet_is(hash, at);
                Ok(())
            }
            Event::ChangesReverted { task, set, .. } => self.reverted(task, *set),
            Event::FollowUpWithdrawn { outcome } => self.follow_up_withdrawn(*outcome),
            _ if matches!(self.stage, Stage::Concluded(_)) => Err(Reject::Concluded),
            _ => return None,
        })
    }

    fn started(&mut self, key: &EffectKey) -> Result<(), Reject> {
        let startable = !matches!(
            key,
            EffectKey::Read(_)
                | EffectKey::Check { .. }
                | EffectKey::Mount { .. }
                | EffectKey::Return { .. }
                | EffectKey::Merge { .. }
                | EffectKey::Evaluate { .. }
        );
        if !startable || self.in_flight.contains(key) {
            return Err(Reject::NotStartable(key.clone()));
        }
        if !self.is_outstanding(key) && !self.waits_for_room.contains(key) {
            return Err(Reject::NotOutstanding(key.clone()));
        }
        match key {
            EffectKey::Ask(call) => {
                let task = call.task.as_ref().and_then(|slug| self.tasks.get(slug));
                let tokens = super::limits::reserve(self, task);
                self.ledger.started(call, tokens);
                if let Some(task) = call.task.as_ref().filter(|_| call.phase != crate::spec::Phase::Refine) {
                    self.enter_running(task)?;
                }
                self.call_numbers.insert((call.phase, call.task.clone(), call.run.clone()), call.n);
                if matches!(call.phase, crate::spec::Phase::Iterate | crate::spec::Phase::Continue) {
                    for task in self.tasks.values_mut() {
                        task.problem_shown = task.state.is_problem();
                    }
                }
                let mut counted = true;
                if let Some(attempts) = self.attempts_mut(call) {
                    attempts.admitted = true;
                    counted = std::mem::replace(&mut attempts.counted, true);
                }
                self.minimum_calls = self.minimum_calls.saturating_add(u32::from(!counted));
            }
            EffectKey::Tool { task, run, .. } | EffectKey::Apply { task, run, .. } => {
                self.enter_running(task)?;
                if let Some(run) = self.tasks.get_mut(task).and_then(|task| task.run_mut(run)) {
                    run.attempts.admitted = true;
                }
            }
            _ => {}
        }
        self.in_flight.insert(key.clone());
        Ok(())
    }

    /// Ends what was in flight under `key`.
    pub(super) fn landed(&mut self, key: EffectKey) -> Result<(), Reject> {
        if !self.in_flight.remove(&key) {
            return Err(Reject::NotInFlight(key));
        }
        if let EffectKey::Ask(call) = &key {
            self.ledger.released(call);
        }
        Ok(())
    }

    pub(super) fn expect_task(&self, slug: &Slug) -> Result<(), Reject> {
        if self.tasks.contains_key(slug) { Ok(()) } else { Err(Reject::UnknownTask(slug.clone())) }
    }

    /// Moves a task along the table of spec 2.10; staying where it is is no transition.
    pub(super) fn set_state(&mut self, slug: &Slug, to: State) -> Result<(), Reject> {
        let Some(task) = self.tasks.get_mut(slug) else {
            return Err(Reject::UnknownTask(slug.clone()));
        };
        if task.state == to {
            return Ok(());
        }
        if !task.state.may_become(to) {
            return Err(Reject::Transition { task: slug.clone(), from: task.state, to });
        }
        task.state = to;
        if to.is_ended() {
            self.let_go(slug);
        }
        Ok(())
    }

    /// The first piece of work of an execution makes a ready task run.
    pub(super) fn enter_running(&mut self, slug: &Slug) -> Result<(), Reject> {
        match self.tasks.get(slug).map(|task| task.state) {
            Some(State::Ready) => self.set_state(slug, State::Running),
            _ => Ok(()),
        }
    }

    /// An ended task owes nothing. A cancelled one may be taken up again, so what was in flight stays known until
    /// the resume settles it.
    pub(super) fn let_go(&mut self, slug: &Slug) {
        let cancelled = self.tasks.get(slug).is_some_and(|task| task.state == State::Cancelled);
        if !cancelled {
            self.forget_work(slug);
            self.abandon_calls(slug);
        }
        if let Some(task) = self.tasks.get_mut(slug) {
            task.check = None;
            task.refine.admitted = false;
            for run in &mut task.runs {
                run.attempts.admitted = false;
            }
            if let Some(merge) = &mut task.merge {
                merge.attempts.admitted = false;
            }
        }
        self.note_ideal_end(slug);
    }

    /// Whether anything of a task is in flight.
    pub(super) fn works(&self, slug: &Slug) -> bool {
        self.in_flight.iter().any(|key| works_for(key, slug))
    }

    /// Whether anything of a task is in flight that no person is asked about.
    pub(super) fn works_by_itself(&self, slug: &Slug) -> bool {
        let asks = |key: &EffectKey| matches!(key, EffectKey::Gate(_) | EffectKey::Question { .. });
        let applies = |key: &EffectKey| matches!(key, EffectKey::Apply { task, .. } if task == slug);
        self.in_flight.iter().any(|key| applies(key) || works_for(key, slug) && !asks(key))
    }

    /// Takes back what a task has in flight and what of it waits for a person. An apply in flight is never abandoned:
    /// nothing may be applied half (spec 3.10).
    pub(super) fn forget_work(&mut self, slug: &Slug) {
        self.in_flight.retain(|key| !works_for(key, slug));
        self.return_reserves();
        let in_flight = &self.in_flight;
        self.sets.retain(|key, set| {
            key.task != *slug || set.stage == super::task::SetStage::RollBack || in_flight.contains(&key.apply())
        });
    }

    /// A call that was given up does not come back: what it reserved is free for others.
    pub(super) fn return_reserves(&mut self) {
        let in_flight = &self.in_flight;
        self.ledger.released_but(|call| in_flight.contains(&EffectKey::Ask(call.clone())));
    }

    pub(super) fn fail_task(&mut self, slug: &Slug, failure: Failure) -> Result<(), Reject> {
        self.set_state(slug, State::Failed)?;
        if let Some(task) = self.tasks.get_mut(slug) {
            task.failure = Some(failure);
            task.problem_seen = false;
            task.problem_shown = false;
        }
        Ok(())
    }

    fn concluded(&mut self, outcome: Outcome) -> Result<(), Reject> {
        match self.stage {
            Stage::Conclude(owed) if owed == outcome && self.applies_in_flight() == 0 => {
                self.stage = Stage::Concluded(outcome);
                self.in_flight.remove(&EffectKey::Conclude);
                Ok(())
            }
            _ => Err(Reject::WrongOutcome(outcome)),
        }
    }
}

fn gate_names(gate: &crate::record::Gate, slug: &Slug) -> bool {
    use crate::record::GateKind;
    match &gate.kind {
        GateKind::BeforeRun(_) => false,
        GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => task == slug,
    }
}

/// Whether the key belongs to a unit of the task. Applies outlive it (spec 3.10).
fn works_for(key: &EffectKey, slug: &Slug) -> bool {
    match key {
        EffectKey::Ask(call) => call.task.as_ref() == Some(slug),
        EffectKey::Tool { task, .. } | EffectKey::Question { task, .. } => task == slug,
        EffectKey::Gate(gate) => gate_names(gate, slug),
        _ => false,
    }
}
