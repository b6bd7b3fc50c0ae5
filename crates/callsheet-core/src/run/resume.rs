//! Resuming a run (spec 2.18, 12.4).

use std::collections::BTreeSet;

use crate::nouns::{ExecutionId, Phase, RepeatClass, Settings, Slug, ToolEffect};
use crate::record::{EffectKey, Outcome};

use super::Run;
use super::changing::Changing;
use super::clock::Reuse;
use super::execution::{ExecutionPhase, ToolState};
use super::mounts::Mounts;
use super::next_stage::{NextStage, follow_up_waits, gave_up_list};
use super::operators::Trees;
use super::state::{Stage, State, Stopwatch};
use super::task::{ReferenceCheck, Refined, TaskPhase, TaskRun};
use super::unended::Unended;

/// Resumes a run.
pub(super) struct Resume<'a>(pub &'a mut Run);

impl Resume<'_> {
    /// Resumes a run: settles what was in flight, ends waiting, and counts rounds from 1 again.
    pub fn resume(&mut self, settings: &Settings) {
        self.stop_clocks();
        self.0.setup.set(settings);
        // A resume reads the sheet first and refuses a faulty edit.
        self.0.sheet.hold(None);
        self.0.progress.stop_waiting();
        self.settle_in_flight();
        Changing(self.0).skip_lost_checks();
        self.0.calls.release_lists();
        self.0.progress.routing_mut().release();
        self.0.tasks.values_mut().for_each(TaskRun::release_slots);
        let unreached = self.reopen_after_outage();
        let slugs: Vec<Slug> = self.0.tasks.keys().cloned().collect();
        for slug in &slugs {
            self.resume_task(slug, &unreached);
        }
        let run = &mut *self.0;
        run.tasks.unblock(false);
        run.changes.note_change();
        run.progress.unsay();
        if run.sheet.has_list() {
            run.progress.rounds_mut().count_anew(1);
        }
        self.resume_stage();
        let run = &mut *self.0;
        let waits = run.follow_ups.has_failed() && run.stage() == Stage::Continue;
        let over = run.progress.is_concluding() || matches!(run.stage(), Stage::Join(_));
        let idle = over || waits;
        run.progress.set_idle(idle);
    }

    /// Opens the tree tasks that an outage ended. Returns their leaves.
    fn reopen_after_outage(&mut self) -> BTreeSet<Slug> {
        if self.0.operators.tree().is_none() {
            Mounts(self.0).reopen_after_outage()
        } else if self.0.stage() == Stage::Concluded(Outcome::Unreachable) {
            Trees(self.0).reopen(0)
        } else {
            BTreeSet::new()
        }
    }

    /// Stops all clocks, because time without a process does not count.
    fn stop_clocks(&mut self) {
        let run = &mut *self.0;
        let now = run.clock.now();
        run.clock.set_working(false);
        run.operators.stop_clocks(now);
        for task in run.tasks.values_mut() {
            task.clock.set(false, now);
        }
    }

    fn settle_in_flight(&mut self) {
        let repeated = self.0.ledger.cut_off_all();
        let spent = self.0.ledger.of_run();
        let calls = u32::try_from(self.0.calls.records().len()).unwrap_or(u32::MAX);
        self.0.clock.note_reuse(Reuse { calls, repeated, saved_usd: spent.cost_usd, saved_ms: 0 });
        for key in self.0.in_flight.settle() {
            match key {
                EffectKey::Apply { .. } => self.0.changes.interrupt(&key),
                EffectKey::Tool { task, run, call } => self.settle_tool(&task, &run, &call),
                _ => {}
            }
        }
        self.settle_midway();
    }

    /// Settles the calls that waited for an answer or went on with one. What they had begun ended with their process,
    /// so a call that may be repeated begins again.
    fn settle_midway(&mut self) {
        let mut midway = Vec::new();
        for task in self.0.tasks.values_mut() {
            for exec in &mut task.runs {
                for call in exec.calls.iter_mut().filter(|call| call.is_midway()) {
                    call.state = ToolState::Queued;
                    midway.push((task.task.slug.clone(), exec.id.clone(), call.call.id.clone()));
                }
            }
        }
        midway.iter().for_each(|(task, run, call)| self.settle_tool(task, run, call));
    }

    /// Settles a tool call that has a start and no end. A call that may not be repeated does not run again (spec
    /// 2.18).
    fn settle_tool(&mut self, task: &Slug, run: &ExecutionId, id: &str) {
        let Some(name) = self.0.tool_mut(task, run, id).map(|call| call.call.name.clone()) else { return };
        let policy = self.0.policy(&name);
        if policy.repeat == RepeatClass::Once {
            Unended(self.0).interrupt(task, run, id);
            if policy.effect != ToolEffect::Read {
                self.0.changes.note_change();
            }
        }
    }

    /// Settles the tool calls of a task that are in flight, because the task ends without them.
    pub fn settle_tools(&mut self, slug: &Slug) {
        let in_flight = self.0.in_flight.iter().filter_map(|key| match key {
            EffectKey::Tool { task, run, call } if task == slug => Some((run.clone(), call.clone())),
            _ => None,
        });
        in_flight.collect::<Vec<_>>().iter().for_each(|(run, call)| self.settle_tool(slug, run, call));
    }

    /// Repeats the calls that were interrupted at the end of the run's time. A call that may not be repeated is
    /// settled like one whose process ended.
    fn settle_cut(&mut self, slug: &Slug) {
        let run = &mut *self.0;
        let Some(task) = run.tasks.get_mut(slug) else { return };
        let (mut was_cut, mut interrupted) = (false, Vec::new());
        for exec in &mut task.runs {
            for call in &mut exec.calls {
                let ToolState::Cut { approved } = call.state else { continue };
                was_cut = true;
                call.state = if approved { ToolState::Approved } else { ToolState::Queued };
                let policy = run.setup.policy(&call.call.name);
                if policy.repeat == RepeatClass::Once {
                    interrupted.push((exec.id.clone(), call.call.id.clone()));
                }
            }
        }
        if was_cut && task.is_process() {
            // A process that starts again has its whole time again.
            task.clock = Stopwatch::default();
        }
        interrupted.iter().for_each(|(run, call)| Unended(self.0).interrupt(slug, run, call));
    }

    /// Resumes a task. `unreached` are the leaves of a tree that an outage ended. For other failed leaves, the
    /// failure is the result.
    fn resume_task(&mut self, slug: &Slug, unreached: &BTreeSet<Slug>) {
        self.settle_cut(slug);
        let Some(task) = self.0.tasks.get_mut(slug) else { return };
        // Files may have changed since the revision that was checked.
        if matches!(task.check, ReferenceCheck::Passed { .. }) {
            task.check = ReferenceCheck::Open;
        }
        let again = unreached.contains(slug) || task.is_unreached() && !task.is_handler();
        // The table of spec 2.10 contains each of these moves.
        match task.state() {
            State::Refining => {
                task.refined = Refined::Due;
                task.phase = TaskPhase::Planned;
            }
            State::Cancelled => task.phase = TaskPhase::Planned,
            State::Running => task.phase = TaskPhase::Ready,
            State::Failed if again => {
                task.phase = TaskPhase::Planned;
                task.refine = task.refine.renewed();
                task.clock = Stopwatch::default();
                for run in task.runs.iter_mut().filter(|run| run.failure().is_some()) {
                    run.phase = ExecutionPhase::Working;
                    run.attempts = run.attempts.renewed();
                }
            }
            _ => {}
        }
    }

    fn resume_stage(&mut self) {
        let run = &mut *self.0;
        let ended = run.progress.ending();
        if ended.is_some() {
            run.calls.renew_list(Phase::Route);
            run.progress.routing_mut().renew();
        }
        if ended.is_some_and(gave_up_list) {
            run.follow_ups.fail();
        }
        if run.operators.tree().is_some() {
            let over = run.operators.top().and_then(|top| top.closed()).map(|closed| closed.outcome);
            run.progress.go(over.map_or(Stage::Operate, Stage::Conclude));
        } else if !run.sheet.has_list() {
            if ended.is_some() {
                run.calls.renew_list(Phase::Plan);
            }
            run.progress.go(run.setup.stage_without_list());
        } else if run.follow_ups.pending().is_some() && !follow_up_waits(run) {
            if ended.is_some() {
                run.calls.renew_list(Phase::Continue);
            }
            run.follow_ups.note_before(ended);
            run.progress.go(Stage::Continue);
        } else if run.progress.rounds().iteration_is_due() {
            run.follow_ups.forget_before();
            if matches!(ended, Some(Outcome::IterationFailed | Outcome::Unreachable)) {
                run.calls.renew_list(Phase::Iterate);
            }
            run.progress.go(Stage::Iterate);
        } else {
            run.follow_ups.forget_before();
            NextStage(run).pass();
        }
    }
}
