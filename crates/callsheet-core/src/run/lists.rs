//! Adopted lists: a reply adds to the plan (spec 2.3, 2.11), an edit by a person is the whole plan (spec 2.18).

use std::collections::{BTreeMap, BTreeSet};

use crate::adopt::is_same_work;
use crate::events::ListOrigin;
use crate::issue::{Issue, Repair};
use crate::nouns::{Phase, Slug, TaskList};
use crate::record::{AdoptedList, CallKey, EffectKey, PlannedTask};

use super::Run;
use super::approval::Approval;
use super::execution::Execution;
use super::gates::gate_names;
use super::ideal::Ideal;
use super::next_stage::{NextStage, ends_by_itself};
use super::reject::Reject;
use super::replies::Replies;
use super::state::{Stage, State};
use super::task::{ExecutionStage, ReferenceCheck, RemovedBy, TaskPhase, TaskRun};
use super::task_change::TaskChange;

/// The message for a run that ends because a list adds nothing.
const NOTHING_NEW: &str = "The next list only repeats tasks that failed twice.";

/// Adopts lists into the plan.
pub(super) struct Lists<'a>(pub &'a mut Run);

impl Lists<'_> {
    pub fn adopted(
        &mut self,
        origin: &ListOrigin,
        list: &AdoptedList,
        (repairs, issues): (&[Repair], &[Issue]),
        at: u64,
    ) {
        match origin {
            ListOrigin::Edit(sheet) => {
                self.edited(list, issues);
                // The file now agrees with the record, so it is no longer an edit.
                return self.0.sheet.note_file(sheet, at);
            }
            ListOrigin::Reply(key) => {
                Replies(self.0).accept(key, repairs, issues);
                if key.phase == Phase::Route && key.run.is_none() {
                    self.0.progress.routing_mut().ask_for(&list.writes);
                }
                let of_list = list_phase(self.0, key);
                if of_list == Phase::Continue {
                    // Rounds start again at 1.
                    let rounds = self.0.progress.rounds_mut();
                    self.0.follow_ups.accept(rounds.total());
                    rounds.count_anew(0);
                }
            }
            ListOrigin::Host => {}
        }
        Ideal(self.0).note_list();
        self.0.progress.routing_mut().forget_draft();
        self.0.calls.close_lists();
        self.0.sheet.adopt(list, *origin == ListOrigin::Host);
        // The accepted list has seen every problem that its call was told of (spec 2.9).
        self.0.tasks.values_mut().for_each(TaskRun::acknowledge_shown);
        let iterates = matches!(origin, ListOrigin::Reply(key) if key.phase == Phase::Iterate);
        for removal in &list.beside.removed {
            let by = RemovedBy::Reply { reason: removal.reason.clone() };
            TaskChange(self.0).enter(&removal.task, TaskPhase::Dropped(by));
        }
        let nothing_new = iterates && self.adds_nothing(list);
        if !nothing_new {
            self.add(list, issues);
        }
        self.0.tasks.unblock(true);
        NextStage(self.0).begin_round();
        if nothing_new {
            self.0.progress.say(NOTHING_NEW.to_owned());
        }
    }

    /// Adds a reply to the plan. A known task keeps its step. A new task is placed before the tasks that follow it in
    /// the reply.
    fn add(&mut self, list: &AdoptedList, issues: &[Issue]) {
        self.0.gates.close_before_run();
        self.take_up(list, issues);
        let mut steps = self.0.tasks.steps().to_vec();
        for (at, step) in list.steps.iter().enumerate() {
            let slugs: Vec<&Slug> = step.iter().map(|planned| &planned.task.slug).collect();
            let is_new = |slug: &Slug| self.0.tasks.step_of(slug).is_none();
            if slugs.iter().any(|slug| is_new(slug)) {
                steps.resize(steps.len().max(at + 1), Vec::new());
            }
            if let Some(place) = steps.get_mut(at) {
                merge(place, &slugs, is_new);
            }
        }
        steps.retain(|step| !step.is_empty());
        self.0.tasks.set_steps(steps);
    }

    /// Whether the list contains only tasks that were listed twice with the same words and ended without output both
    /// times.
    fn adds_nothing(&self, list: &AdoptedList) -> bool {
        let again = |planned: &PlannedTask| {
            let known = self.0.tasks.get(&planned.task.slug).filter(|task| task.state().is_problem() && task.relisted);
            known.is_some_and(|known| is_same_work(&known.task, &planned.task))
        };
        !list.steps.is_empty() && list.steps.iter().flatten().all(again)
    }

    /// Notes which tasks a faulty edit touches. `None` means that there is no such edit any more. These tasks do not
    /// start, even if they only wait for a slot. Their references are checked again before they start, because a
    /// failed check would refine them.
    pub fn hold(&mut self, tasks: Option<&BTreeSet<Slug>>) {
        self.0.sheet.hold(tasks);
        for slug in tasks.into_iter().flatten() {
            if let Some(task) = self.0.tasks.get_mut(slug).filter(|task| task.is_being_checked()) {
                task.check = ReferenceCheck::Open;
            }
        }
        if let Some(tasks) = tasks {
            self.hold_unstarted(|slug| tasks.contains(slug));
        }
        self.0.tasks.look_again();
        NextStage(self.0).wait_for_edit();
    }

    /// Adopts an edit by a person (spec 2.18).
    fn edited(&mut self, list: &AdoptedList, issues: &[Issue]) {
        self.0.sheet.edit(list);
        self.call_back(list);
        self.hold_unstarted(|_| true);
        self.follow_edit(list, issues);
        self.0.progress.rounds_mut().restart_pass();
        self.0.tasks.unblock(true);
        NextStage(self.0).follow_list();
    }

    /// Makes running tasks ready again that the edit changes or leaves out and that only wait for a person, so that
    /// they follow the edit.
    fn call_back(&mut self, list: &AdoptedList) {
        for slug in called_back(self.0, list) {
            TaskChange(self.0).enter(&slug, TaskPhase::Ready);
        }
    }

    /// Makes ready tasks wait for their step and gate in the new list, because a resume with an edit has just opened
    /// the step (spec 2.6, 2.7). The results from before the resume stay.
    fn hold_unstarted(&mut self, concerned: impl Fn(&Slug) -> bool) {
        let run = &mut *self.0;
        let waits = |task: &&TaskRun| {
            concerned(&task.task.slug)
                && task.state() == State::Ready
                && task.has_begun()
                && !run.changes.has_any_of(&task.task.slug)
        };
        // Right after a resume, nothing of such a task is in flight. Otherwise a person may be asked about it.
        let rests = |task: &&TaskRun| {
            task.runs.iter().all(Execution::is_untouched) || !run.in_flight.works_for(&task.task.slug)
        };
        let mut held: BTreeSet<Slug> = run.tasks.values().filter(waits).filter(rests).map(TaskRun::slug).collect();
        // A task also goes on while something that it calls goes on.
        let continues = |task: &&TaskRun| task.is_executing() && !held.contains(&task.task.slug);
        let callers: Vec<Slug> = run.tasks.values().filter(continues).filter_map(|task| task.below.clone()).collect();
        held.retain(|slug| !callers.contains(slug));
        for slug in held {
            let Some(task) = run.tasks.get_mut(&slug) else { continue };
            if task.runs.iter().all(Execution::is_untouched) {
                task.execution = ExecutionStage::NotBegun;
                task.runs.clear();
            } else {
                task.execution = ExecutionStage::OnHold;
            }
        }
    }

    /// Makes the plan follow the edit. Tasks that the edit leaves out do not start. Tasks that are done or running
    /// stay even if the edit changes them or leaves them out. Every task keeps its step (spec 2.18).
    fn follow_edit(&mut self, list: &AdoptedList, issues: &[Issue]) {
        let left_out = left_out(self.0, list);
        for slug in &left_out {
            if self.0.tasks.get(slug).is_some_and(|task| !matches!(task.state(), State::Running | State::Done)) {
                TaskChange(self.0).enter(slug, TaskPhase::Dropped(RemovedBy::Person));
            }
        }
        self.0.gates.close_before_run();
        self.take_up(list, issues);
        let listed = list.steps.iter().map(|step| step.iter().map(|planned| planned.task.slug.clone()).collect());
        let mut steps: Vec<Vec<Slug>> = listed.collect();
        // The tasks that were left out come first in their step, because the others may read from them.
        for slug in left_out.iter().rev() {
            let Some(at) = self.0.tasks.step_of(slug) else { continue };
            steps.resize(steps.len().max(at + 1), Vec::new());
            steps.get_mut(at).into_iter().for_each(|step| step.insert(0, slug.clone()));
        }
        steps.retain(|step| !step.is_empty());
        self.0.tasks.set_steps(steps);
    }

    /// Lists the tasks of a list in the next round. An ended task that the list does not change stays as it is.
    fn take_up(&mut self, list: &AdoptedList, issues: &[Issue]) {
        let round = self.0.progress.rounds().total().saturating_add(1);
        for planned in list.steps.iter().flatten() {
            let ended = self.0.tasks.get(&planned.task.slug).is_some_and(|task| task.state().is_ended());
            if !(planned.unchanged && ended) {
                let policy = planned.task.skill.as_ref().and_then(|skill| list.skills.get(skill));
                TaskChange(self.0).list(planned, policy, issues, round);
            }
        }
    }
}

/// The tasks of the plan that the list leaves out, in the order of the plan.
fn left_out(run: &Run, list: &AdoptedList) -> Vec<Slug> {
    let listed: BTreeSet<&Slug> = list.steps.iter().flatten().map(|planned| &planned.task.slug).collect();
    run.tasks.steps().iter().flatten().filter(|slug| !listed.contains(slug)).cloned().collect()
}

/// The running tasks that the edit changes or leaves out and that have not begun.
fn called_back(run: &Run, list: &AdoptedList) -> Vec<Slug> {
    let stays =
        |slug: &Slug| list.steps.iter().flatten().any(|planned| planned.unchanged && planned.task.slug == *slug);
    let waiting = run.tasks().filter(|task| task.state() == State::Running).map(TaskRun::slug);
    waiting.filter(|slug| !stays(slug) && !has_begun(run, slug)).collect()
}

/// Whether an edit leaves the task alone, because the task or a task below it is at work and does not only wait for a
/// person.
pub(super) fn has_begun(run: &Run, slug: &Slug) -> bool {
    let below = run.tasks.below(slug).map(|task| &task.task.slug);
    let all: Vec<&Slug> = std::iter::once(slug).chain(below).collect();
    let asks = |key: EffectKey| matches!(&key, EffectKey::Question { task, .. } if all.contains(&task));
    let approval = Approval(run);
    let waits = approval.open_gates().any(|gate| all.iter().any(|task| gate_names(&gate, task)))
        || approval.questions().any(|question| asks(question.key()));
    let runs = run.task(slug).is_some_and(|task| task.state() == State::Running);
    runs && (!waits || all.iter().any(|task| run.in_flight.works_by_itself(task)))
}

/// Whether the run adopts an edit of the list now. It does so during a round, between rounds and before the report. A
/// run that a person or a limit stopped adopts the edit when it is resumed.
pub(super) fn may_edit(run: &Run) -> bool {
    let stage = match run.stage() {
        Stage::Pass | Stage::Iterate | Stage::Continue => true,
        Stage::Join(outcome) | Stage::Conclude(outcome) => ends_by_itself(outcome),
        _ => false,
    };
    run.sheet.has_list() && stage
}

/// Adds the new ones among `slugs` to a step. Each is placed before the first task of the step that follows it in
/// `slugs`, or at the end.
fn merge(step: &mut Vec<Slug>, slugs: &[&Slug], is_new: impl Fn(&Slug) -> bool) {
    let known: BTreeSet<&Slug> = step.iter().collect();
    let mut before: BTreeMap<Slug, Vec<Slug>> = BTreeMap::new();
    let mut new = Vec::new();
    let mut seen = BTreeSet::new();
    for slug in slugs.iter().filter(|slug| seen.insert(**slug)) {
        if is_new(slug) {
            new.push((*slug).clone());
        } else if known.contains(slug) {
            before.insert((*slug).clone(), std::mem::take(&mut new));
        }
    }
    let merged = std::mem::take(step).into_iter().flat_map(|slug| {
        let mut both = before.remove(&slug).unwrap_or_default();
        both.push(slug);
        both
    });
    *step = merged.chain(new).collect();
}

/// The phase that makes the list of a reply. The routing reply for the last missing skill completes the list of
/// another phase.
fn list_phase(run: &Run, key: &CallKey) -> Phase {
    if key.phase == Phase::Route { run.progress.routing().phase() } else { key.phase }
}

/// Rejects a list that was not requested, or none of whose tasks needs a skill.
pub(super) fn check_draft(run: &Run, key: &CallKey, list: &TaskList) -> Result<(), Reject> {
    let awaited = match key.phase {
        Phase::Plan => run.stage() == Stage::Prepare,
        Phase::Iterate => run.stage() == Stage::Iterate,
        Phase::Continue => run.stage() == Stage::Continue,
        _ => false,
    };
    if !awaited || list.tasks().all(|task| task.skill.is_some()) {
        return Err(Reject::ListNotAwaited);
    }
    if run.is_to_be_read(key) { Ok(()) } else { Err(Reject::NotAwaited(key.clone())) }
}

/// Rejects a list that was not requested, or that the table of spec 2.10 forbids.
pub(super) fn check_list(run: &Run, origin: &ListOrigin, list: &AdoptedList) -> Result<(), Reject> {
    if let ListOrigin::Edit(_) = origin {
        return check_edit(run, list);
    }
    let mut seen = BTreeSet::new();
    for planned in list.steps.iter().flatten() {
        let slug = &planned.task.slug;
        if !seen.insert(slug) {
            return Err(Reject::Duplicate(slug.clone()));
        }
        // Only a person puts a removed task back.
        if let Some(task) = run.tasks.get(slug)
            && task.state() != State::Planned
            && (task.state() == State::Dropped || !task.state().may_become(State::Planned))
        {
            return Err(transition(slug, task.state(), State::Planned));
        }
    }
    let awaited = match origin {
        ListOrigin::Host => run.stage() == Stage::AwaitList,
        ListOrigin::Edit(_) => false,
        ListOrigin::Reply(key) => match list_phase(run, key) {
            Phase::Plan => run.stage() == Stage::Prepare,
            Phase::Iterate => run.stage() == Stage::Iterate,
            Phase::Continue => run.stage() == Stage::Continue,
            _ => false,
        },
    };
    if !awaited {
        return Err(Reject::ListNotAwaited);
    }
    if let ListOrigin::Reply(key) = origin
        && !run.is_to_be_read(key)
    {
        return Err(Reject::NotAwaited(key.clone()));
    }
    list.beside.removed.iter().try_for_each(|removal| check_removal(run, &removal.task, &seen))
}

/// Rejects an edit that would change a done task. Running tasks are left alone.
fn check_edit(run: &Run, list: &AdoptedList) -> Result<(), Reject> {
    if !may_edit(run) {
        return Err(Reject::NotEditable);
    }
    let mut listed = BTreeSet::new();
    for planned in list.steps.iter().flatten() {
        let slug = &planned.task.slug;
        if !listed.insert(slug) {
            return Err(Reject::Duplicate(slug.clone()));
        }
        let Some(task) = run.tasks.get(slug).filter(|task| task.state() != State::Running) else { continue };
        let stays = planned.unchanged && !matches!(task.state(), State::Done | State::Cancelled);
        if !stays {
            check_applies(run, slug)?;
        }
        if !stays && task.state() != State::Planned && !task.state().may_become(State::Planned) {
            return Err(transition(slug, task.state(), State::Planned));
        }
    }
    Ok(())
}

/// Rejects a new start of a task while its changes are being applied, because an apply outlives its task (spec 3.10).
pub(super) fn check_applies(run: &Run, slug: &Slug) -> Result<(), Reject> {
    if run.in_flight.applies_for(slug) { Err(Reject::Applying(slug.clone())) } else { Ok(()) }
}

/// Rejects the removal of a task that does not exist, that the same reply lists, or that is done or running.
fn check_removal(run: &Run, slug: &Slug, listed: &BTreeSet<&Slug>) -> Result<(), Reject> {
    let task = run.tasks.get(slug).filter(|task| task.is_own()).ok_or_else(|| Reject::UnknownTask(slug.clone()))?;
    if listed.contains(slug) { Err(Reject::Duplicate(slug.clone())) } else { check_drop(task) }
}

/// Checks whether a task may be removed from the plan.
pub(super) fn check_drop(task: &TaskRun) -> Result<(), Reject> {
    let may = task.state().may_become(State::Dropped);
    if may { Ok(()) } else { Err(transition(&task.task.slug, task.state(), State::Dropped)) }
}

pub(super) fn transition(slug: &Slug, from: State, to: State) -> Reject {
    Reject::Transition { task: slug.clone(), from, to }
}
