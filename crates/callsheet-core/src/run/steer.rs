//! What a person changes in a run that goes on (spec 2.18): tasks done again or taken off the list, edits of the list.

use std::collections::{BTreeMap, BTreeSet};

use crate::adopt;
use crate::record::{EffectKey, ListAdopted, Outcome};
use crate::spec::{BlobId, Phase, SkillPolicy, Slug};

use super::steps::Pass;
use super::{Attempts, Reject, Run, Stage, State, TaskRun};

impl Run {
    /// Whether an edit of the list is taken now: while a round goes on, between rounds, and before the report. A run that
    /// a person or a limit stopped takes it when it is taken up again.
    pub fn may_edit(&self) -> bool {
        let stage = match self.stage {
            Stage::Pass | Stage::Iterate | Stage::Continue => true,
            Stage::Conclude(outcome) => is_over(outcome),
            _ => false,
        };
        self.list_adopted && stage
    }

    /// Whether `sheet.md` was ever to be written with this content.
    pub fn has_rendered(&self, hash: &BlobId) -> bool {
        self.sheets.contains(hash)
    }

    /// What `sheet.md` was to hold last, or held when it was read as an edit last, and when that was recorded, in
    /// milliseconds since the Unix epoch.
    pub fn last_sheet(&self) -> Option<(&BlobId, u64)> {
        self.last_sheet.as_ref().map(|(hash, at)| (hash, *at))
    }

    /// A sheet is about to be written, or was read.
    pub(super) fn sheet_is(&mut self, hash: &BlobId, at: u64) {
        self.sheets.insert(hash.clone());
        self.last_sheet = Some((hash.clone(), at));
    }

    /// Whether any rendering was recorded; older logs have none.
    pub fn has_rendered_any(&self) -> bool {
        !self.sheets.is_empty()
    }

    /// Refuses an edit that would alter what has ended well. What runs is left alone.
    pub(super) fn check_edit(&self, list: &ListAdopted) -> Result<(), Reject> {
        if !self.may_edit() {
            return Err(Reject::NotEditable);
        }
        let mut listed = BTreeSet::new();
        for planned in list.steps.iter().flatten() {
            let slug = &planned.task.slug;
            if !listed.insert(slug) {
                return Err(Reject::Duplicate(slug.clone()));
            }
            let rests = |task: &&TaskRun| task.state != State::Running;
            let Some(task) = self.tasks.get(slug).filter(rests) else { continue };
            let stays = planned.unchanged && !matches!(task.state, State::Done | State::Dropped | State::Cancelled);
            if !stays {
                self.check_applies(slug)?;
            }
            if !stays && task.state != State::Planned && !task.state.may_become(State::Planned) {
                return Err(transition(slug, task.state, State::Planned));
            }
        }
        Ok(())
    }

    /// An apply in flight outlives its task (spec 3.10), which may not begin anew meanwhile.
    fn check_applies(&self, slug: &Slug) -> Result<(), Reject> {
        let applies = |key: &EffectKey| matches!(key, EffectKey::Apply { task, .. } if task == slug);
        if self.in_flight.iter().any(applies) { Err(Reject::Applying(slug.clone())) } else { Ok(()) }
    }

    /// A person has a task done again: one of the list, of the tree, or below a task of the list.
    pub(super) fn retried_by_person(
        &mut self,
        slug: &Slug,
        skills: &BTreeMap<String, SkillPolicy>,
    ) -> Result<(), Reject> {
        if self.operators.tree().is_some() {
            return self.retried_in_tree(slug);
        }
        match self.operators.named(slug) {
            Some(_) => self.retried_in_call(slug, skills),
            None => self.retried(slug, skills),
        }
    }

    /// A person has a task that ended without output done again; what was blocked by it comes back, too.
    fn retried(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) -> Result<(), Reject> {
        let Some(task) = self.tasks.get(slug) else { return Err(Reject::UnknownTask(slug.clone())) };
        if !task.state.is_problem() {
            return Err(transition(slug, task.state, State::Planned));
        }
        self.check_applies(slug)?;
        let mut after = self.clone();
        if after.retry_calls(slug, skills)? {
            after.come_back(slug, skills)?;
            *self = after;
            return Ok(());
        }
        self.revive(slug, skills)?;
        self.bring_back(slug, skills)
    }

    /// A task whose calls of templates begin again goes on with them.
    pub(super) fn come_back(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) -> Result<(), Reject> {
        self.set_state(slug, State::Planned)?;
        let round = self.rounds;
        if let Some(task) = self.tasks.get_mut(slug) {
            task.round = round;
        }
        self.bring_back(slug, skills)
    }

    /// What a task that comes back had blocked comes back, too.
    fn bring_back(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) -> Result<(), Reject> {
        let mut back = BTreeSet::from([slug.clone()]);
        while let Some(blocked) = self.freed_by(&back) {
            self.revive(&blocked, skills)?;
            back.insert(blocked);
        }
        let back: Vec<Slug> = self.tasks().map(TaskRun::slug).filter(|slug| back.contains(slug)).collect();
        for slug in &back {
            self.place(slug);
        }
        if back.iter().any(|slug| self.tasks.get(slug).is_some_and(|task| task.writer.is_some())) {
            // Who asks for a writer again has seen what held it (spec 2.9).
            self.tasks.values_mut().filter(|task| task.state.is_problem()).for_each(|task| task.problem_seen = true);
        }
        self.go_on_with_the_list();
        Ok(())
    }

    /// A person takes a task off the list that has not begun to run.
    pub(super) fn dropped(&mut self, slug: &Slug) -> Result<(), Reject> {
        let Some(task) = self.tasks.get(slug) else { return Err(Reject::UnknownTask(slug.clone())) };
        if task.below.is_some() {
            return Err(Reject::RunsTemplate);
        }
        if task.state.is_ended() {
            return Err(transition(slug, task.state, State::Dropped));
        }
        self.set_state(slug, State::Dropped)?;
        self.before_run = None;
        self.waiting = None;
        self.ask_lists_anew();
        Ok(())
    }

    /// A problem task starts anew; finished runs are kept in case their inputs stay the same (spec 10.5), of which its skill
    /// is one.
    fn revive(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) -> Result<(), Reject> {
        self.set_state(slug, State::Planned)?;
        self.forget_roll_backs(slug);
        let (world, round) = (self.world, self.rounds);
        let Some(task) = self.tasks.get_mut(slug) else { return Ok(()) };
        let (writer, skill, lost) = (task.writer.take(), task.skill.take(), task.skill_lost);
        let must_refine = task.must_refine;
        self.ledger.open_task(slug, None);
        task.restart(world);
        task.writer = writer;
        task.skill = skill;
        task.skill_lost = lost;
        task.must_refine = must_refine;
        task.round = round;
        if let Some(policy) = task.task.skill.as_ref().and_then(|name| skills.get(name)) {
            task.runs.clear();
            task.writer = adopt::writer(&task.task, skills);
            task.skill = Some(policy.clone());
            task.skill_lost = false;
        }
        Ok(())
    }

    /// What is to be taken back of a task that starts anew is taken back, and not applied again after it.
    pub(super) fn forget_roll_backs(&mut self, slug: &Slug) {
        for (_, set) in self.sets.iter_mut().filter(|(key, _)| key.task == *slug) {
            set.stale = true;
        }
    }

    /// A blocked task that one of `back` held, and that nothing else holds.
    fn freed_by(&self, back: &BTreeSet<Slug>) -> Option<Slug> {
        let held_by = |task: &TaskRun| {
            let named = task.blocked_by.as_ref().is_some_and(|cause| back.contains(cause));
            let mut producers = task.producers().filter_map(|producer| self.task(producer));
            named || producers.any(|producer| back.contains(&producer.task.slug))
        };
        let free = |task: &TaskRun| {
            let mut producers = task.producers().filter_map(|producer| self.task(producer));
            producers.all(|producer| !producer.state.is_without_output())
        };
        let mut blocked = self.tasks.values().filter(|task| task.state == State::Blocked);
        blocked.find(|task| held_by(task) && free(task)).map(TaskRun::slug)
    }

    /// A later list may have left the task out: it gets a step of its own, behind what it reads.
    pub(super) fn place(&mut self, slug: &Slug) {
        if self.step_of(slug).is_some() || self.tasks.get(slug).is_some_and(|task| task.below.is_some()) {
            return;
        }
        let Some(task) = self.tasks.get(slug) else { return };
        let producers = task.producers().filter_map(|producer| self.task(producer));
        let pending = producers.filter(|producer| !producer.state.is_ended());
        let at = pending.filter_map(|producer| self.step_of(&producer.task.slug)).max().map_or(0, |step| step + 1);
        let mut steps = self.tasks.steps().to_vec();
        steps.insert(at, vec![slug.clone()]);
        self.tasks.set_steps(steps);
        for place in [&mut self.pass.open, &mut self.pass.asked].into_iter().flatten() {
            if *place >= at {
                *place += 1;
            }
        }
    }

    /// The list has changed under the run. Between rounds the next one begins, unless nothing of it could start; a run
    /// that was about to end goes on.
    pub(super) fn go_on_with_the_list(&mut self) {
        self.waiting = None;
        self.before_run = None;
        self.ask_lists_anew();
        let goes_on = match self.stage {
            Stage::Iterate | Stage::Conclude(Outcome::IterationFailed) => {
                self.current_step().is_some_and(|step| !self.is_held(step))
            }
            // A follow-up that has no list holds up nothing.
            Stage::Continue => self.follow_up_failed && self.has_pending(),
            Stage::Conclude(outcome) => is_over(outcome) && self.has_pending(),
            _ => false,
        };
        if goes_on {
            self.message = None;
            self.next_round();
        }
    }

    /// A call for a list that was told of another list is made again.
    fn ask_lists_anew(&mut self) {
        self.in_flight.retain(
            |key| !matches!(key, EffectKey::Ask(call) if matches!(call.phase, Phase::Iterate | Phase::Continue)),
        );
        self.return_reserves();
        match self.stage {
            Stage::Iterate => self.iterate = Attempts { busy_ms: self.iterate.busy_ms, ..Attempts::default() },
            Stage::Continue => self.follow = Attempts { busy_ms: self.follow.busy_ms, ..Attempts::default() },
            _ => {}
        }
    }

    fn next_round(&mut self) {
        if !std::mem::take(&mut self.idle) {
            self.round = self.round.saturating_add(1);
            self.rounds = self.rounds.saturating_add(1);
        }
        self.in_flight.remove(&EffectKey::Conclude);
        self.before_follow_up = None;
        self.iteration_due = false;
        self.pass = Pass::default();
        self.stage = Stage::Pass;
        self.conclude_if_nothing_starts();
    }
}

/// The run ends because nothing is left that could start, not because somebody or a limit stopped it.
fn is_over(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Complete | Outcome::Incomplete | Outcome::IterationFailed)
}

fn transition(slug: &Slug, from: State, to: State) -> Reject {
    Reject::Transition { task: slug.clone(), from, to }
}
