//! A pass over the steps of a list (spec 2.5-2.9): releasing waiting tasks, blocking readers of lost outputs, and
//! opening one step after the other.

use std::collections::BTreeMap;

use crate::issue::{Issue, Severity};
use crate::record::{Apart, Event, ReferenceStage};
use crate::spec::{BlobId, Policy, Slug};

use super::{Attempts, Check, Failure, Reject, Run, State, TaskRun};

/// Where a pass stands: the position of the operator "sequence of concurrent steps".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pass {
    /// The step whose tasks may run.
    pub open: Option<usize>,
    /// The step whose gate was answered: a denial at its own gate does not hold it (spec 11.7).
    pub asked: Option<usize>,
}

impl Run {
    /// Whether the outputs that a task reads exist, are still to come, or never will.
    fn supply(&self, task: &TaskRun) -> Supply {
        let mut producers = task.producers().filter_map(|slug| self.task(slug));
        match producers.find(|producer| producer.state.is_without_output()) {
            Some(lost) => Supply::Lost(lost.slug()),
            None if self.awaited_by(task).next().is_some() => Supply::ToCome,
            None => Supply::Here,
        }
    }

    /// Tasks whose outputs a task reads and that are still to give them. Only an earlier step can; anything else is left to
    /// the check at the start.
    pub(super) fn awaited_by<'a>(&'a self, task: &'a TaskRun) -> impl Iterator<Item = &'a TaskRun> {
        let producers = task.producers().filter_map(move |slug| self.task(slug));
        producers
            .filter(move |producer| !producer.state.is_ended() && self.is_earlier(&producer.task.slug, &task.task.slug))
    }

    fn is_earlier(&self, producer: &Slug, reader: &Slug) -> bool {
        match (self.step_of(producer), self.step_of(reader)) {
            (Some(producer), Some(reader)) => producer < reader,
            _ => false,
        }
    }

    /// Moves every task that waits for no unit, step or person. True if one moved.
    pub(super) fn promote(&mut self) -> Result<bool, Reject> {
        let mut moved = false;
        let mut from = 0;
        self.refresh();
        while let Some((place, task)) = self.tasks.unsettled_from(from) {
            from = place.saturating_add(1);
            if !task.state.is_ended() {
                let slug = task.slug();
                moved |= self.promote_task(&slug)?;
                // What reads from it may have to be looked at in the same turn.
                self.refresh();
            }
        }
        Ok(moved)
    }

    fn promote_task(&mut self, slug: &Slug) -> Result<bool, Reject> {
        let Some(task) = self.tasks.get(slug) else { return Ok(false) };
        let (state, executing) = (task.state, task.executing);
        if executing && state == State::Planned {
            // Taken up again: its finished runs are kept (spec 2.18).
            self.set_state(slug, State::Ready)?;
            return Ok(true);
        }
        if state == State::Running || executing {
            return Ok(false);
        }
        if task.skill_lost && matches!(state, State::Planned | State::Waiting) {
            let reason = format!("Skill not found: {}", task.task.skill.as_deref().unwrap_or_default());
            self.fail_task(slug, Failure { reason, ..Failure::default() })?;
            return Ok(true);
        }
        match self.supply(task) {
            Supply::Lost(cause) => {
                self.block(slug, cause)?;
                Ok(true)
            }
            Supply::ToCome if state == State::Planned => {
                self.set_state(slug, State::Waiting)?;
                Ok(true)
            }
            Supply::Here if matches!(state, State::Planned | State::Waiting) => self.prepare_task(slug),
            _ => Ok(false),
        }
    }

    pub(super) fn block(&mut self, slug: &Slug, cause: Slug) -> Result<(), Reject> {
        self.set_state(slug, State::Blocked)?;
        if let Some(task) = self.tasks.get_mut(slug) {
            task.blocked_by = Some(cause);
            task.problem_seen = false;
            task.problem_shown = false;
        }
        Ok(())
    }

    /// The refinement policy of spec 2.12 for a task whose inputs exist.
    fn prepare_task(&mut self, slug: &Slug) -> Result<bool, Reject> {
        let policy = self.refine_policy(slug);
        let Some(task) = self.tasks.get_mut(slug) else { return Ok(false) };
        let Some(skill) = &task.skill else {
            self.set_state(slug, State::Ready)?;
            return Ok(true);
        };
        let arguments_known = !skill.needs_arguments || !task.task.calls.is_empty();
        let to = match policy {
            _ if task.refined => State::Ready,
            Policy::Never => State::Ready,
            Policy::Always => State::Refining,
            Policy::Auto if task.must_refine || !arguments_known => State::Refining,
            Policy::Auto if task.task.references.is_empty() => State::Ready,
            Policy::Auto => {
                return Ok(task.owe_check(ReferenceStage::Skip));
            }
        };
        if to == State::Ready {
            task.refined = true;
        }
        self.set_state(slug, to)?;
        Ok(true)
    }

    fn refine_policy(&self, slug: &Slug) -> Policy {
        let own = self.tasks.get(slug).and_then(|task| task.skill.as_ref()).and_then(|skill| skill.refine);
        own.unwrap_or(self.settings.refine)
    }

    pub(super) fn references_seen(&mut self, event: &Event) -> Result<(), Reject> {
        let Event::ReferencesChecked { task, n, stage, issues, contents, apart } = event else { return Ok(()) };
        self.references_checked(task, *n, *stage, issues).map(|()| self.note_contents(task, contents, *apart))
    }

    fn references_checked(
        &mut self,
        slug: &Slug,
        n: u32,
        stage: ReferenceStage,
        issues: &[Issue],
    ) -> Result<(), Reject> {
        self.expect_task(slug)?;
        let policy = self.refine_policy(slug);
        let world = self.world;
        let Some(task) = self.tasks.get_mut(slug) else { return Ok(()) };
        if task.check != Some(Check { n, stage }) {
            return Err(Reject::NotInFlight(crate::record::EffectKey::Check { task: slug.clone(), n }));
        }
        task.check = None;
        task.check_issues = issues.to_vec();
        let holds = issues.iter().all(|issue| issue.severity != Severity::Error);
        match stage {
            _ if holds => {
                task.checked = Some(world);
                task.refined = true;
                Ok(())
            }
            ReferenceStage::Skip => {
                task.must_refine = true;
                Ok(())
            }
            ReferenceStage::Start if task.skill.is_some() && policy != Policy::Never && !task.sent_back => {
                task.sent_back = true;
                task.kept = false;
                task.refined = false;
                task.must_refine = true;
                task.refine = Attempts::default();
                self.set_state(slug, State::Refining)
            }
            ReferenceStage::Start => {
                let reason = "a reference is no longer valid".to_owned();
                self.fail_task(slug, Failure { reason, issues: issues.to_vec(), ..Failure::default() })
            }
        }
    }

    /// What the references of a task held when they were last looked at (spec 10.5), and whether that was too much for
    /// one prompt.
    fn note_contents(&mut self, slug: &Slug, contents: &BTreeMap<String, BlobId>, apart: Option<Apart>) {
        if let Some(task) = self.tasks.get_mut(slug) {
            task.seen.clone_from(contents);
            // A task that had begun goes on with the runs it has.
            if !task.kept {
                task.apart = apart;
            }
        }
    }

    /// Opens steps and starts their ready tasks. True if something changed; `end_pass` follows when nothing more can
    /// start in this pass.
    pub(super) fn advance(&mut self) -> Result<Advance, Reject> {
        let Some(current) = self.current_step() else { return Ok(Advance::Over) };
        // What a task at work calls goes on whatever holds its step.
        if self.start_below()? {
            return Ok(Advance::Moved);
        }
        if self.pass.open != Some(current) {
            if self.is_held(current) {
                self.ask_before_run(None);
                return Ok(Advance::Over);
            }
            if self.unapproved_writers(current).next().is_some() {
                return Ok(self.ask_before_run(Some(current)));
            }
            self.before_run = None;
            self.pass.open = Some(current);
            return Ok(Advance::Moved);
        }
        // A refinement may have made a writer of a task in an open step.
        let gate = self.ask_before_run(Some(current));
        let moved = self.start_tasks(current)?;
        Ok(if moved { Advance::Moved } else { gate })
    }

    /// The first step with a task that has not ended.
    pub(super) fn current_step(&self) -> Option<usize> {
        self.tasks.current_step()
    }

    /// Problems hold the next step that has a writer until an accepted iteration has seen them (spec 2.9).
    pub(super) fn is_held(&self, step: usize) -> bool {
        self.held_by(step).next().is_some()
    }

    /// The problems that hold a step.
    pub(super) fn held_by(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        let asked = self.pass.asked == Some(step) || self.pass.open == Some(step);
        let may_hold = !asked && self.pending_of(step).any(|task| task.writer.is_some());
        let tasks = may_hold.then(|| self.tasks.values()).into_iter().flatten();
        tasks.filter(|task| task.below.is_none() && task.state.is_problem() && !task.problem_seen)
    }

    pub(super) fn pending_of(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.tasks.of_step(step).filter(|task| task.below.is_none() && !task.state.is_ended())
    }

    pub(super) fn start_tasks(&mut self, step: usize) -> Result<bool, Reject> {
        let ready = self.tasks.startable(step).filter(|task| task.below.is_none() && self.may_start(task));
        let ready: Vec<Slug> = ready.map(TaskRun::slug).collect();
        self.start(ready)
    }

    /// Starts tasks of templates that tasks at work call.
    fn start_below(&mut self) -> Result<bool, Reject> {
        if !self.operators.are_at_work() {
            return Ok(false);
        }
        let ready = self.tasks.all_startable().filter(|task| self.is_called(task) && self.may_start(task));
        let ready: Vec<Slug> = ready.map(TaskRun::slug).collect();
        self.start(ready)
    }

    fn may_start(&self, task: &TaskRun) -> bool {
        task.state == State::Ready && !task.executing && self.is_approved(task)
    }

    /// Whether it is part of a template that a task at work calls.
    pub(super) fn is_called(&self, task: &TaskRun) -> bool {
        let caller = task.below.as_ref().and_then(|caller| self.tasks.get(caller));
        caller.is_some_and(|caller| caller.is_executing() && self.is_approved(caller))
    }

    fn start(&mut self, ready: Vec<Slug>) -> Result<bool, Reject> {
        let mut moved = false;
        for slug in ready {
            let world = self.world;
            if self.tasks.get(&slug).is_some_and(|task| !self.writes_alone(task)) {
                continue;
            }
            let Some(task) = self.tasks.get_mut(&slug) else { continue };
            // What tools gave a task that had begun is not thrown away: it reads its references anew anyway.
            let acted = task.kept && task.runs.iter().any(|run| !run.calls.is_empty());
            if task.task.references.is_empty() || task.checked == Some(world) || acted {
                self.build_runs(&slug);
                moved = true;
            } else {
                moved |= task.owe_check(ReferenceStage::Start);
            }
        }
        Ok(moved)
    }

    pub(super) fn listed(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks.listed()
    }
}

/// What a step of the pass gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advance {
    /// Something changed; look again.
    Moved,
    /// Work or a person is awaited.
    Waiting,
    /// Nothing more can start in this pass.
    Over,
}

enum Supply {
    Here,
    ToCome,
    Lost(Slug),
}

impl TaskRun {
    pub(super) fn slug(&self) -> Slug {
        self.task.slug.clone()
    }

    /// Asks for a check unless one is owed. True if it was not.
    fn owe_check(&mut self, stage: ReferenceStage) -> bool {
        if self.check.is_some() {
            return false;
        }
        self.checks = self.checks.saturating_add(1);
        self.check = Some(Check { n: self.checks, stage });
        true
    }
}
