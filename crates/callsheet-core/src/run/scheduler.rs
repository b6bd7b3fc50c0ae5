//! The scheduler that hands out slots: at most `jobs` pieces of work, within every limit, to one unit after the
//! other.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::Slug;
use crate::record::EffectKey;

use super::effect::Effect;
use super::ledger::Listed;
use super::limit::Limit;
use super::places::Place;
use super::task::TaskRun;
use super::units::{Unit, Units};
use super::{Run, limits};

/// The outstanding work.
#[derive(Default)]
pub(super) struct Work {
    pub effects: Vec<Effect>,
    /// The effects of tasks whose work is all under way, by position.
    pub under_way: Vec<(Place, Vec<Effect>)>,
    /// The positions of the other tasks with slots. `None` if no task was examined.
    pub awake: Option<BTreeSet<Place>>,
    pub blocked: Option<Limit>,
    pub reached: BTreeSet<Limit>,
    /// Calls that wait for what other calls have reserved.
    pub waiting: Vec<EffectKey>,
}

impl Work {
    pub(super) fn of(effects: Vec<Effect>) -> Self {
        Self { effects, ..Self::default() }
    }
}

/// A task whose unit has work and got no slot.
pub(super) struct Refused<'a> {
    pub task: &'a Slug,
    pub refusal: Refusal,
}

/// Why an effect is not started.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    pub limit: Limit,
    /// Whether other calls have reserved a part of the budget and will return what they do not use.
    pub returns: bool,
}

/// Hands out slots.
pub(super) struct Scheduler<'a> {
    run: &'a Run,
    used: usize,
    pub(super) work: Work,
    /// The calls that are listed and not in flight.
    listed: Listed,
    /// The tools that run only one call at a time and have one, once a call of a tool was looked at.
    exclusive: Option<BTreeSet<String>>,
    /// The number of executions of each task that just got a slot.
    admitted: BTreeMap<&'a Slug, usize>,
    /// The tasks whose units got nothing although a slot was free.
    pub(super) refused: Vec<Refused<'a>>,
    /// Why no task may make a further call.
    pub(super) no_call: Option<Refusal>,
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        Self {
            run,
            used: run.in_flight.count_under_way(),
            work: Work::default(),
            listed: Listed::default(),
            exclusive: None,
            admitted: BTreeMap::new(),
            refused: Vec::new(),
            no_call: None,
        }
    }

    pub(super) fn has_slot(&mut self) -> bool {
        let free = self.used < limits::jobs(self.run);
        if !free {
            self.work.reached.insert(Limit::Jobs);
        }
        free
    }

    pub(super) fn put(&mut self, effect: Effect) {
        self.used += 1;
        self.work.effects.push(effect);
    }

    /// Whether a limit of the run forbids further model calls for all tasks.
    pub(super) fn allows_no_call(&self) -> bool {
        self.no_call.is_some()
    }

    /// Whether an effect that is not in flight may be listed. Notes the limit that forbids it.
    fn may_start(&mut self, task: Option<&'a TaskRun>, effect: &Effect) -> bool {
        let mut returns = false;
        let forbidden = match effect {
            Effect::AskModel(asked) => limits::forbids_call(self.run, task, &self.listed).or_else(|| {
                let limit = limits::call_waits(self.run, task, asked.reserved, &self.listed)?;
                // The call stays outstanding, because other calls will return what they do not use.
                self.work.waiting.push(effect.key());
                returns = true;
                Some(limit)
            }),
            Effect::RunTool { call, .. } if self.exclusive().contains(&call.name) => Some(Limit::Exclusive),
            Effect::RunTool { task, run, call, .. } => {
                limits::forbids_again(self.run, task, run, &call.id).or(limits::forbids_work(self.run))
            }
            Effect::MountTemplate { .. } | Effect::TryChanges { .. } | Effect::ApplyChanges { .. } => {
                limits::forbids_work(self.run)
            }
            _ => None,
        };
        if let Some(limit) = forbidden {
            self.work.reached.insert(limit);
            self.work.blocked = self.work.blocked.or(Some(limit));
            self.refused.extend(task.map(|task| self.refusal_of(task, limit, returns)));
            if matches!(effect, Effect::AskModel(_)) && limits::forbids_all_calls(self.run, &self.listed) {
                self.no_call = Some(Refusal { limit, returns });
            }
            return false;
        }
        match effect {
            Effect::AskModel(asked) => {
                self.listed.add(&self.run.ledger, task.map(|task| &task.task.slug), asked.reserved);
            }
            Effect::RunTool { call, .. } if self.run.policy(&call.name).exclusive => {
                self.exclusive().insert(call.name.clone());
            }
            _ => {}
        }
        true
    }

    fn exclusive(&mut self) -> &mut BTreeSet<String> {
        let in_flight = || self.run.in_flight.iter().filter_map(|key| exclusive_tool(self.run, key)).collect();
        self.exclusive.get_or_insert_with(in_flight)
    }

    fn refusal_of(&self, task: &'a TaskRun, limit: Limit, returns: bool) -> Refused<'a> {
        Refused { task: &task.task.slug, refusal: Refusal { limit, returns } }
    }

    /// Leaves the units of a task as they are if all their work is in flight. Returns false if there is more to do.
    pub(super) fn leave_under_way(&mut self, place: Place, admitted: &[Unit<'a>]) -> bool {
        let mut effects = Vec::new();
        for unit in admitted {
            let work = Units(self.run).work_of(unit).work;
            if work.is_empty() || work.iter().any(|(_, in_flight)| !in_flight) {
                return false;
            }
            effects.extend(work.into_iter().map(|(effect, _)| effect));
        }
        if effects.is_empty() {
            return false;
        }
        self.used += effects.len();
        self.work.under_way.push((place, effects));
        true
    }

    /// Lists the work of a unit that has a slot: everything that is in flight, or else the next piece. Returns the
    /// rest.
    pub(super) fn keep(&mut self, unit: &Unit<'a>) -> Vec<Effect> {
        let (in_flight, mut new): (Vec<_>, Vec<_>) =
            Units(self.run).work_of(unit).work.into_iter().partition(|(_, in_flight)| *in_flight);
        if in_flight.is_empty() {
            let first = new.iter().position(|(effect, _)| self.may_start(unit.task(), effect));
            match first {
                Some(index) => self.put(new.remove(index).0),
                // The unit keeps its slot, because it only waits for a limit or an exclusive tool.
                None => self.used += 1,
            }
        }
        for (effect, _) in in_flight {
            self.put(effect);
        }
        new.into_iter().map(|(effect, _)| effect).collect()
    }

    /// Lists further concurrent calls of units that have a slot (spec 10.7).
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

    /// Gives a slot to a unit that has none. Returns false if the unit has work and no slot is left. No later unit
    /// gets one then.
    pub(super) fn admit(&mut self, unit: &Unit<'a>) -> bool {
        let owing = Units(self.run).work_of(unit);
        if owing.work.is_empty() {
            return true;
        }
        if !self.has_slot() {
            return false;
        }
        let execution = if let Unit::Execute(task, _) = unit { Some(*task) } else { None };
        if let Some(task) = execution.filter(|task| self.running(task) >= limits::parallel(task)) {
            self.work.reached.insert(Limit::Parallel);
            self.refused.push(self.refusal_of(task, Limit::Parallel, false));
            return true;
        }
        for (effect, _) in owing.work {
            if self.may_start(unit.task(), &effect) {
                self.put(effect);
                if let Some(task) = execution {
                    *self.admitted.entry(&task.task.slug).or_insert(0) += 1;
                }
                return true;
            }
        }
        true
    }

    /// The number of a task's executions that have slots.
    fn running(&self, task: &TaskRun) -> usize {
        let admitted = task.runs.iter().filter(|run| !run.is_ended() && run.attempts.admitted).count();
        admitted + self.admitted.get(&task.task.slug).copied().unwrap_or(0)
    }
}

/// The tool of a call in flight, if the tool runs only one call at a time.
pub(super) fn exclusive_tool(run: &Run, key: &EffectKey) -> Option<String> {
    let EffectKey::Tool { task, run: exec, call } = key else { return None };
    let name = &run.tasks.get(task)?.run(exec)?.call(call)?.call.name;
    run.policy(name).exclusive.then(|| name.clone())
}
