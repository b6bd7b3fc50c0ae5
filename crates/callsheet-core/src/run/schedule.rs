//! What is to be done now: at most `jobs` pieces of work within all limits, then gates and questions. Nothing is changed
//! here.
//!
//! What costs as much as there is of it: a task of which everything is under way is left out as long as nothing happens to it
//! (`in_flight`), and where a limit of the run allows no further model call, tasks that want nothing else are not asked.

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

/// Derives from the state of a run what is to be done.
#[derive(Clone, Copy)]
pub(super) struct Schedule<'a>(pub &'a Run);

impl<'a> Schedule<'a> {
    /// Work, before gates and questions; without what stays under way.
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
                self.hand_out().work
            }
        }
    }

    /// What a person is asked now. They hold no unit.
    pub fn people(self) -> Vec<Effect> {
        if self.0.progress.is_waiting() { Vec::new() } else { Approval(self.0).asking() }
    }

    /// Hands out the slots of a run that works, beside those of what stays under way.
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

    /// Units that hold slots.
    fn keep_admitted(self, scheduler: &mut Scheduler<'a>) {
        let (run, units) = (self.0, Units(self.0));
        let mut more = Vec::new();
        for unit in units.of_list().filter(Unit::is_admitted) {
            more.push((None, scheduler.keep(&unit)));
        }
        for (place, task) in run.tasks.holding().filter(|(place, _)| !run.in_flight.is_under_way(*place)) {
            let admitted: Vec<Unit<'a>> = units.of(task).filter(Unit::is_admitted).collect();
            if !scheduler.leave_under_way(place, &admitted) {
                more.extend(admitted.iter().map(|unit| (Some(task), scheduler.keep(unit))));
            }
        }
        for (task, effects) in more {
            scheduler.widen(task, effects);
        }
    }

    /// Units that hold none, in the order of spec 2.6.
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

    /// Interrupted applies to take back.
    pub fn roll_backs(self) -> Vec<Effect> {
        self.0.changes.roll_backs().take(limits::jobs(self.0)).collect()
    }

    /// Applies in flight that no unit owns any more, or (`all`) every apply in flight.
    fn abandoned_applies(self, all: bool) -> Vec<Effect> {
        let run = self.0;
        let in_flight = run.changes.iter().filter(|(key, _)| {
            let owned = run.tasks.get(&key.task).is_some_and(TaskRun::is_executing);
            run.in_flight.contains(&key.apply()) && (all || !owned)
        });
        in_flight.map(|(key, set)| key.apply_effect(&set.changes)).collect()
    }
}
