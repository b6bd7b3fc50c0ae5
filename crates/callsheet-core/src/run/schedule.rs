//! Derives the outstanding work: at most `jobs` pieces of work within all limits, then gates and questions. Nothing
//! is changed here.
//!
//! Two shortcuts keep the cost independent of the number of tasks. A task whose work is all under way is left out
//! until something happens to it (`in_flight`). If a limit of the run forbids further model calls, tasks that only
//! need a call are not examined.

use std::collections::BTreeSet;

use super::approval::Approval;
use super::effect::Effect;
use super::limit::Limit;
use super::operators::TreeQuery;
use super::places::Place;
use super::scheduler::{Scheduler, Work};
use super::state::Stage;
use super::task::TaskRun;
use super::units::{Unit, Units};
use super::{Run, limits};

/// Derives the outstanding work from the state of a run.
#[derive(Clone, Copy)]
pub(super) struct Schedule<'a>(pub &'a Run);

impl<'a> Schedule<'a> {
    /// The work, without gates, questions and the effects that stay under way.
    pub fn work(self) -> Work {
        let run = self.0;
        let roll_backs = self.roll_backs();
        match run.stage() {
            Stage::Empty | Stage::AwaitList | Stage::Concluded(_) => Work::default(),
            // An interrupted apply is rolled back before anything else (spec 2.18).
            _ if !roll_backs.is_empty() => Work::of(roll_backs),
            Stage::Conclude(outcome) => {
                let applies: Vec<Effect> = self.abandoned_applies(true);
                Work::of(if applies.is_empty() { vec![Effect::Conclude(outcome)] } else { applies })
            }
            Stage::Prepare | Stage::Pass | Stage::Operate | Stage::Iterate | Stage::Continue | Stage::Join(_) => {
                self.hand_out().work
            }
        }
    }

    /// The gates and questions for a person now. They use no slot.
    pub fn people(self) -> Vec<Effect> {
        if self.0.progress.is_waiting() { Vec::new() } else { Approval(self.0).asking() }
    }

    /// Hands out the slots of a working run that are not used by effects under way.
    pub fn hand_out(self) -> Scheduler<'a> {
        let run = self.0;
        let trees = TreeQuery(run);
        let mut scheduler = Scheduler::new(run);
        scheduler.work.effects.extend(trees.retrievals());
        // They take no time, so they wait for no slot that others hold.
        let (due, jobs) = (trees.evaluations(), limits::jobs(run));
        if due.len() > jobs {
            scheduler.work.reached.insert(Limit::Jobs);
        }
        due.into_iter().take(jobs).for_each(|effect| scheduler.put(effect));
        for effect in self.abandoned_applies(false) {
            scheduler.put(effect);
        }
        self.keep_admitted(&mut scheduler);
        self.admit_more(&mut scheduler);
        scheduler
    }

    /// Keeps the units that have slots.
    fn keep_admitted(self, scheduler: &mut Scheduler<'a>) {
        let (run, units) = (self.0, Units(self.0));
        let mut more = Vec::new();
        for unit in units.of_list().filter(Unit::is_admitted) {
            more.push((None, scheduler.keep(&unit)));
        }
        let mut awake = BTreeSet::new();
        for (place, task) in run.tasks.holding_at(run.in_flight.awake()) {
            let admitted: Vec<Unit<'a>> = units.of(task).filter(Unit::is_admitted).collect();
            if !scheduler.leave_under_way(place, &admitted) {
                awake.insert(place);
                more.extend(admitted.iter().map(|unit| (Some(task), scheduler.keep(unit))));
            }
        }
        scheduler.work.awake = Some(awake);
        for (task, effects) in more {
            scheduler.widen(task, effects);
        }
    }

    /// Gives slots to further units, in the order of spec 2.6.
    fn admit_more(self, scheduler: &mut Scheduler<'a>) {
        let (run, units) = (self.0, Units(self.0));
        for unit in units.of_list().filter(|unit| !unit.is_admitted()) {
            if !scheduler.admit(&unit) {
                return;
            }
        }
        let mut from = Place::FIRST;
        while let Some((place, task)) = run.tasks.queued_from(from, scheduler.allows_no_call()) {
            from = place.next();
            for unit in units.of(task).filter(|unit| !unit.is_admitted()) {
                if !scheduler.admit(&unit) {
                    return;
                }
            }
        }
    }

    /// The interrupted applies to roll back.
    pub fn roll_backs(self) -> Vec<Effect> {
        self.0.changes.roll_backs().take(limits::jobs(self.0)).collect()
    }

    /// The applies in flight that no longer belong to a unit. If `all`, every apply in flight.
    fn abandoned_applies(self, all: bool) -> Vec<Effect> {
        let run = self.0;
        let in_flight = run.changes.iter().filter(|(key, _)| {
            let owned = run.tasks.get(&key.task).is_some_and(TaskRun::is_executing);
            run.in_flight.contains(&key.apply()) && (all || !owned)
        });
        in_flight.map(|(key, set)| key.apply_effect(&set.changes)).collect()
    }
}
