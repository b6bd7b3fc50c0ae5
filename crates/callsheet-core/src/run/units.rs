//! Work units and their order: what is owed now, at most `jobs` pieces of work, then gates and questions.

use std::collections::BTreeMap;

use crate::record::{CallKey, EffectKey, Gate, GateKind, Outcome, ToolPolicy};
use crate::spec::{ExecRunId, Phase, Slug, ToolCall, ToolEffect};

use super::scheduler::{Scheduler, Work};
use super::task::{SetKey, SetSource, SetStage};
use super::{Asked, Attempts, Effect, ExecRun, Limit, Merge, Run, Stage, State, TaskRun, ToolRun, ToolState, limits};

/// One unit of spec 2.6, or a check before one.
pub(super) enum Unit<'a> {
    Plan(&'a Attempts),
    Iterate(&'a Attempts),
    Continue(&'a Attempts),
    Check(&'a TaskRun),
    Refine(&'a TaskRun),
    Execute(&'a TaskRun, &'a ExecRun),
    Merge(&'a TaskRun, &'a Merge),
}

impl<'a> Unit<'a> {
    pub(super) fn task(&self) -> Option<&'a TaskRun> {
        match self {
            Self::Plan(_) | Self::Iterate(_) | Self::Continue(_) => None,
            Self::Check(task) | Self::Refine(task) | Self::Execute(task, _) | Self::Merge(task, _) => Some(task),
        }
    }

    fn is_admitted(&self) -> bool {
        match self {
            Self::Plan(attempts) | Self::Iterate(attempts) | Self::Continue(attempts) => attempts.admitted,
            Self::Check(_) => false,
            Self::Refine(task) => task.refine.admitted,
            Self::Execute(_, run) => run.attempts.admitted,
            Self::Merge(_, merge) => merge.attempts.admitted,
        }
    }
}

/// What one unit owes now.
#[derive(Default)]
pub(super) struct Owing {
    /// Work, and whether it is in flight.
    pub work: Vec<(Effect, bool)>,
    /// A gate or a question waits, or a subtask or a template runs.
    pub person: bool,
}

impl Run {
    /// Computes `owed` anew. A run limit that leaves nothing to do ends the run (spec 2.15).
    pub(super) fn derive(&mut self) {
        let mut work = self.work();
        self.reached.append(&mut work.reached);
        if let (true, Some(limit)) = (work.effects.is_empty(), work.blocked)
            && matches!(self.stage, Stage::Prepare | Stage::Pass | Stage::Operate | Stage::Iterate | Stage::Continue)
            && limit != Limit::Exclusive
        {
            self.message =
                Some(match limits::tokens_left(self).filter(|left| limit == Limit::MaxTokens && *left > 0) {
                    Some(left) => format!("{} leaves {left} tokens, too few for another call", limit.name()),
                    None => format!("{} is used up", limit.name()),
                });
            self.ended_by = Some(limit);
            self.stage = Stage::Conclude(Outcome::LimitReached);
            work = self.work();
        }
        self.waits_for_room = work.waiting;
        work.effects.extend(self.people());
        self.owed = work.effects;
    }

    fn work(&self) -> Work {
        let roll_backs = self.roll_backs();
        match self.stage {
            Stage::Empty | Stage::AwaitList | Stage::Concluded(_) => Work::default(),
            // An interrupted apply is taken back before anything else (spec 2.18).
            _ if !roll_backs.is_empty() => Work::of(roll_backs),
            Stage::Conclude(outcome) => {
                let applies: Vec<Effect> = self.abandoned_applies(true);
                let effects = if applies.is_empty() { vec![Effect::Conclude(outcome)] } else { applies };
                Work::of(effects)
            }
            Stage::Prepare | Stage::Pass | Stage::Operate | Stage::Iterate | Stage::Continue => {
                let scheduler = self.hand_out();
                Work {
                    effects: scheduler.effects,
                    blocked: scheduler.blocked,
                    reached: scheduler.reached,
                    waiting: scheduler.waiting,
                }
            }
        }
    }

    /// Hands out the slots of a run that works.
    pub(super) fn hand_out(&self) -> Scheduler<'_> {
        let mut scheduler = Scheduler::new(self);
        scheduler.effects.extend(self.retrievals());
        for effect in self.evaluations() {
            if !scheduler.has_slot() {
                break;
            }
            scheduler.put(effect);
        }
        for effect in self.abandoned_applies(false) {
            scheduler.put(effect);
        }
        let admitted: Vec<Unit<'_>> = self.units(self.tasks.holding()).filter(Unit::is_admitted).collect();
        let mut open: BTreeMap<&Slug, usize> = BTreeMap::new();
        let mut more = Vec::new();
        for unit in &admitted {
            if let Unit::Execute(task, _) = unit {
                *open.entry(&task.task.slug).or_insert(0) += 1;
            }
            more.push((unit.task(), scheduler.keep(unit)));
        }
        for (task, effects) in more {
            scheduler.widen(task, effects);
        }
        for unit in self.units(self.tasks.with_units()).filter(|unit| !unit.is_admitted()) {
            if !scheduler.admit(&unit, &mut open) {
                break;
            }
        }
        scheduler
    }

    /// Units in the order of spec 2.6. The current step is the first with a task that has not ended, so sheet order
    /// puts its units first. While the iteration is asked only what is in progress goes on (spec 2.11).
    fn units<'a>(&'a self, tasks: impl Iterator<Item = &'a TaskRun>) -> impl Iterator<Item = Unit<'a>> {
        let first = match self.stage {
            Stage::Prepare => Some(Unit::Plan(&self.plan)),
            Stage::Iterate => Some(Unit::Iterate(&self.iterate)),
            Stage::Continue => Some(Unit::Continue(&self.follow)),
            _ => None,
        };
        first.into_iter().chain(tasks.flat_map(|task| self.units_of(task)))
    }

    pub(super) fn units_of<'a>(&self, task: &'a TaskRun) -> impl Iterator<Item = Unit<'a>> {
        let passing = self.stage.is_working();
        let check = (passing && task.check.is_some()).then_some(Unit::Check(task));
        let refines = task.state == State::Refining && (passing || task.refine.admitted);
        let refine = refines.then_some(Unit::Refine(task));
        // A follow-up, or other settings, may have taken back the approval it began with.
        let executes = passing && task.is_executing() && self.is_approved(task);
        let runs = task.runs.iter().filter(move |run| executes && !run.is_ended());
        let merge = task.merge.iter().filter(move |_| executes);
        let executions = runs.map(|run| Unit::Execute(task, run)).chain(merge.map(|merge| Unit::Merge(task, merge)));
        check.into_iter().chain(refine).chain(executions)
    }

    pub(super) fn owing(&self, unit: &Unit<'_>) -> Owing {
        let mut owing = Owing::default();
        match unit {
            Unit::Plan(attempts) => owing.work.push(self.ask_or_read(Phase::Plan, None, None, attempts)),
            Unit::Iterate(attempts) => owing.work.push(self.ask_or_read(Phase::Iterate, None, None, attempts)),
            Unit::Continue(attempts) => owing.work.push(self.ask_or_read(Phase::Continue, None, None, attempts)),
            Unit::Check(task) => {
                if let Some(check) = task.check {
                    let slug = task.task.slug.clone();
                    owing.work.push((Effect::CheckReferences { task: slug, n: check.n, stage: check.stage }, false));
                }
            }
            Unit::Refine(task) => {
                owing.work.push(self.ask_or_read(Phase::Refine, Some(task), None, &task.refine));
            }
            Unit::Execute(task, run) => owing = self.execution_owing(task, run),
            Unit::Merge(task, merge) if merge.by_model && !merge.fell_back => {
                owing.work.push(self.ask_or_read(Phase::Merge, Some(task), None, &merge.attempts));
            }
            Unit::Merge(task, merge) => {
                owing.work.push((Effect::MergeByCode { task: task.task.slug.clone(), n: merge.n }, false));
            }
        }
        owing
    }

    fn ask_or_read(
        &self,
        phase: Phase,
        task: Option<&TaskRun>,
        exec: Option<&ExecRun>,
        attempts: &Attempts,
    ) -> (Effect, bool) {
        let reading = attempts.reading.clone();
        let is_reading = reading.is_some();
        let (key, in_flight) = match reading {
            Some(key) => (key, false),
            None => self.next_call(phase, task.map(|task| &task.task.slug), exec.map(|exec| &exec.id)),
        };
        let withdrawn = task.zip(exec).and_then(|(task, exec)| limits::withdraws_tools(self, task, exec));
        let asked = Asked {
            key,
            attempt: attempts.attempt,
            turn: exec.map_or(1, limits::turn),
            without_tools: withdrawn.is_some(),
            budget_scale: attempts.scale,
            deadline_ms: limits::deadline_ms(self, task),
            max_tokens: limits::tokens_for_call(self, task),
            may_wait: limits::may_wait(self, task),
        };
        if is_reading { (Effect::ReadReply(asked), false) } else { (Effect::AskModel(asked), in_flight) }
    }

    /// The key of the call in flight, else a fresh one: a key is never used twice, not even after a crash.
    fn next_call(&self, phase: Phase, task: Option<&Slug>, run: Option<&ExecRunId>) -> (CallKey, bool) {
        let used = self.call_numbers.get(&(phase, task.cloned(), run.cloned())).copied().unwrap_or(0);
        let mut key = CallKey { phase, task: task.cloned(), run: run.cloned(), n: used };
        if used > 0 {
            let in_flight = EffectKey::Ask(key.clone());
            if self.in_flight.contains(&in_flight) {
                return (key, true);
            }
        }
        key.n = used.saturating_add(1);
        (key, false)
    }

    /// What an execution run owes: its change set, its tool calls in order, its evaluation.
    pub(super) fn execution_owing(&self, task: &TaskRun, run: &ExecRun) -> Owing {
        let mut owing = Owing::default();
        if run.is_ended() {
            return owing;
        }
        let slug = &task.task.slug;
        let has_the_turn = self.has_the_turn(task);
        for (key, set) in self.sets.iter().filter(|(key, _)| key.task == *slug && key.run == run.id) {
            match set.stage {
                SetStage::Gated(_) => owing.person = true,
                SetStage::Approved if !has_the_turn => {}
                SetStage::Approved => {
                    let effect = key.apply_effect(&set.changes);
                    let in_flight = self.in_flight.contains(&key.apply());
                    owing.work.push((effect, in_flight));
                }
                SetStage::RollBack => {}
            }
        }
        if run.result.is_some() {
            return owing;
        }
        if run.calls.iter().all(|call| call.output().is_some()) {
            if task.is_process() || !has_the_turn {
                return owing;
            }
            let phase = if run.is_under_review() { Phase::Review } else { Phase::Execute };
            owing.work.push(self.ask_or_read(phase, Some(task), Some(run), &run.attempts));
            return owing;
        }
        // Subtasks are tasks of their own; the conversation waits for them without a slot.
        owing.person |= self.is_waiting_for_subtasks(run);
        for call in self.callable(run) {
            if task.calls_template() && call.output().is_none() {
                match self.template_owing(slug, &run.id, call) {
                    Some(effect) => owing.work.push((effect, false)),
                    None => owing.person = true,
                }
                continue;
            }
            match call.state {
                ToolState::Gated(_) | ToolState::Asking(_) => owing.person = true,
                ToolState::Queued | ToolState::Approved if !has_the_turn => {}
                ToolState::Queued | ToolState::Approved => {
                    let effect = Effect::RunTool {
                        task: slug.clone(),
                        run: run.id.clone(),
                        call: call.call.clone(),
                        deadline_ms: limits::deadline_ms(self, Some(task)),
                    };
                    let in_flight = self.in_flight.contains(&effect.key());
                    owing.work.push((effect, in_flight));
                }
                ToolState::Mounted(_) | ToolState::Staged(_) | ToolState::Done(_) => {}
            }
        }
        owing
    }

    /// Calls of a run that may be made now: in order, calls that only read beside each other, any other alone.
    pub(super) fn callable<'a>(&self, run: &'a ExecRun) -> Vec<&'a ToolRun> {
        let mut callable = Vec::new();
        let asked = run.calls.iter().filter(|call| call.output().is_none());
        for call in asked.filter(|call| !self.operators.is_subtask_tool(&call.call.name)) {
            if self.policy(&call.call.name).effect == ToolEffect::Read {
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

    fn is_waiting_for_subtasks(&self, run: &ExecRun) -> bool {
        let mut open = run.calls.iter().filter(|call| call.output().is_none());
        open.any(|call| self.operators.is_subtask_tool(&call.call.name))
    }

    /// What is known of a tool (spec 11.1).
    pub fn policy(&self, tool: &str) -> ToolPolicy {
        self.tool_policies.get(tool).copied().unwrap_or_default()
    }

    /// Whether an effect may change something by itself: one such goes on at a time.
    pub fn writes(&self, key: &EffectKey) -> bool {
        matches!(key, EffectKey::Apply { .. }) || self.exclusive_in_flight(key).is_some()
    }

    pub(super) fn exclusive_in_flight(&self, key: &EffectKey) -> Option<String> {
        let EffectKey::Tool { task, run, call } = key else { return None };
        let call: &ToolCall = &self.tasks.get(task)?.run(run)?.call(call)?.call;
        self.policy(&call.name).exclusive.then(|| call.name.clone())
    }

    pub(super) fn roll_backs(&self) -> Vec<Effect> {
        let owed = self.sets.iter().filter(|(_, set)| set.stage == SetStage::RollBack);
        owed.map(|(key, set)| Effect::RollBack {
            task: key.task.clone(),
            run: key.run.clone(),
            set: key.set,
            changes: set.changes.clone(),
        })
        .take(limits::jobs(self))
        .collect()
    }

    /// Applies in flight that no unit owns any more, or (`all`) every apply in flight.
    fn abandoned_applies(&self, all: bool) -> Vec<Effect> {
        let in_flight = self.sets.iter().filter(|(key, _)| {
            let owned = self.tasks.get(&key.task).is_some_and(TaskRun::is_executing);
            self.in_flight.contains(&key.apply()) && (all || !owned)
        });
        in_flight.map(|(key, set)| key.apply_effect(&set.changes)).collect()
    }

    pub(super) fn applies_in_flight(&self) -> usize {
        self.in_flight.iter().filter(|key| matches!(key, EffectKey::Apply { .. })).count()
    }

    /// What a person is asked now. They hold no unit.
    fn people(&self) -> Vec<Effect> {
        if self.waiting.is_some() { Vec::new() } else { self.asking() }
    }

    /// Open gates in the order they were opened, then questions; also while the run waits for somebody who is not there.
    pub fn asking(&self) -> Vec<Effect> {
        if !self.stage.is_working() {
            return Vec::new();
        }
        let mut gates: Vec<Gate> = self.open_gates().collect();
        gates.sort_by_key(|gate| gate.n);
        let mut people: Vec<Effect> = gates.into_iter().map(Effect::AskApproval).collect();
        people.extend(self.questions());
        people
    }

    /// Whether changes of an execution run wait for a person.
    pub(super) fn has_gated_set(&self, task: &TaskRun, run: &ExecRun) -> bool {
        let mut own = self.sets.iter().filter(|(key, _)| key.task == task.task.slug && key.run == run.id);
        own.any(|(_, set)| matches!(set.stage, SetStage::Gated(_)))
    }

    /// Open gates, in no particular order.
    pub(super) fn open_gates(&self) -> impl Iterator<Item = Gate> {
        let sets = self.sets.iter().filter_map(|(key, set)| match set.stage {
            SetStage::Gated(n) => {
                let (task, run) = (key.task.clone(), key.run.clone());
                Some(Gate { n, kind: GateKind::BeforeApply { task, run, set: key.set } })
            }
            _ => None,
        });
        let calls = self.executing_calls().filter_map(|(task, run, call)| match call.state {
            ToolState::Gated(n) => {
                let (task, run, call) = (task.clone(), run.clone(), call.call.id.clone());
                Some(Gate { n, kind: GateKind::BeforeCall { task, run, call } })
            }
            _ => None,
        });
        self.before_run.iter().cloned().chain(sets).chain(calls)
    }

    fn questions(&self) -> impl Iterator<Item = Effect> {
        self.executing_calls().filter_map(|(task, run, call)| match &call.state {
            ToolState::Asking(question) => Some(Effect::AskPerson {
                task: task.clone(),
                run: run.clone(),
                call: call.call.id.clone(),
                question: question.clone(),
            }),
            _ => None,
        })
    }

    pub(super) fn executing_calls(&self) -> impl Iterator<Item = (&Slug, &ExecRunId, &ToolRun)> {
        self.tasks.asking().filter(|task| task.is_executing()).flat_map(|task| {
            let runs = task.runs.iter().filter(|run| !run.is_ended());
            runs.flat_map(|run| run.calls.iter().map(|call| (&task.task.slug, &run.id, call)))
        })
    }

    /// The attempts that a call belongs to.
    pub(super) fn attempts_mut(&mut self, key: &CallKey) -> Option<&mut Attempts> {
        match key.phase {
            Phase::Plan => Some(&mut self.plan),
            Phase::Iterate => Some(&mut self.iterate),
            Phase::Continue => Some(&mut self.follow),
            Phase::Refine => self.tasks.get_mut(key.task.as_ref()?).map(|task| &mut task.refine),
            // A review belongs to the attempt whose result it is about.
            Phase::Execute | Phase::Review => {
                let task = self.tasks.get_mut(key.task.as_ref()?)?;
                task.run_mut(key.run.as_ref()?).map(|run| &mut run.attempts)
            }
            Phase::Merge => {
                let task = self.tasks.get_mut(key.task.as_ref()?)?;
                task.merge.as_mut().map(|merge| &mut merge.attempts)
            }
        }
    }
}

impl SetKey {
    pub(super) fn apply(&self) -> EffectKey {
        EffectKey::Apply { task: self.task.clone(), run: self.run.clone(), set: self.set }
    }

    fn apply_effect(&self, changes: &crate::record::ChangeSet) -> Effect {
        Effect::ApplyChanges { task: self.task.clone(), run: self.run.clone(), set: self.set, changes: changes.clone() }
    }
}

impl SetSource {
    pub(super) fn call(&self) -> Option<&str> {
        match self {
            Self::Reply => None,
            Self::Call(id) => Some(id),
        }
    }
}
