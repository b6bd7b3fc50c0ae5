//! A plan that is still being written (spec 2.3): its whole tasks are refined, and run if they only read. The finished plan
//! begins with the same tasks and goes on with them, or takes the place of all of them.

use std::collections::BTreeSet;

use crate::record::{CallKey, EffectKey, ListAdopted, PlannedTask};
use crate::spec::{Phase, SkillPolicy, Slug};

use super::Run;
use super::ideal;
use super::reject::Reject;
use super::state::Stage;
use super::task_change::TaskChange;

/// The tasks of a plan that is still being written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Growth {
    /// As they were read, by section.
    steps: Vec<Vec<PlannedTask>>,
    /// So many sections are whole.
    whole: usize,
    /// When the list before could have existed with unlimited slots.
    before_ms: u64,
}

impl Growth {
    fn slugs(&self) -> impl Iterator<Item = &Slug> {
        self.steps.iter().flatten().map(|planned| &planned.task.slug)
    }

    fn add(&mut self, planned: &PlannedTask, ends_section: bool) {
        match self.steps.get_mut(self.whole) {
            Some(step) => step.push(planned.clone()),
            None => self.steps.push(vec![planned.clone()]),
        }
        self.whole = self.whole.saturating_add(usize::from(ends_section));
    }

    /// Whether the finished plan begins with these tasks. Only a section that was not whole has got more.
    fn is_start_of(&self, list: &ListAdopted) -> bool {
        list.steps.len() >= self.steps.len()
            && self.steps.iter().zip(&list.steps).enumerate().all(|(number, (step, of_list))| {
                if number < self.whole { step == of_list } else { of_list.starts_with(step) }
            })
    }
}

/// Takes in the tasks of a plan that is still being written.
pub(super) struct Growing<'a>(pub &'a mut Run);

impl Growing<'_> {
    /// A further task is whole; `ms`: milliseconds since the call for the plan was sent.
    pub fn planned(&mut self, (planned, ends_section): (&PlannedTask, bool), policy: Option<&SkillPolicy>, ms: u64) {
        let run = &mut *self.0;
        if run.progress.growth().is_none() {
            let before_ms = run.clock.ideal_list_ms();
            run.progress.grow(Some(Growth { before_ms, ..Growth::default() }));
            let rounds = run.progress.rounds_mut();
            rounds.begin();
            rounds.restart_pass();
            run.progress.go(Stage::Pass);
        }
        let (before_ms, step) = run.progress.growth().map_or((0, 0), |growth| (growth.before_ms, growth.whole));
        let listed_ms = before_ms.saturating_add(ideal::list_ms(run)).saturating_add(ms);
        run.clock.set_ideal_list_ms(listed_ms);
        let slug = &planned.task.slug;
        let round = run.progress.rounds().total();
        TaskChange(run).list(planned, planned.task.skill.as_ref().map(|_| policy), &[], round);
        if let Some(task) = run.tasks.get_mut(slug) {
            task.ideal_listed_ms = Some(listed_ms);
        }
        run.tasks.append(step, slug.clone());
        if let Some(growth) = run.progress.growth_mut() {
            growth.add(planned, ends_section);
        }
    }

    /// The plan is finished. Gives the tasks that it goes on with.
    pub fn finish(&mut self, list: &ListAdopted) -> BTreeSet<Slug> {
        let run = &mut *self.0;
        if !run.progress.growth().is_some_and(|growth| growth.is_start_of(list)) {
            self.discard();
            return BTreeSet::new();
        }
        let growth = run.progress.grow(None).unwrap_or_default();
        run.clock.set_ideal_list_ms(growth.before_ms.saturating_add(ideal::list_ms(run)));
        if list.goals.plan_complete {
            // What asked for more work did not know that.
            run.progress.rounds_mut().forget_more_work();
        }
        let slugs: BTreeSet<Slug> = growth.slugs().cloned().collect();
        for slug in &slugs {
            if let Some(task) = run.tasks.get_mut(slug) {
                task.plan_complete = list.goals.plan_complete;
            }
        }
        slugs
    }

    /// There is no plan that goes on with these tasks: what was begun of them is given up.
    pub fn discard(&mut self) {
        let Some(growth) = self.0.progress.grow(None) else { return };
        for slug in growth.slugs() {
            let mut change = TaskChange(self.0);
            change.abort_in_flight(slug);
            change.abandon_calls(slug, None);
        }
        let run = &mut *self.0;
        run.tasks.retire();
        run.gates.close_before_run();
        run.clock.set_ideal_list_ms(growth.before_ms);
        let rounds = run.progress.rounds_mut();
        rounds.take_back();
        rounds.restart_pass();
        rounds.forget_more_work();
        if run.stage() == Stage::Pass {
            run.progress.go(Stage::Prepare);
        }
    }
}

/// Sections of a plan that is still being written whose tasks may run: those that are whole, and so get no task any more that
/// changes something, before the first that has one. `None`: the list is whole.
pub(super) fn open_steps(run: &Run) -> Option<usize> {
    let whole = run.progress.growth()?.whole;
    Some(run.tasks.writer_step_from(0).map_or(whole, |step| step.min(whole)))
}

/// Refuses a task of a plan that is not being written, or that is listed already.
pub(super) fn check_planned(run: &Run, key: &CallKey, planned: &PlannedTask) -> Result<(), Reject> {
    let awaited = match run.stage() {
        Stage::Prepare => true,
        Stage::Pass => run.progress.growth().is_some(),
        _ => false,
    };
    let is_written = key.phase == Phase::Plan && run.flights.contains(&EffectKey::Ask(key.clone()));
    if !awaited || !is_written || run.settings().plan_only {
        return Err(Reject::ListNotAwaited);
    }
    match run.tasks.get(&planned.task.slug) {
        Some(task) => Err(Reject::Duplicate(task.slug())),
        None => Ok(()),
    }
}
