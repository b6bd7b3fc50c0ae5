//! What a person changes in a run that is under way (spec 2.18): tasks done again or taken off the list.

use std::collections::{BTreeMap, BTreeSet};

use crate::adopt;
use crate::spec::{SkillPolicy, Slug};

use super::Run;
use super::mounts::{Mounts, call_of, failed_calls};
use super::next_stage::NextStage;
use super::operators::Trees;
use super::state::State;
use super::task::{Refined, RemovedBy, TaskPhase, TaskRun};
use super::task_change::TaskChange;

/// Does what a person commands.
pub(super) struct Commands<'a>(pub &'a mut Run);

impl Commands<'_> {
    /// A person has a task that ended without output done again; what was blocked by it comes back, too.
    pub fn retry(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        if let Some(calls) = failed_calls(self.0, slug, skills) {
            calls.iter().for_each(|call| Mounts(self.0).retry(call));
            return self.come_back(slug, skills);
        }
        self.revive(slug, skills);
        self.bring_back(slug, skills);
    }

    /// A person has a task of a call's tree done again: the task that made the call continues with it.
    pub fn retry_in_call(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        let Ok(call) = call_of(self.0, slug) else { return };
        Trees(self.0).retry_op(call.op);
        if self.0.tasks.get(&call.caller.task).is_some_and(|task| task.state() == State::Failed) {
            Mounts(self.0).wait_again(&call);
            self.come_back(&call.caller.task, skills);
        }
    }

    /// A task whose calls of templates begin again continues with them.
    fn come_back(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        TaskChange(self.0).enter(slug, TaskPhase::Planned);
        let round = self.0.rounds();
        if let Some(task) = self.0.tasks.get_mut(slug) {
            task.round = round;
        }
        self.bring_back(slug, skills);
    }

    /// What a task that comes back had blocked comes back, too.
    fn bring_back(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        let mut back = BTreeSet::from([slug.clone()]);
        while let Some(blocked) = self.freed_by(&back) {
            self.revive(&blocked, skills);
            back.insert(blocked);
        }
        if back.iter().any(|slug| self.0.tasks.get(slug).is_some_and(|task| task.writer.is_some())) {
            // Who asks for a writer again has seen what held it (spec 2.9).
            self.0.tasks.values_mut().for_each(TaskRun::acknowledge);
        }
        NextStage(self.0).follow_list();
    }

    /// A person takes a task off the list that has not begun to run.
    pub fn drop_task(&mut self, slug: &Slug) {
        TaskChange(self.0).enter(slug, TaskPhase::Dropped(RemovedBy::Person));
        NextStage(self.0).ask_lists_anew();
    }

    /// A problem task starts anew; finished runs are kept in case their inputs stay the same (spec 10.5), of which its skill
    /// is one.
    fn revive(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        TaskChange(self.0).enter(slug, TaskPhase::Planned);
        let run = &mut *self.0;
        run.changes.make_stale(slug);
        let (revision, round) = (run.changes.revision(), run.progress.rounds().total());
        run.ledger.open_task(slug, None);
        let Some(task) = run.tasks.get_mut(slug) else { return };
        let (writer, skill, lost) = (task.writer.take(), task.skill.take(), task.skill_lost);
        let must_refine = task.refined == Refined::Due;
        task.restart(revision);
        task.writer = writer;
        task.skill = skill;
        task.skill_lost = lost;
        if must_refine {
            task.refined = Refined::Due;
        }
        task.round = round;
        if let Some(policy) = task.task.skill.as_ref().and_then(|name| skills.get(name)) {
            task.runs.clear();
            task.writer = adopt::writer(&task.task, skills);
            task.skill = Some(policy.clone());
            task.skill_lost = false;
        }
    }

    /// A blocked task that one of `back` held, and that nothing else holds.
    fn freed_by(&self, back: &BTreeSet<Slug>) -> Option<Slug> {
        let tasks = &self.0.tasks;
        let held_by = |task: &TaskRun| {
            let named = task.blocked_by().is_some_and(|cause| back.contains(cause));
            let mut producers = task.producers().filter_map(|producer| tasks.find(producer));
            named || producers.any(|producer| back.contains(&producer.task.slug))
        };
        let mut blocked = tasks.values().filter(|task| task.state() == State::Blocked);
        blocked.find(|task| held_by(task) && tasks.may_have_inputs(task)).map(TaskRun::slug)
    }
}
