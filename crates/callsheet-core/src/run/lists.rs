//! Adopted lists: they replace the outstanding tasks (spec 2.3, 2.11).

use std::collections::BTreeSet;

use crate::issue::{Issue, IssueCode, Repair};
use crate::record::{EffectKey, Gate, GateKind, ListAdopted, ListOrigin, Outcome, PlannedTask};
use crate::spec::{Goals, Phase, SkillPolicy, Slug, Task};

use super::steps::Pass;
use super::{Attempts, ExecRun, Reject, Run, Stage, State, Stopwatch, TaskRun};

impl Run {
    pub(super) fn list_adopted(
        &mut self,
        origin: &ListOrigin,
        list: &ListAdopted,
        repairs: &[Repair],
        issues: &[Issue],
        at: u64,
    ) -> Result<(), Reject> {
        if let ListOrigin::Edit(sheet) = origin {
            self.edited(list, issues)?;
            // What was read is an edit no more.
            self.sheet_is(sheet, at);
            return Ok(());
        }
        self.check_list(list)?;
        match origin {
            ListOrigin::Host if self.stage == Stage::AwaitList => {}
            ListOrigin::Host | ListOrigin::Edit(_) => return Err(Reject::ListNotAwaited),
            ListOrigin::Reply(key) => {
                let fits = match key.phase {
                    Phase::Plan => self.stage == Stage::Prepare,
                    Phase::Iterate => self.stage == Stage::Iterate,
                    Phase::Continue => self.stage == Stage::Continue,
                    _ => false,
                };
                if !fits {
                    return Err(Reject::ListNotAwaited);
                }
                self.accept(key, repairs, issues)?;
                if key.phase == Phase::Continue {
                    self.follow_up_accepted();
                }
            }
        }
        self.close_list_calls();
        self.adopt_goals(origin, list);
        // The accepted list has seen every problem it was told of (spec 2.9).
        for task in self.tasks.values_mut() {
            task.problem_seen |= task.state.is_problem() && task.problem_shown;
        }
        self.replace_tasks(list, issues, false)?;
        self.begin_round();
        Ok(())
    }

    /// A person's edit (spec 2.18).
    fn edited(&mut self, list: &ListAdopted, issues: &[Issue]) -> Result<(), Reject> {
        self.check_edit(list)?;
        if list.goals != self.goals {
            let goals = Goals { text: list.goals.text.clone(), ..list.goals };
            self.former_goals.push(std::mem::replace(&mut self.goals, goals));
        }
        // The sheet shows every mark, so a person takes one back by deleting it.
        self.no_longer_relevant.clear();
        self.mark_irrelevant(list);
        self.call_back(list)?;
        self.hold_unstarted();
        self.replace_tasks(list, issues, true)?;
        self.pass = Pass::default();
        self.unblock(true);
        self.go_on_with_the_list();
        Ok(())
    }

    /// A task that an edit changes or leaves out while nothing of it is at work but a person has not begun: it is ready again,
    /// and follows the edit.
    fn call_back(&mut self, list: &ListAdopted) -> Result<(), Reject> {
        let stays =
            |slug: &Slug| list.steps.iter().flatten().any(|planned| planned.unchanged && planned.task.slug == *slug);
        let waiting = self.tasks().filter(|task| task.state == State::Running).map(slug_of);
        let waiting: Vec<Slug> = waiting.filter(|slug| !stays(slug) && !self.has_begun(slug)).collect();
        waiting.iter().try_for_each(|slug| self.set_state(slug, State::Ready))
    }

    /// Whether an edit leaves the task alone: it runs, and does not merely wait for a person.
    pub fn has_begun(&self, slug: &Slug) -> bool {
        let asks = |gate: Gate| match gate.kind {
            GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => task == *slug,
            GateKind::BeforeRun(_) => false,
        };
        let waits = self.open_gates().any(asks)
            || self.open_questions().any(|key| matches!(&key, EffectKey::Question { task, .. } if task == slug));
        let runs = self.task(slug).is_some_and(|task| task.state == State::Running);
        runs && (!waits || self.works_by_itself(slug))
    }

    /// What may run waits for its step and its gate in the new list: a resume that comes with an edit has just opened it
    /// (spec 2.6, 2.7). What it had done before the resume stays.
    fn hold_unstarted(&mut self) {
        let sets: BTreeSet<&Slug> = self.sets.keys().map(|key| &key.task).collect();
        let waits = |task: &&TaskRun| task.state == State::Ready && task.executing && !sets.contains(&task.task.slug);
        // Of one that had begun nothing is in flight right after a resume; otherwise a person may be at its gate.
        let rests = |task: &&TaskRun| task.runs.iter().all(ExecRun::is_untouched) || !self.works(&task.task.slug);
        let held: Vec<Slug> = self.tasks.values().filter(waits).filter(rests).map(slug_of).collect();
        for slug in held {
            if let Some(task) = self.tasks.get_mut(&slug) {
                task.executing = false;
                if task.runs.iter().all(ExecRun::is_untouched) {
                    task.runs.clear();
                } else {
                    task.kept = true;
                }
            }
        }
    }

    /// Refuses a list that the table of spec 2.10 forbids, before anything is changed.
    pub(super) fn check_list(&self, list: &ListAdopted) -> Result<(), Reject> {
        let mut seen = BTreeSet::new();
        for planned in list.steps.iter().flatten() {
            let slug = &planned.task.slug;
            if !seen.insert(slug) {
                return Err(Reject::Duplicate(slug.clone()));
            }
            // Only a person puts a task back that was dropped.
            let may_come = |state: State| state == State::Planned || state.may_become(State::Planned);
            if let Some(task) = self.tasks.get(slug)
                && (task.state == State::Dropped || !may_come(task.state))
            {
                return Err(Reject::Transition { task: slug.clone(), from: task.state, to: State::Planned });
            }
        }
        Ok(())
    }

    fn adopt_goals(&mut self, origin: &ListOrigin, list: &ListAdopted) {
        let mut goals = list.goals.clone();
        if *origin == ListOrigin::Host && !goals.plan_continues {
            goals.plan_complete = true;
        }
        if self.list_adopted {
            self.former_goals.push(self.goals.clone());
        }
        if goals.text.trim().is_empty() {
            goals.text.clone_from(&self.goals.text);
        }
        self.goals = goals;
        self.list_adopted = true;
        self.remarks.clone_from(&list.remarks);
        if *origin == ListOrigin::Host {
            self.no_longer_relevant.clear();
        }
        self.mark_irrelevant(list);
    }

    /// What was marked as no longer relevant (spec 5.10): a reply only adds marks.
    fn mark_irrelevant(&mut self, list: &ListAdopted) {
        for link in &list.no_longer_relevant {
            if !self.no_longer_relevant.contains(link) {
                self.no_longer_relevant.push(link.clone());
            }
        }
    }

    /// `edit`: a person's list, in which a problem task that stands unchanged is none that is listed again. It leaves alone
    /// what runs, whether it changes it or leaves it out (spec 2.18).
    pub(super) fn replace_tasks(&mut self, list: &ListAdopted, issues: &[Issue], edit: bool) -> Result<(), Reject> {
        let listed: BTreeSet<&Slug> = list.steps.iter().flatten().map(|planned| &planned.task.slug).collect();
        let omitted =
            |task: &&TaskRun| task.below.is_none() && !task.state.is_ended() && !listed.contains(&task.task.slug);
        let begun = |task: &TaskRun| edit && task.state == State::Running;
        let omitted: Vec<(Slug, bool)> =
            self.tasks.values().filter(omitted).map(|task| (slug_of(task), begun(task))).collect();
        for (slug, _) in omitted.iter().filter(|(_, begun)| !begun) {
            self.set_state(slug, State::Dropped)?;
        }
        self.before_run = None;
        for planned in list.steps.iter().flatten() {
            let slug = &planned.task.slug;
            if edit && planned.unchanged && self.tasks.get(slug).is_some_and(|task| task.state.is_problem()) {
                continue;
            }
            let policy = planned.task.skill.as_ref().map(|skill| list.skills.get(skill));
            self.list_task(planned, policy, issues)?;
        }
        let mut steps: Vec<Vec<Slug>> =
            list.steps.iter().map(|step| step.iter().map(|planned| planned.task.slug.clone()).collect()).collect();
        // What was taken out and runs goes before all that is listed, which may read it.
        steps.insert(0, omitted.into_iter().filter(|(_, begun)| *begun).map(|(slug, _)| slug).collect());
        steps.retain(|step| !step.is_empty());
        self.tasks.set_steps(steps);
        Ok(())
    }

    fn list_task(
        &mut self,
        planned: &PlannedTask,
        policy: Option<Option<&SkillPolicy>>,
        issues: &[Issue],
    ) -> Result<(), Reject> {
        let slug = planned.task.slug.clone();
        for alias in &planned.task.aliases {
            self.aliases.insert(alias.clone(), slug.clone());
        }
        let round = self.rounds.saturating_add(1);
        if !self.tasks.contains_key(&slug) {
            self.tasks.insert(slug.clone(), TaskRun::new(planned.task.clone()));
        } else if self
            .tasks
            .get(&slug)
            .is_some_and(|task| task.state == State::Running || planned.unchanged && !task.state.is_ended())
        {
            if let Some(task) = self.tasks.get_mut(&slug) {
                task.round = round;
            }
            return Ok(());
        } else {
            self.set_state(&slug, State::Planned)?;
            // What it had in flight or waiting was for another text.
            self.forget_work(&slug);
            self.abandon_calls(&slug);
            self.forget_roll_backs(&slug);
        }
        let world = self.world;
        let Some(task) = self.tasks.get_mut(&slug) else { return Ok(()) };
        self.ledger.open_task(&slug, None);
        task.restart(world);
        task.note_former();
        task.task = planned.task.clone();
        task.writer.clone_from(&planned.writer);
        if task.task.approval && task.writer.is_none() {
            task.writer = Some(Task::ASKS_FOR_APPROVAL.to_owned());
        }
        task.skill = policy.flatten().cloned();
        task.skill_lost = matches!(policy, Some(None));
        task.round = round;
        // A plan-carried call that was dropped forces refinement (spec 3.4).
        task.must_refine = issues.iter().any(|issue| {
            issue.code == IssueCode::CallDropped && issue.place.task.as_deref() == Some(planned.task.name.as_str())
        });
        Ok(())
    }

    fn begin_round(&mut self) {
        if self.has_pending() || self.rounds == 0 {
            self.round = self.round.saturating_add(1);
            self.rounds = self.rounds.saturating_add(1);
        }
        self.iteration_due = false;
        self.more_work = false;
        self.pass = Pass::default();
        self.stage = Stage::Pass;
        self.idle = false;
        self.plan = Attempts::default();
        self.iterate = Attempts::default();
        self.follow = Attempts::default();
        self.message = None;
        if self.settings.plan_only {
            self.stage = Stage::Conclude(Outcome::Planned);
        } else {
            self.conclude_if_nothing_starts();
        }
    }
}

fn slug_of(task: &TaskRun) -> Slug {
    task.task.slug.clone()
}

impl TaskRun {
    /// Listed again with another text, or after it ended: everything starts anew, except numbers that are never
    /// used twice and finished runs, which are kept in case their inputs stay the same (spec 10.5).
    pub(super) fn restart(&mut self, world: u32) {
        let fresh = Self::new(self.task.clone());
        let former = std::mem::replace(self, fresh);
        self.state = former.state;
        self.former = former.former;
        self.checks = former.checks;
        self.merges = former.merges;
        self.sets = former.sets;
        self.applied = former.applied;
        self.clock = Stopwatch::default();
        self.ideal_refined_ms = former.ideal_refined_ms;
        self.ideal_end_ms = former.ideal_end_ms;
        self.runs = former.runs;
        self.runs.retain(|run| run.finished && (run.finished_world == world || run.seen.is_some()));
    }
}
