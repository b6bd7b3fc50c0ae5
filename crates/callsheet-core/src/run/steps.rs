//! A pass over the steps of a list (spec 2.5-2.9): releases waiting tasks, blocks readers of lost outputs, and opens
//! one step after the other.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::issue::{Issue, Severity};
use crate::nouns::{BlobId, Policy, SectionOrder, Slug};
use crate::record::{Apart, ReferenceStage};

use super::Run;
use super::answers::Answers;
use super::approval::Approval;
use super::execute::Executing;
use super::failure::Failure;
use super::operators::TreeQuery;
use super::places::Place;
use super::state::State;
use super::supply::Supply;
use super::task::{ReferenceCheck, Refined, TaskPhase, TaskRun};
use super::task_change::TaskChange;

/// Moves the tasks of a list towards their executions.
pub(super) struct Steps<'a>(pub &'a mut Run);

impl Steps<'_> {
    /// Moves every task that does not wait for a slot, a step or a person. Returns whether one moved.
    pub fn promote(&mut self) -> bool {
        let mut moved = false;
        let mut from = Place::FIRST;
        self.0.tasks.refresh();
        while let Some((place, task)) = self.0.tasks.unsettled_from(from) {
            from = place.next();
            if !task.state().is_ended() {
                let slug = task.slug();
                moved |= self.promote_task(&slug);
                // The readers of the task may have to be examined in the same turn.
                self.0.tasks.refresh();
            }
        }
        moved
    }

    fn promote_task(&mut self, slug: &Slug) -> bool {
        let run = &mut *self.0;
        let Some(task) = run.tasks.get(slug) else { return false };
        let (state, begun) = (task.state(), task.has_begun());
        if begun && state == State::Planned {
            // The task was resumed, and its finished executions are kept (spec 2.18).
            TaskChange(run).enter(slug, TaskPhase::Ready);
            return true;
        }
        if state == State::Running || begun || run.sheet.holds(slug) {
            return false;
        }
        if let (Some(skill), None, State::Planned | State::Waiting) = (&task.task.skill, &task.skill, state) {
            let reason = format!("Skill not found: {skill}");
            TaskChange(run).fail(slug, Failure { reason, ..Failure::default() });
            return true;
        }
        match run.tasks.supply(task) {
            Supply::Lost(cause) => {
                TaskChange(run).block(slug, cause);
                true
            }
            Supply::ToCome if state == State::Planned => {
                TaskChange(run).enter(slug, TaskPhase::Waiting);
                true
            }
            Supply::Here if matches!(state, State::Planned | State::Waiting) => self.prepare(slug),
            _ => false,
        }
    }

    /// Applies the refinement policy of spec 2.12 to a task whose inputs exist.
    fn prepare(&mut self, slug: &Slug) -> bool {
        let default = self.0.settings().refine;
        let Some(task) = self.0.tasks.get_mut(slug) else { return false };
        let Some(skill) = &task.skill else {
            TaskChange(self.0).enter(slug, TaskPhase::Ready);
            return true;
        };
        let arguments_known = !skill.needs_arguments || !task.task.calls.is_empty();
        let to = match skill.refine.unwrap_or(default) {
            // Its words hold for every item, so no refinement knows more.
            _ if task.is_refined() || task.direct || task.task.for_each.is_some() => TaskPhase::Ready,
            Policy::Never => TaskPhase::Ready,
            Policy::Always => TaskPhase::Refining,
            Policy::Auto if task.refined == Refined::Due || !arguments_known => TaskPhase::Refining,
            Policy::Auto if task.task.references.is_empty() => TaskPhase::Ready,
            Policy::Auto => return task.ask_check(ReferenceStage::Skip),
        };
        if to == TaskPhase::Ready {
            task.refined = Refined::Done;
        }
        TaskChange(self.0).enter(slug, to);
        true
    }

    /// Applies the check of a task's references.
    pub fn check_ended(&mut self, slug: &Slug, stage: ReferenceStage, issues: &[Issue]) {
        let (default, revision) = (self.0.settings().refine, self.0.changes.revision());
        let Some(task) = self.0.tasks.get_mut(slug) else { return };
        let may_refine = task.skill.as_ref().is_some_and(|skill| skill.refine.unwrap_or(default) != Policy::Never);
        task.check = ReferenceCheck::Open;
        task.check_issues = issues.to_vec();
        let holds = issues.iter().all(|issue| issue.severity != Severity::Error);
        match stage {
            _ if holds => {
                task.check = ReferenceCheck::Passed { revision };
                task.refined = Refined::Done;
            }
            ReferenceStage::Skip => task.refined = Refined::Due,
            ReferenceStage::Start if may_refine && !task.sent_back && task.task.for_each.is_none() => {
                task.send_back();
                TaskChange(self.0).enter(slug, TaskPhase::Refining);
            }
            ReferenceStage::Start => {
                let reason = "a reference is no longer valid".to_owned();
                TaskChange(self.0).fail(slug, Failure { reason, issues: issues.to_vec(), ..Failure::default() });
            }
        }
    }

    /// Notes the contents of a task's references at the last check (spec 10.5), and whether they were too large for
    /// one prompt.
    pub fn note_contents(&mut self, slug: &Slug, contents: &BTreeMap<String, BlobId>, apart: Option<Apart>) {
        if let Some(task) = self.0.tasks.get_mut(slug) {
            task.seen.clone_from(contents);
            // A task that had begun continues with its existing executions.
            if !task.is_on_hold() {
                task.apart = apart;
            }
        }
    }

    /// Opens steps and starts their ready tasks.
    pub fn open(&mut self) -> Advance {
        let Some(current) = self.0.tasks.current_step() else { return Advance::Over };
        // Tasks that a running task calls start even if problems hold its step.
        if self.start_called() {
            return Advance::Moved;
        }
        let run = &mut *self.0;
        if run.progress.rounds().open_step() != Some(current) {
            if run.is_held(current) {
                Answers(run).ask_before_run(None);
                return Advance::Over;
            }
            if Approval(run).unapproved_writers(current).next().is_some() {
                Answers(run).ask_before_run(Some(current));
                return Advance::Waiting;
            }
            run.gates.close_before_run();
            run.progress.rounds_mut().open(current);
            return Advance::Moved;
        }
        // A refinement may have turned a task of an open step into a writer.
        Answers(run).ask_before_run(Some(current));
        if self.start(current..run_ahead(self.0, current)) { Advance::Moved } else { Advance::Waiting }
    }

    /// Starts the ready tasks of the steps that may run.
    pub fn start(&mut self, steps: Range<usize>) -> bool {
        let ready = self.0.tasks.startable(steps).filter(|task| task.is_own() && may_start(self.0, task));
        let ready = ready.map(TaskRun::slug).collect();
        self.begin(ready)
    }

    /// Starts tasks of templates that running tasks call.
    fn start_called(&mut self) -> bool {
        if !self.0.operators.are_at_work() {
            return false;
        }
        let ready = self.0.tasks.all_startable();
        let ready = ready.filter(|task| Approval(self.0).is_called(task) && may_start(self.0, task));
        let ready = ready.map(TaskRun::slug).collect();
        self.begin(ready)
    }

    fn begin(&mut self, ready: Vec<Slug>) -> bool {
        let mut moved = false;
        for slug in ready {
            let revision = self.0.changes.revision();
            if self.0.tasks.get(&slug).is_some_and(|task| !TreeQuery(self.0).writes_alone(task)) {
                continue;
            }
            let Some(task) = self.0.tasks.get_mut(&slug) else { continue };
            // Tool results of a task that had begun are kept. Its references are read again anyway.
            let acted = task.is_on_hold() && task.runs.iter().any(|run| !run.calls.is_empty());
            if task.task.references.is_empty() || task.has_checked(revision) || acted {
                Executing(self.0).begin(&slug);
                moved = true;
            } else {
                moved |= task.ask_check(ReferenceStage::Start);
            }
        }
        moved
    }
}

/// The end of the range of steps whose tasks may run while this step is the current one. Sections only order writers,
/// so the sections up to the next writer need not wait for each other (spec 2.6).
pub(super) fn run_ahead(run: &Run, current: usize) -> usize {
    let next = current.saturating_add(1);
    match run.settings().sections {
        SectionOrder::Strict => next,
        SectionOrder::Dependencies => run.tasks.writer_step_from(current).unwrap_or(run.tasks.steps().len()).max(next),
    }
}

fn may_start(run: &Run, task: &TaskRun) -> bool {
    let held = run.sheet.holds(&task.task.slug);
    let waits = task.has_begun() || task.is_being_checked() || held;
    task.state() == State::Ready && !waits && Approval(run).has(task)
}

/// The result of an attempt to advance the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advance {
    /// Something changed, so the caller must look again.
    Moved,
    /// The pass waits for work or a person.
    Waiting,
    /// Nothing more can start in this pass.
    Over,
}
