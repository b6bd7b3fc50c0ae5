//! The scheduler that hands out slots: at most `jobs` pieces of work, within every limit, each unit in its turn.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::EffectKey;
use crate::spec::Slug;

use super::effect::Effect;
use super::ledger::Listed;
use super::limit::Limit;
use super::task::TaskRun;
use super::units::{Unit, Units};
use super::{Run, limits};

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
    /// Calls that are listed and not in flight.
    listed: Listed,
    exclusive: BTreeSet<String>,
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
            listed: Listed::default(),
            exclusive,
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
        let mut returns = false;
        let forbidden = match effect {
            Effect::AskModel(asked) => limits::forbids_call(self.run, task, &self.listed).or_else(|| {
                let limit = limits::call_waits(self.run, task, asked.reserved, &self.listed)?;
                // It is owed all the same: others return what they do not use.
                self.waiting.push(effect.key());
                returns = true;
                Some(limit)
            }),
            Effect::RunTool { call, .. } if self.exclusive.contains(&call.name) => Some(Limit::Exclusive),
            Effect::RunTool { task, run, call, .. } => {
                limits::forbids_again(self.run, task, run, &call.id).or(limits::forbids_work(self.run))
            }
            Effect::MountTemplate { .. } | Effect::TryChanges { .. } | Effect::ApplyChanges { .. } => {
                limits::forbids_work(self.run)
            }
            _ => None,
        };
        if let Some(limit) = forbidden {
            self.reached.insert(limit);
            self.blocked = self.blocked.or(Some(limit));
            self.refused.extend(task.map(|task| Refused { task: &task.task.slug, limit, returns }));
            return false;
        }
        match effect {
            Effect::AskModel(asked) => {
                self.listed.add(&self.run.ledger, task.map(|task| &task.task.slug), asked.reserved);
            }
            Effect::RunTool { call, .. } if self.run.policy(&call.name).exclusive => {
                self.exclusive.insert(call.name.clone());
            }
            _ => {}
        }
        true
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
pub(super) fn exclusive_tool(run: &Run, key: &EffectKey) -> Option<String> {
    let EffectKey::Tool { task, run: exec, call } = key else { return None };
    let name = &run.tasks.get(task)?.run(exec)?.call(call)?.call.name;
    run.policy(name).exclusive.then(|| name.clone())
}
