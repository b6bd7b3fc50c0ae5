//! Taking a run up again (spec 2.18, 12.4) and stopping it (spec 2.16).

use crate::record::{EffectKey, Outcome};
use crate::spec::{RepeatClass, Settings, Slug};

use super::follow::failed;
use super::task::SetStage;
use super::{Attempts, Reject, Run, Stage, State, Stopwatch, TaskRun, ToolOutput, ToolState};

impl Run {
    /// What was in flight is settled, a waiting outcome is lifted, rounds count anew.
    pub(super) fn resume(&mut self, settings: &Settings, _at: u64) {
        self.stop_clocks();
        self.settings = settings.clone();
        self.waiting = None;
        self.settle_in_flight();
        for attempts in self.all_attempts() {
            attempts.admitted = false;
        }
        let unreached = self.reopen_after_outage();
        let slugs: Vec<Slug> = self.tasks.keys().cloned().collect();
        for slug in &slugs {
            self.resume_task(slug, unreached.contains(slug));
        }
        self.unblock(false);
        // A later list may have left out what comes back.
        for slug in &slugs {
            if self.tasks.get(slug).is_some_and(|task| !task.state.is_ended()) {
                self.place(slug);
            }
        }
        self.world = self.world.saturating_add(1);
        self.message = None;
        if self.list_adopted {
            self.round = 1;
        }
        self.resume_stage();
        self.idle = matches!(self.stage, Stage::Conclude(_)) || self.follow_up_failed && self.stage == Stage::Continue;
    }

    /// The time in which no process ran does not count.
    fn stop_clocks(&mut self) {
        let now = self.now;
        self.clock.set(false, now);
        self.operators.stop_clocks(now);
        for task in self.tasks.values_mut() {
            task.clock.set(false, now);
        }
    }

    fn settle_in_flight(&mut self) {
        self.ledger.released_but(|_| false);
        for key in std::mem::take(&mut self.in_flight) {
            match key {
                EffectKey::Apply { .. } => {
                    let interrupted = self.sets.iter_mut().find(|(set, _)| set.apply() == key);
                    if let Some((_, set)) = interrupted {
                        set.stage = SetStage::RollBack;
                    }
                }
                EffectKey::Tool { task, run, call } => self.settle_tool(&task, &run, &call),
                _ => {}
            }
        }
    }

    /// A call that may not be repeated and has a start but no finish is not run again (spec 2.18).
    fn settle_tool(&mut self, task: &Slug, run: &crate::spec::ExecRunId, id: &str) {
        let Some(name) = self.tool_mut(task, run, id).map(|call| call.call.name.clone()) else { return };
        let policy = self.policy(&name);
        if policy.repeat == RepeatClass::Once {
            self.interrupted(task, run, id);
            if policy.effect != crate::spec::ToolEffect::Read {
                self.world = self.world.saturating_add(1);
            }
        }
    }

    /// A script of a template is asked about (spec "Templates" 8); anything else tells its model.
    fn interrupted(&mut self, slug: &Slug, run: &crate::spec::ExecRunId, id: &str) {
        let asks = self.tasks.get(slug).is_some_and(TaskRun::is_process);
        if asks {
            self.unended.insert(slug.clone());
        }
        let state = if asks { ToolState::Gated(self.next_gate()) } else { ToolState::Done(ToolOutput::Interrupted) };
        if let Some(call) = self.tool_mut(slug, run, id) {
            (call.state, call.again) = (state, asks);
        }
    }

    /// Calls that the end of the run's time cut are made again; one that may not be repeated is settled like one whose
    /// process died.
    fn settle_cut(&mut self, slug: &Slug) {
        let policies = &self.tool_policies;
        let Some(task) = self.tasks.get_mut(slug) else { return };
        let (mut was_cut, mut interrupted) = (false, Vec::new());
        for run in &mut task.runs {
            for call in run.calls.iter_mut().filter(|call| call.cut) {
                (call.cut, was_cut) = (false, true);
                let policy = policies.get(&call.call.name).copied().unwrap_or_default();
                if policy.repeat == RepeatClass::Once {
                    interrupted.push((run.id.clone(), call.call.id.clone()));
                }
            }
        }
        if was_cut && task.is_process() {
            // A process that is started again has its whole time again.
            task.clock = Stopwatch::default();
        }
        interrupted.iter().for_each(|(run, call)| self.interrupted(slug, run, call));
    }

    fn all_attempts(&mut self) -> impl Iterator<Item = &mut Attempts> {
        let tasks = self.tasks.values_mut().flat_map(|task| {
            let runs = task.runs.iter_mut().map(|run| &mut run.attempts);
            let merge = task.merge.iter_mut().map(|merge| &mut merge.attempts);
            std::iter::once(&mut task.refine).chain(runs).chain(merge)
        });
        [&mut self.plan, &mut self.iterate, &mut self.follow].into_iter().chain(tasks)
    }

    /// `unreached`: it is a leaf of a task tree that an outage ended. The result of another is made of its failure.
    fn resume_task(&mut self, slug: &Slug, unreached: bool) {
        self.settle_cut(slug);
        let Some(task) = self.tasks.get_mut(slug) else { return };
        let unreachable = task.failure.as_ref().is_some_and(|failure| failure.communication);
        let to = match task.state {
            State::Refining | State::Cancelled => State::Planned,
            State::Running => State::Ready,
            State::Failed if unreached || unreachable && !task.is_handler() => State::Planned,
            _ => {
                task.checked = None;
                return;
            }
        };
        // A checked world is one that this process saw.
        task.checked = None;
        match task.state {
            State::Refining => task.must_refine = true,
            State::Failed => {
                task.failure = None;
                task.refine = task.refine.renewed();
                task.clock = Stopwatch::default();
                for run in task.runs.iter_mut().filter(|run| run.failure.is_some()) {
                    run.failure = None;
                    run.attempts = run.attempts.renewed();
                }
            }
            _ => {}
        }
        // The table allows each of these; `set_state` would only say so again.
        task.state = to;
    }

    /// Tasks blocked by one that may run again wait for it again (spec 12.4); `listed`: only those of the current list.
    pub(super) fn unblock(&mut self, listed: bool) {
        loop {
            let freed: Vec<Slug> = self
                .tasks
                .values()
                .filter(|task| !listed || self.step_of(&task.task.slug).is_some())
                .filter(|task| task.state == State::Blocked && task.producers().next().is_some())
                .filter(|task| {
                    let mut producers = task.producers().filter_map(|producer| self.task(producer));
                    producers.all(|producer| !producer.state.is_without_output())
                })
                .map(TaskRun::slug)
                .collect();
            if freed.is_empty() {
                return;
            }
            for slug in freed {
                if let Some(task) = self.tasks.get_mut(&slug) {
                    task.state = State::Planned;
                    task.blocked_by = None;
                }
            }
        }
    }

    fn resume_stage(&mut self) {
        let ended = match self.stage {
            Stage::Conclude(outcome) | Stage::Concluded(outcome) => Some(outcome),
            _ => None,
        };
        self.follow_up_failed |= ended.is_some_and(failed) && self.follow_up.is_some();
        if self.operators.tree().is_some() {
            let over = self.operators.top().and_then(|top| top.closed.as_ref()).map(|closed| closed.outcome);
            self.stage = over.map_or(Stage::Operate, Stage::Conclude);
        } else if !self.list_adopted {
            if ended.is_some() {
                self.plan = self.plan.renewed();
            }
            self.stage = self.stage_without_list();
        } else if self.follow_up.is_some() && !self.follow_up_waits() {
            if ended.is_some() {
                self.follow = self.follow.renewed();
            }
            self.before_follow_up = self.before_follow_up.or(ended);
            self.stage = Stage::Continue;
        } else if self.iteration_due {
            self.before_follow_up = None;
            if matches!(ended, Some(Outcome::IterationFailed | Outcome::Unreachable)) {
                self.iterate = self.iterate.renewed();
            }
            self.stage = Stage::Iterate;
        } else {
            self.before_follow_up = None;
            self.stage = Stage::Pass;
            self.conclude_if_nothing_starts();
        }
    }

    pub(super) fn stage_without_list(&self) -> Stage {
        match self.entry {
            Some(crate::record::Entry::Prompt { .. }) => Stage::Prepare,
            _ => Stage::AwaitList,
        }
    }

    /// A person stops the run: all work goes, tasks that have not ended are cancelled. An apply in flight is not cut
    /// off, since nothing may be applied half (spec 2.16).
    pub(super) fn cancel(&mut self) -> Result<(), Reject> {
        if matches!(self.stage, Stage::Conclude(_)) {
            return Err(Reject::Concluding);
        }
        let pending: Vec<Slug> = self.tasks.values().filter(|task| !task.state.is_ended()).map(TaskRun::slug).collect();
        for slug in pending {
            self.set_state(&slug, State::Cancelled)?;
        }
        self.plan.admitted = false;
        self.iterate.admitted = false;
        self.follow.admitted = false;
        self.waiting = None;
        self.stage = Stage::Conclude(Outcome::Cancelled);
        Ok(())
    }
}

impl Attempts {
    /// A phase that ended without a reply begins again at a resume; what it had tried is still counted as time.
    fn renewed(&self) -> Self {
        Self { busy_ms: self.busy_ms, reading: self.reading.clone(), counted: self.counted, ..Self::default() }
    }
}
