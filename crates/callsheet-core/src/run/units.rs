//! Work units and their order: what is owed now, at most `jobs` pieces of work, then gates and questions.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{CallKey, EffectKey, Gate, GateKind, Outcome, ToolPolicy};
use crate::reply::Phase;
use crate::spec::{ExecRunId, Slug, ToolCall, ToolEffect};

use super::task::{SetKey, SetSource, SetStage};
use super::{Asked, Attempts, Effect, ExecRun, Limit, Merge, Run, Stage, State, TaskRun, ToolRun, ToolState, limits};

/// One unit of spec 2.6, or a check before one.
enum Unit<'a> {
    Plan(&'a Attempts),
    Iterate(&'a Attempts),
    Continue(&'a Attempts),
    Check(&'a TaskRun),
    Refine(&'a TaskRun),
    Execute(&'a TaskRun, &'a ExecRun),
    Merge(&'a TaskRun, &'a Merge),
}

impl<'a> Unit<'a> {
    fn task(&self) -> Option<&'a TaskRun> {
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
    /// A gate or a question waits, or a subtask runs.
    pub person: bool,
}

/// Hands out slots.
struct Desk<'a> {
    run: &'a Run,
    used: usize,
    effects: Vec<Effect>,
    starting: u32,
    task_starting: BTreeMap<&'a Slug, u32>,
    /// Calls and reserved tokens of listed calls, by the task of the tree they count for.
    op_starting: BTreeMap<&'a Slug, (u32, u64)>,
    exclusive: BTreeSet<String>,
    blocked: Option<Limit>,
    reached: BTreeSet<Limit>,
}

impl<'a> Desk<'a> {
    fn new(run: &'a Run) -> Self {
        let exclusive = run.in_flight.iter().filter_map(|key| run.exclusive_in_flight(key)).collect();
        Self {
            run,
            used: 0,
            effects: Vec::new(),
            starting: 0,
            task_starting: BTreeMap::new(),
            op_starting: BTreeMap::new(),
            exclusive,
            blocked: None,
            reached: BTreeSet::new(),
        }
    }

    fn has_slot(&mut self) -> bool {
        let free = self.used < limits::jobs(self.run);
        if !free {
            self.reached.insert(Limit::Jobs);
        }
        free
    }

    fn put(&mut self, effect: Effect) {
        self.used += 1;
        self.effects.push(effect);
    }

    /// Whether an effect that is not in flight may be listed; notes the limit that forbids it.
    fn may_start(&mut self, task: Option<&'a TaskRun>, effect: &Effect) -> bool {
        let forbidden = match effect {
            Effect::AskModel(_) => {
                let of_task = task.map(|task| self.task_starting.get(&task.task.slug).copied().unwrap_or(0));
                limits::forbids_call(self.run, self.starting)
                    .or_else(|| task.and_then(|task| limits::forbids_task_call(task, of_task.unwrap_or(0))))
                    .or_else(|| task.and_then(|task| self.budget_forbids(task)))
            }
            Effect::RunTool { call, .. } if self.exclusive.contains(&call.name) => Some(Limit::Exclusive),
            Effect::RunTool { task, run, call, .. } => {
                limits::forbids_loan(self.run, task, run, &call.id, self.starting).or(limits::forbids_work(self.run))
            }
            Effect::ApplyChanges { .. } => limits::forbids_work(self.run),
            _ => None,
        };
        if let Some(limit) = forbidden {
            self.reached.insert(limit);
            self.blocked = self.blocked.or(Some(limit));
            return false;
        }
        match effect {
            Effect::AskModel(_) => {
                self.starting = self.starting.saturating_add(1);
                if let Some(task) = task {
                    self.reserve(task);
                    *self.task_starting.entry(&task.task.slug).or_insert(0) += 1;
                }
            }
            Effect::RunTool { call, .. } if self.run.policy(&call.name).exclusive => {
                self.exclusive.insert(call.name.clone());
            }
            _ => {}
        }
        true
    }

    /// The budget of a task of the tree that has no room for one more call beside those in flight and listed.
    fn budget_forbids(&self, task: &TaskRun) -> Option<Limit> {
        let op = self.run.operators.of_leaf(&task.task.slug)?;
        self.run.operators.ancestry(op).find_map(|op| {
            let (calls, reserved) = self.op_starting.get(&op.id).copied().unwrap_or_default();
            let waits = limits::waits_for_reserve(self.run, task, reserved);
            limits::spent_above(self.run, task, calls).or(waits.then_some(Limit::TaskTokens))
        })
    }

    fn reserve(&mut self, task: &TaskRun) {
        let Some(op) = self.run.operators.of_leaf(&task.task.slug) else { return };
        let reserve = match op.opened.as_ref().map(|opened| &opened.plan) {
            Some(crate::record::Plan::Handler(plan)) => plan.reserve,
            _ => 0,
        };
        for op in self.run.operators.ancestry(op) {
            let (calls, reserved) = self.op_starting.entry(&op.id).or_default();
            (*calls, *reserved) = (calls.saturating_add(1), reserved.saturating_add(reserve));
        }
    }

    /// Units that hold a slot: all that is in flight, or else the next thing.
    fn keep(&mut self, unit: &Unit<'a>) -> Vec<Effect> {
        let (in_flight, mut new): (Vec<_>, Vec<_>) =
            self.run.owing(unit).work.into_iter().partition(|(_, in_flight)| *in_flight);
        if in_flight.is_empty() {
            let first = new.iter().position(|(effect, _)| self.may_start(unit.task(), effect));
            match first {
                Some(index) => self.put(new.remove(index).0),
                // It keeps its slot: what it waits for is a limit or an exclusive tool.
                None => self.used += 1,
            }
        }
        for (effect, _) in in_flight {
            self.put(effect);
        }
        new.into_iter().map(|(effect, _)| effect).collect()
    }

    /// Further concurrent calls of units that hold a slot (spec 10.7).
    fn widen(&mut self, task: Option<&'a TaskRun>, more: Vec<Effect>) {
        for effect in more {
            if !self.has_slot() {
                return;
            }
            if self.may_start(task, &effect) {
                self.put(effect);
            }
        }
    }

    /// Gives a unit that holds no slot one. False if it has work and no slot is left, as for all that follow.
    fn admit(&mut self, unit: &Unit<'a>, open: &mut BTreeMap<&'a Slug, usize>) -> bool {
        let owing = self.run.owing(unit);
        if owing.work.is_empty() {
            return true;
        }
        if !self.has_slot() {
            return false;
        }
        if let Unit::Execute(task, _) = unit {
            let running = open.entry(&task.task.slug).or_insert(0);
            if *running >= limits::parallel(task) {
                self.reached.insert(Limit::Parallel);
                return true;
            }
            *running += 1;
        }
        for (effect, _) in owing.work {
            if self.may_start(unit.task(), &effect) {
                self.put(effect);
                return true;
            }
        }
        if let Unit::Execute(task, _) = unit
            && let Some(running) = open.get_mut(&task.task.slug)
        {
            *running -= 1;
        }
        true
    }
}

impl Run {
    /// Computes `owed` anew. A run limit that leaves nothing to do ends the run (spec 2.15).
    pub(super) fn derive(&mut self) {
        let (mut effects, blocked, reached) = self.work();
        self.reached.extend(reached);
        if let (true, Some(limit)) = (effects.is_empty(), blocked)
            && matches!(self.stage, Stage::Prepare | Stage::Pass | Stage::Operate | Stage::Iterate | Stage::Continue)
            && limit != Limit::Exclusive
        {
            self.message = Some(format!("{} is used up", limit.name()));
            self.ended_by = Some(limit);
            self.stage = Stage::Conclude(Outcome::LimitReached);
            effects = self.work().0;
        }
        effects.extend(self.people());
        self.owed = effects;
    }

    fn work(&self) -> (Vec<Effect>, Option<Limit>, BTreeSet<Limit>) {
        let roll_backs = self.roll_backs();
        match self.stage {
            Stage::Empty | Stage::AwaitList | Stage::Concluded(_) => (Vec::new(), None, BTreeSet::new()),
            // An interrupted apply is taken back before anything else (spec 2.18).
            _ if !roll_backs.is_empty() => (roll_backs, None, BTreeSet::new()),
            Stage::Conclude(outcome) => {
                let applies: Vec<Effect> = self.abandoned_applies(true);
                let effects = if applies.is_empty() { vec![Effect::Conclude(outcome)] } else { applies };
                (effects, None, BTreeSet::new())
            }
            Stage::Prepare | Stage::Pass | Stage::Operate | Stage::Iterate | Stage::Continue => {
                let mut desk = Desk::new(self);
                desk.effects.extend(self.retrievals());
                for effect in self.evaluations() {
                    if !desk.has_slot() {
                        break;
                    }
                    desk.put(effect);
                }
                for effect in self.abandoned_applies(false) {
                    desk.put(effect);
                }
                let admitted: Vec<Unit<'_>> = self.units(self.tasks.holding()).filter(Unit::is_admitted).collect();
                let mut open: BTreeMap<&Slug, usize> = BTreeMap::new();
                let mut more = Vec::new();
                for unit in &admitted {
                    if let Unit::Execute(task, _) = unit {
                        *open.entry(&task.task.slug).or_insert(0) += 1;
                    }
                    more.push((unit.task(), desk.keep(unit)));
                }
                for (task, effects) in more {
                    desk.widen(task, effects);
                }
                for unit in self.units(self.tasks.with_units()).filter(|unit| !unit.is_admitted()) {
                    if !desk.admit(&unit, &mut open) {
                        break;
                    }
                }
                (desk.effects, desk.blocked, desk.reached)
            }
        }
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

    fn units_of<'a>(&self, task: &'a TaskRun) -> impl Iterator<Item = Unit<'a>> {
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

    fn owing(&self, unit: &Unit<'_>) -> Owing {
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
        for (key, set) in self.sets.iter().filter(|(key, _)| key.task == *slug && key.run == run.id) {
            match set.stage {
                SetStage::Gated(_) => owing.person = true,
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
            if task.is_process() {
                return owing;
            }
            owing.work.push(self.ask_or_read(Phase::Execute, Some(task), Some(run), &run.attempts));
            return owing;
        }
        // Subtasks are tasks of their own; the conversation waits for them without a slot.
        owing.person |= self.is_waiting_for_subtasks(run);
        for call in self.callable(run) {
            match call.state {
                ToolState::Gated(_) | ToolState::Asking(_) | ToolState::Paused { .. } => owing.person = true,
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
                ToolState::Staged(_) | ToolState::Done(_) => {}
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

    fn exclusive_in_flight(&self, key: &EffectKey) -> Option<String> {
        let EffectKey::Tool { task, run, call } = key else { return None };
        let call: &ToolCall = &self.tasks.get(task)?.run(run)?.call(call)?.call;
        self.policy(&call.name).exclusive.then(|| call.name.clone())
    }

    fn roll_backs(&self) -> Vec<Effect> {
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
            Phase::Execute => {
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
