//! What is to be done now: at most `jobs` pieces of work within all limits, then gates and questions. Nothing is changed
//! here.

use std::collections::BTreeMap;

use crate::spec::Slug;

use super::approval::Approval;
use super::effect::Effect;
use super::operators::TreeQuery;
use super::scheduler::{Scheduler, Work};
use super::state::Stage;
use super::task::TaskRun;
use super::units::{Unit, Units};
use super::{Run, limits};

/// Derives from the state of a run what is to be done.
#[derive(Clone, Copy)]
pub(super) struct Schedule<'a>(pub &'a Run);

impl<'a> Schedule<'a> {
    /// Work, before gates and questions.
    pub fn work(self) -> Work {
        let run = self.0;
        let roll_backs = self.roll_backs();
        match run.stage() {
            Stage::Empty | Stage::AwaitList | Stage::Concluded(_) => Work::default(),
            // An interrupted apply is taken back before anything else (spec 2.18).
            _ if !roll_backs.is_empty() => Work::of(roll_backs),
            Stage::Conclude(outcome) => {
                let applies: Vec<Effect> = self.abandoned_applies(true);
                Work::of(if applies.is_empty() { vec![Effect::Conclude(outcome)] } else { applies })
            }
            Stage::Prepare | Stage::Pass | Stage::Operate | Stage::Iterate | Stage::Continue | Stage::Join(_) => {
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

    /// What a person is asked now. They hold no unit.
    pub fn people(self) -> Vec<Effect> {
        if self.0.progress.is_waiting() { Vec::new() } else { Approval(self.0).asking() }
    }

    /// Hands out the slots of a run that works.
    pub fn hand_out(self) -> Scheduler<'a> {
        let run = self.0;
        let trees = TreeQuery(run);
        let mut scheduler = Scheduler::new(run);
        scheduler.effects.extend(trees.retrievals());
        for effect in trees.evaluations() {
            if !scheduler.has_slot() {
                break;
            }
            scheduler.put(effect);
        }
        for effect in self.abandoned_applies(false) {
            scheduler.put(effect);
        }
        let units = Units(run);
        let admitted: Vec<Unit<'_>> = units.among(run.tasks.holding()).filter(Unit::is_admitted).collect();
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
        for unit in units.among(run.tasks.with_units()).filter(|unit| !unit.is_admitted()) {
            if !scheduler.admit(&unit, &mut open) {
                break;
            }
        }
        scheduler
    }

    /// Interrupted applies to take back.
    pub fn roll_backs(self) -> Vec<Effect> {
        self.0.changes.roll_backs().take(limits::jobs(self.0)).collect()
    }

    /// Applies in flight that no unit owns any more, or (`all`) every apply in flight.
    fn abandoned_applies(self, all: bool) -> Vec<Effect> {
        let run = self.0;
        let in_flight = run.changes.iter().filter(|(key, _)| {
            let owned = run.tasks.get(&key.task).is_some_and(TaskRun::is_executing);
            run.flights.contains(&key.apply()) && (all || !owned)
        });
        in_flight.map(|(key, set)| key.apply_effect(&set.changes)).collect()
    }
}
