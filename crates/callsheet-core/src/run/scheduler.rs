//! The scheduler that hands out slots: at most `jobs` pieces of work, within every limit, each unit in its turn.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::EffectKey;
use crate::spec::Slug;

use super::units::{Unit, Units};
use super::{Effect, Limit, Run, TaskRun, limits};

/// What is to be done now.
#[derive(Default)]
pub(super) struct Work {
    pub effects: Vec<Effect>,
    pub blocked: Option<Limit>,
    pub reached: BTreeSet<Limit>,
    pub waiting: Vec<EffectKey>,
}

impl Work {
    pub(super) fn of(effects: Vec<Effect>) -> Self {
        Self { effects, ..Self::default() }
    }
}

/// What a unit with work got nothing for.
pub(super) struct Refused<'a> {
    pub task: &'a Slug,
    pub limit: Limit,
    /// Others hold a part of the budget, and return what they do not use.
    pub returns: bool,
}

/// Hands out slots.
pub(super) struct Scheduler<'a> {
    run: &'a Run,
    used: usize,
    pub(super) effects: Vec<Effect>,
    starting: u32,
    /// Tokens that they reserve of the run's limit.
    starting_tokens: u64,
    /// Listed calls that begin a run of their own.
    lending: u32,
    /// Listed calls of a task, and the tokens that they reserve.
    task_starting: BTreeMap<&'a Slug, (u32, u64)>,
    /// Calls and reserved tokens of listed calls, by the task of the tree they count for.
    op_starting: BTreeMap<&'a Slug, (u32, u64)>,
    exclusive: BTreeSet<String>,
    /// A call that is lent all that is left is listed: nothing that costs tokens begins beside it.
    has_all: bool,
    pub(super) blocked: Option<Limit>,
    pub(super) reached: BTreeSet<Limit>,
    /// Calls that wait for what others reserved.
    pub(super) waiting: Vec<EffectKey>,
    /// Units of tasks that got nothing although a slot was there.
    pub(super) refused: Vec<Refused<'a>>,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        let exclusive = run.flights.iter().filter_map(|key| exclusive_tool(run, key)).collect();
        Self {
            run,
            used: 0,
            effects: Vec::new(),
            starting: 0,
            starting_tokens: 0,
            lending: 0,
            task_starting: BTreeMap::new(),
            op_starting: BTreeMap::new(),
            exclusive,
            has_all: false,
            blocked: None,
            reached: BTreeSet::new(),
            waiting: Vec::new(),
            refused: Vec::new(),
        }
    }

    pub(super) fn has_slot(&mut self) -> bool {
        let free = self.used < limits::jobs(self.run);
        if !free {
            self.reached.insert(Limit::Jobs);
        }
        free
    }

    pub(super) fn put(&mut self, effect: Effect) {
        self.used += 1;
        self.effects.push(effect);
    }

    /// Whether an effect that is not in flight may be listed; notes the limit that forbids it.
    fn may_start(&mut self, task: Option<&'a TaskRun>, effect: &Effect) -> bool {
        let waiting = self.waiting.len();
        let forbidden = match effect {
            Effect::AskModel(_) => limits::forbids_call(self.run, self.starting)
                .or_else(|| task.and_then(|task| limits::forbids_task_call(task, self.starting_of(task).0)))
                .or_else(|| task.and_then(|task| self.budget_forbids(task)))
                .or_else(|| self.waits(task, effect)),
            Effect::RunTool { call, .. } if self.exclusive.contains(&call.name) => Some(Limit::Exclusive),
            Effect::RunTool { task, run, call, .. } => {
                let taken = self.has_all && self.run.has_short_call(task, run, &call.id);
                limits::forbids_again(self.run, task, run, &call.id)
                    .or_else(|| limits::forbids_loan(self.run, task, run, &call.id, self.starting))
                    .or(taken.then_some(Limit::MaxTokens))
                    .or(limits::forbids_work(self.run))
                    .or_else(|| self.loan_waits(task, effect))
            }
            Effect::ApplyChanges { .. } => limits::forbids_work(self.run),
            _ => None,
        };
        if let Some(limit) = forbidden {
            self.reached.insert(limit);
            self.blocked = self.blocked.or(Some(limit));
            let returns = self.waiting.len() > waiting;
            self.refused.extend(task.map(|task| Refused { task: &task.task.slug, limit, returns }));
            return false;
        }
        match effect {
            Effect::AskModel(_) => {
                self.starting = self.starting.saturating_add(1);
                let tokens = limits::reserve(self.run, task);
                self.starting_tokens = self.starting_tokens.saturating_add(tokens);
                if let Some(task) = task {
                    self.reserve(task);
                    let (calls, reserved) = self.starting_of(task);
                    let now = (calls.saturating_add(1), reserved.saturating_add(tokens));
                    self.task_starting.insert(&task.task.slug, now);
                }
            }
            Effect::RunTool { task, run, call, .. } => {
                self.has_all |= limits::is_lent_all(self.run, task, run, &call.id, self.starting);
                self.lending = self.lending.saturating_add(u32::from(self.run.calls_template(task)));
                if self.run.policy(&call.name).exclusive {
                    self.exclusive.insert(call.name.clone());
                }
            }
            _ => {}
        }
        true
    }

    fn starting_of(&self, task: &TaskRun) -> (u32, u64) {
        self.task_starting.get(&task.task.slug).copied().unwrap_or_default()
    }

    /// The budget of a task of the tree that has no room for one more call beside those in flight and listed.
    fn budget_forbids(&self, task: &TaskRun) -> Option<Limit> {
        let op = self.run.operators.of_leaf(&task.task.slug)?;
        self.run.operators.ancestry(op).find_map(|op| {
            let (calls, _) = self.op_starting.get(&op.id).copied().unwrap_or_default();
            limits::spent_above(self.run, task, calls)
        })
    }

    /// The budget for whose reserved part a call waits. It is owed all the same: whoever made it before there were
    /// reservations was right.
    fn waits(&mut self, task: Option<&TaskRun>, effect: &Effect) -> Option<Limit> {
        let above = task.and_then(|task| {
            let op = self.run.operators.of_leaf(&task.task.slug)?;
            self.run.operators.ancestry(op).find_map(|op| {
                let (calls, reserved) = self.op_starting.get(&op.id).copied().unwrap_or_default();
                limits::waits_for_reserve(self.run, task, reserved)
                    .or_else(|| limits::waits_for_cost(self.run, op, calls))
            })
        });
        let starting = (self.starting, self.starting_tokens);
        let taken = (self.has_all && self.run.settings().whole_shares).then_some(Limit::MaxTokens);
        let of_task = task.and_then(|task| limits::waits_in_task(self.run, task, self.starting_of(task).1));
        let limit = above.or(taken).or(of_task).or_else(|| limits::waits_in_run(self.run, task, starting))?;
        self.waiting.push(effect.key());
        Some(limit)
    }

    /// The same for the run inside a call. Those that are listed beside it are taken to cost as much as it does.
    fn loan_waits(&mut self, task: &Slug, effect: &Effect) -> Option<Limit> {
        if !self.run.calls_template(task) {
            return None;
        }
        let Effect::RunTool { run: exec, call, .. } = effect else { return None };
        let listed = self.starting.saturating_add(self.lending);
        let limit = limits::loan_waits(self.run, task, exec, &call.id, listed)?;
        self.waiting.push(effect.key());
        Some(limit)
    }

    fn reserve(&mut self, task: &TaskRun) {
        let Some(op) = self.run.operators.of_leaf(&task.task.slug) else { return };
        let reserve = op.reserve(task.sizes.prompt);
        for op in self.run.operators.ancestry(op) {
            let (calls, reserved) = self.op_starting.entry(&op.id).or_default();
            (*calls, *reserved) = (calls.saturating_add(1), reserved.saturating_add(reserve));
        }
    }

    /// Units that hold a slot: all that is in flight, or else the next thing.
    pub(super) fn keep(&mut self, unit: &Unit<'a>) -> Vec<Effect> {
        let (in_flight, mut new): (Vec<_>, Vec<_>) =
            Units(self.run).work_of(unit).work.into_iter().partition(|(_, in_flight)| *in_flight);
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
    pub(super) fn widen(&mut self, task: Option<&'a TaskRun>, more: Vec<Effect>) {
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
    pub(super) fn admit(&mut self, unit: &Unit<'a>, open: &mut BTreeMap<&'a Slug, usize>) -> bool {
        let owing = Units(self.run).work_of(unit);
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
                self.refused.push(Refused { task: &task.task.slug, limit: Limit::Parallel, returns: false });
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

/// The tool of a call in flight that runs beside no other call of it.
fn exclusive_tool(run: &Run, key: &EffectKey) -> Option<String> {
    let EffectKey::Tool { task, run: exec, call } = key else { return None };
    let name = &run.tasks.get(task)?.run(exec)?.call(call)?.call.name;
    run.policy(name).exclusive.then(|| name.clone())
}
