//! Work units, and what each unit has to do now.

use crate::nouns::{ExecutionId, Phase, Slug, ToolEffect};
use crate::record::{CallKey, ChangeSet, EffectKey};

use super::approval::Approval;
use super::attempts::Attempts;
use super::calls::CallReuse;
use super::changes::{SetKey, SetStage};
use super::changing::check_of;
use super::effect::{Effect, ModelCall};
use super::execution::{Execution, Merge, MergeBy, ToolRun, ToolState};
use super::operators::TreeQuery;
use super::state::{Stage, State};
use super::task::{ReferenceCheck, TaskRun};
use super::{Run, limits};

/// One unit of spec 2.6, or a check before a unit.
pub(super) enum Unit<'a> {
    /// The call for a list, or for the answer.
    List(Phase, &'a Attempts),
    /// The call for the skill of a task of a list that is not adopted yet.
    Route(&'a Slug, &'a Attempts),
    Check(&'a TaskRun),
    Refine(&'a TaskRun),
    Execute(&'a TaskRun, &'a Execution),
    Merge(&'a TaskRun, &'a Merge),
}

impl<'a> Unit<'a> {
    pub(super) fn task(&self) -> Option<&'a TaskRun> {
        match self {
            Self::List(..) | Self::Route(..) => None,
            Self::Check(task) | Self::Refine(task) | Self::Execute(task, _) | Self::Merge(task, _) => Some(task),
        }
    }

    pub(super) fn is_admitted(&self) -> bool {
        match self {
            Self::List(_, attempts) | Self::Route(_, attempts) => attempts.admitted,
            Self::Check(_) => false,
            Self::Refine(task) => task.refine.admitted,
            Self::Execute(_, run) => run.attempts.admitted,
            Self::Merge(_, merge) => merge.attempts.admitted,
        }
    }
}

/// What one unit has to do now.
#[derive(Default)]
pub(super) struct UnitWork {
    /// The effects, and whether each is in flight.
    pub work: Vec<(Effect, bool)>,
    /// Whether it waits for a person or another task: a gate, a question, a subtask, a template, or another execution
    /// of the task.
    pub person: bool,
}

/// Derives the units of a run.
#[derive(Clone, Copy)]
pub(super) struct Units<'a>(pub &'a Run);

impl<'a> Units<'a> {
    /// The call for a list or for the answer, which precedes all units of tasks. For a list whose tasks still need
    /// skills, the calls for these.
    pub(super) fn of_list(self) -> impl Iterator<Item = Unit<'a>> {
        let phase = match self.0.stage() {
            Stage::Prepare => Some(Phase::Plan),
            Stage::Iterate => Some(Phase::Iterate),
            Stage::Continue => Some(Phase::Continue),
            Stage::Join(_) => Some(Phase::Join),
            _ => None,
        };
        let routing = self.0.progress.routing();
        let waits = routing.list().is_some() && phase == Some(routing.phase());
        let open = routing.open().filter(move |_| waits).map(|(task, attempts)| Unit::Route(&task.slug, attempts));
        let routes = |phase: &Phase| routing.is_due(*phase, self.0.settings().plan);
        let phase = phase.map(|phase| if routes(&phase) { Phase::Route } else { phase });
        let list = phase.and_then(|phase| Some(Unit::List(phase, self.0.calls.list(phase)?)));
        list.filter(|_| !waits).into_iter().chain(open)
    }

    /// The units of a task. If the tasks are taken in sheet order, the units are in the order of spec 2.6: the
    /// current step is the first with an unfinished task. During the iteration, only work in progress goes on (spec
    /// 2.11).
    pub(super) fn of(self, task: &'a TaskRun) -> impl Iterator<Item = Unit<'a>> {
        let passing = self.0.stage().is_working();
        let check = (passing && task.is_being_checked()).then_some(Unit::Check(task));
        let refines = task.state() == State::Refining && (passing || task.refine.admitted);
        let refine = refines.then_some(Unit::Refine(task));
        // A follow-up or changed settings may have withdrawn the approval that the task started with.
        let executes = passing && task.is_executing() && Approval(self.0).has(task);
        let runs = task.runs.iter().filter(move |run| executes && !run.is_ended());
        let merge = task.merge.iter().filter(move |_| executes);
        let executions = runs.map(|run| Unit::Execute(task, run)).chain(merge.map(|merge| Unit::Merge(task, merge)));
        check.into_iter().chain(refine).chain(executions)
    }

    pub(super) fn work_of(self, unit: &Unit<'_>) -> UnitWork {
        let mut found = UnitWork::default();
        match unit {
            Unit::List(phase, attempts) => found.work.push(self.ask_or_read(*phase, None, None, attempts)),
            Unit::Route(slug, attempts) => {
                let slug = ExecutionId::new(slug.as_str());
                let (key, in_flight) = self.key_of(Phase::Route, (None, Some(&slug)), attempts);
                found.work.push(self.ask(key, in_flight, (None, None), attempts));
            }
            Unit::Check(task) => {
                if let ReferenceCheck::Pending { n, stage } = task.check {
                    found.work.push((Effect::CheckReferences { task: task.slug(), n, stage }, false));
                }
            }
            Unit::Refine(task) => {
                found.work.push(self.ask_or_read(Phase::Refine, Some(task), None, &task.refine));
            }
            Unit::Execute(task, run) => found = self.work_of_execution(task, run),
            Unit::Merge(task, merge) if merge.by == MergeBy::Model => {
                found.work.push(self.ask_or_read(Phase::Merge, Some(task), None, &merge.attempts));
            }
            Unit::Merge(task, merge) => {
                found.work.push((Effect::MergeByCode { task: task.task.slug.clone(), n: merge.n }, false));
            }
        }
        found
    }

    fn ask_or_read(
        self,
        phase: Phase,
        task: Option<&TaskRun>,
        exec: Option<&Execution>,
        attempts: &Attempts,
    ) -> (Effect, bool) {
        let of = (task.map(|task| &task.task.slug), exec.map(|exec| &exec.id));
        let (key, in_flight) = self.key_of(phase, of, attempts);
        self.ask(key, in_flight, (task, exec), attempts)
    }

    /// The key of the reply that waits to be read, or else of the next call.
    fn key_of(self, phase: Phase, of: (Option<&Slug>, Option<&ExecutionId>), attempts: &Attempts) -> (CallKey, bool) {
        match &attempts.reading {
            Some(key) => (key.clone(), false),
            None => self.next_call(phase, of.0, of.1),
        }
    }

    fn ask(
        self,
        key: CallKey,
        in_flight: bool,
        (task, exec): (Option<&TaskRun>, Option<&Execution>),
        attempts: &Attempts,
    ) -> (Effect, bool) {
        let withdrawn = task.zip(exec).and_then(|(task, exec)| limits::withdraws_tools(self.0, task, exec));
        let asked = ModelCall {
            key,
            attempt: attempts.attempt,
            turn: exec.map_or(1, limits::turn),
            without_tools: withdrawn.is_some(),
            budget_scale: attempts.scale,
            deadline_ms: limits::deadline_ms(self.0, task),
            max_tokens: limits::tokens_for_call(self.0, task),
            max_cost_usd: limits::least_cost_left(self.0, task).map(|(_, left)| left),
            reserved: limits::reserve(self.0, task),
            may_wait: limits::may_wait(self.0, task),
            reuses: match task.map_or(CallReuse::AsRun, |task| task.reuse) {
                CallReuse::AsRun => self.0.setup.reused().is_some(),
                CallReuse::Allowed => true,
                CallReuse::Forbidden => false,
            },
        };
        let is_read = attempts.reading.is_some();
        if is_read { (Effect::ReadReply(asked), false) } else { (Effect::AskModel(asked), in_flight) }
    }

    /// The key of the call in flight, or else a new key. A key is never used twice, even after a crash.
    fn next_call(self, phase: Phase, task: Option<&Slug>, run: Option<&ExecutionId>) -> (CallKey, bool) {
        let used = self.0.calls.last_number(phase, task, run);
        let mut key = CallKey { phase, task: task.cloned(), run: run.cloned(), n: used };
        if used > 0 {
            let in_flight = EffectKey::Ask(key.clone());
            if self.0.in_flight.contains(&in_flight) {
                return (key, true);
            }
        }
        key.n = used.saturating_add(1);
        (key, false)
    }

    /// The work of an execution: its change set, its tool calls in order, its evaluation.
    pub(super) fn work_of_execution(self, task: &TaskRun, run: &Execution) -> UnitWork {
        let mut found = UnitWork::default();
        if run.is_ended() {
            return found;
        }
        let has_the_turn = TreeQuery(self.0).has_the_turn(task);
        for (key, set) in self.0.changes.of_execution(&task.task.slug, &run.id) {
            match set.stage {
                SetStage::Gated(_) => found.person = true,
                SetStage::Unchecked | SetStage::Approved if !has_the_turn => {}
                SetStage::Unchecked => {
                    let in_flight = self.0.in_flight.contains(&key.attempt());
                    found.work.extend(self.check(task, key, &set.changes).map(|effect| (effect, in_flight)));
                }
                SetStage::Approved => {
                    let in_flight = self.0.in_flight.contains(&key.apply());
                    found.work.push((key.apply_effect(&set.changes), in_flight));
                }
                SetStage::RollBack => {}
            }
        }
        if run.result().is_some() {
            return found;
        }
        if run.calls.iter().all(|call| call.output().is_some()) {
            if task.waits_for_other_calls(run) {
                found.person = true;
            } else if !task.is_process() && has_the_turn {
                let phase = if run.is_under_review() { Phase::Review } else { Phase::Execute };
                found.work.push(self.ask_or_read(phase, Some(task), Some(run), &run.attempts));
            }
            return found;
        }
        // Subtasks are tasks of their own. The conversation waits for them without a slot.
        found.person |= self.is_waiting_for_subtasks(run);
        for call in self.callable(run) {
            if task.calls_template() && call.output().is_none() {
                match self.template_call(task, run, call) {
                    Some(effect) => found.work.push((effect, false)),
                    None => found.person = true,
                }
                continue;
            }
            match call.state {
                ToolState::Gated { .. } | ToolState::Asking { .. } => found.person = true,
                ToolState::Queued | ToolState::Approved | ToolState::Answered(_) | ToolState::Cut { .. }
                    if !has_the_turn => {}
                ToolState::Queued | ToolState::Approved | ToolState::Answered(_) | ToolState::Cut { .. } => {
                    let effect = Effect::RunTool {
                        task: task.slug(),
                        run: run.id.clone(),
                        call: call.call.clone(),
                        deadline_ms: limits::deadline_ms(self.0, Some(task)),
                        answer: call.answer().cloned(),
                    };
                    let in_flight = self.0.in_flight.contains(&effect.key());
                    found.work.push((effect, in_flight));
                }
                ToolState::Mounted(_) | ToolState::Staged(_) | ToolState::Done(_) => {}
            }
        }
        found
    }

    /// The check of a change set.
    fn check(self, task: &TaskRun, key: &SetKey, changes: &ChangeSet) -> Option<Effect> {
        let (check, argv) = check_of(self.0, task)?;
        Some(Effect::TryChanges {
            task: key.task.clone(),
            run: key.run.clone(),
            set: key.set,
            changes: changes.clone(),
            check: check.to_owned(),
            argv: argv.to_vec(),
            deadline_ms: limits::deadline_ms(self.0, Some(task)),
        })
    }

    /// The work for a call of a template. `None` while its tree is at work.
    fn template_call(self, task: &TaskRun, run: &Execution, call: &ToolRun) -> Option<Effect> {
        let (task, run) = (task.slug(), run.id.clone());
        match call.state {
            ToolState::Mounted(number) => {
                let is_over = self.0.operators.top_of(number).is_some_and(|top| top.is_closed());
                is_over.then(|| Effect::ReturnTemplate { task, run, call: call.call.id.clone() })
            }
            _ => Some(Effect::MountTemplate { task, run, call: call.call.clone() }),
        }
    }

    /// The calls of an execution that may be made now, in order. Calls that only read are concurrent. Any other call
    /// is made alone.
    pub(super) fn callable(self, run: &Execution) -> Vec<&ToolRun> {
        let mut callable = Vec::new();
        let asked = run.calls.iter().filter(|call| call.output().is_none());
        for call in asked.filter(|call| !self.0.operators.is_subtask_tool(&call.call.name)) {
            if self.0.policy(&call.call.name).effect == ToolEffect::Read {
                callable.push(call);
                continue;
            }
            if callable.is_empty() {
                callable.push(call);
            }
            break;
        }
        callable
    }

    fn is_waiting_for_subtasks(self, run: &Execution) -> bool {
        let mut open = run.calls.iter().filter(|call| call.output().is_none());
        open.any(|call| self.0.operators.is_subtask_tool(&call.call.name))
    }
}
