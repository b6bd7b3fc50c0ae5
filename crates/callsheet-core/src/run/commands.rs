//! What a person changes in a run that is under way (spec 2.18): tasks are repeated or removed from the list.

use std::collections::{BTreeMap, BTreeSet};

use crate::adopt;
use crate::nouns::{SkillPolicy, Slug};
use crate::record::{Outcome, Tree};

use super::Run;
use super::after_limit::AfterLimit;
use super::calls::CallReuse;
use super::ledger::Holder;
use super::lists::{check_applies, check_drop, transition};
use super::mounts::{Mounts, caller_of, check_call, failed_calls};
use super::next_stage::NextStage;
use super::operators::{EditedTasks, Redo, TreeQuery, Trees};
use super::reject::Reject;
use super::state::{Stage, State};
use super::task::{Refined, RemovedBy, TaskPhase, TaskRun};
use super::task_change::TaskChange;

/// Carries out what a person commands.
pub(super) struct Commands<'a>(pub &'a mut Run);

impl Commands<'_> {
    /// Has a task repeated, continued or removed for a person.
    pub fn redo(&mut self, slug: &Slug, how: Redo, skills: &BTreeMap<String, SkillPolicy>) {
        let part = self.0.operators.get(slug).map(|part| part.number);
        if part.is_some() || how == Redo::Again {
            self.0.calls.offer();
        }
        match (part, how) {
            (Some(part), _) => self.redo_part(part, how, skills),
            (None, Redo::Without) => self.drop_task(slug),
            (None, Redo::On) => self.go_on(slug),
            (None, Redo::Again) if self.0.tasks.get(slug).is_some_and(comes_back) => self.ask_anew(slug),
            (None, Redo::Again) => self.retry(slug, skills),
        }
    }

    /// Keeps what a person says about the former result of a task that is repeated.
    pub fn tell(&mut self, slug: &Slug, because: &str) {
        match self.0.operators.get(slug).map(|part| part.number) {
            Some(part) => Trees(self.0).tell(part, because),
            None => {
                self.0.tasks.get_mut(slug).into_iter().for_each(|task| because.clone_into(&mut task.because));
            }
        }
    }

    /// Repeats an ended task of the list. Tasks that it blocked come back, and so do tasks that read its former
    /// result.
    fn retry(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        if self.0.tasks.get(slug).is_some_and(|task| task.state() == State::Done) {
            return self.make_anew(slug, skills);
        }
        if let Some(calls) = failed_calls(self.0, slug, skills) {
            return self.redo_calls(slug, &calls, Redo::Again, skills);
        }
        self.revive(slug, skills);
        // The task must not reuse the replies of another run again.
        self.0.tasks.get_mut(slug).into_iter().for_each(|task| task.reuse = CallReuse::Forbidden);
        self.bring_back(BTreeSet::from([slug.clone()]), skills);
    }

    /// Continues a task that failed, with what it has.
    fn go_on(&mut self, slug: &Slug) {
        let skills = BTreeMap::new();
        if let Some(calls) = failed_calls(self.0, slug, &skills) {
            return self.redo_calls(slug, &calls, Redo::On, &skills);
        }
        AfterLimit(self.0).go_on(slug);
        self.come_back(slug, BTreeSet::new(), &skills);
    }

    /// Repeats or continues the trees of failed calls of a task.
    fn redo_calls(&mut self, slug: &Slug, tops: &[usize], how: Redo, skills: &BTreeMap<String, SkillPolicy>) {
        for top in tops {
            Trees(self.0).redo(*top, how);
            Mounts(self.0).wait_again(*top);
        }
        self.come_back(slug, BTreeSet::new(), skills);
    }

    /// Repeats a task that is done, whatever its inputs are. The tasks that read from it are planned again and may
    /// reuse the replies of equal calls (spec 2.18).
    fn make_anew(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        let readers = readers_of(self.0, slug);
        self.start_anew(slug, skills);
        self.ask_anew(slug);
        self.begin_readers(&readers, skills);
        self.bring_back(readers.into_iter().chain([slug.clone()]).collect(), skills);
    }

    /// Forbids the task to reuse replies, and drops its finished executions.
    fn ask_anew(&mut self, slug: &Slug) {
        if let Some(task) = self.0.tasks.get_mut(slug) {
            task.runs.clear();
            task.reuse = CallReuse::Forbidden;
        }
    }

    /// Plans the readers of a result again, because the result is made again.
    fn begin_readers(&mut self, readers: &BTreeSet<Slug>, skills: &BTreeMap<String, SkillPolicy>) {
        for reader in readers {
            self.start_anew(reader, skills);
            let Some(task) = self.0.tasks.get_mut(reader) else { continue };
            task.reuse = CallReuse::Allowed;
            if !task.applied.is_empty() {
                // A person may have undone its changes, so they are made again.
                task.runs.clear();
            }
        }
    }

    /// Starts a task again and drops everything of it that is in flight, waits or was called.
    fn start_anew(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        let mut change = TaskChange(self.0);
        change.abort_in_flight(slug);
        change.abandon_calls(slug, None);
        self.0.operators.retire(slug);
        TaskChange(self.0).reopen(slug);
        self.revive(slug, skills);
    }

    /// Repeats, continues or removes a task of a tree.
    fn redo_part(&mut self, part: usize, how: Redo, skills: &BTreeMap<String, SkillPolicy>) {
        Trees(self.0).redo(part, how);
        self.go_on_with(part, skills);
    }

    /// Takes over an edited tree. Tasks whose words changed begin again.
    pub fn take_over(&mut self, mount: usize, tree: &Tree) {
        let (given_up, begins_again) = Trees(self.0).take_over(mount, tree);
        let mut change = TaskChange(self.0);
        given_up.into_iter().for_each(|leaf| change.give_up(leaf));
        let top = self.0.operators.top_of(mount).map(|top| top.number);
        if let Some(top) = top.filter(|_| begins_again) {
            self.0.calls.offer();
            self.go_on_with(top, &BTreeMap::new());
        }
    }

    /// Lets tasks that have not begun use the current versions of their skills. What was approved or refined for the
    /// former version no longer counts.
    pub fn use_edited(&mut self, skills: &BTreeMap<String, SkillPolicy>) {
        let uses = |task: &&TaskRun| task.task.skill.as_ref().is_some_and(|name| skills.contains_key(name));
        let to_begin = self.0.tasks.values().filter(|task| task.is_to_begin());
        for slug in to_begin.filter(uses).map(TaskRun::slug).collect::<Vec<_>>() {
            TaskChange(self.0).abort_in_flight(&slug);
            self.plan_again(&slug, skills);
        }
    }

    /// Goes on with a tree a task of which begins again. The task that made the call continues with it. Without a call,
    /// the run does.
    fn go_on_with(&mut self, part: usize, skills: &BTreeMap<String, SkillPolicy>) {
        let Some(caller) = self.0.operators.caller_of(part).map(|caller| caller.task.clone()) else {
            return NextStage(self.0).operate();
        };
        let readers = match self.0.tasks.get(&caller).map(TaskRun::state) {
            Some(State::Failed) => BTreeSet::new(),
            Some(State::Done) => readers_of(self.0, &caller),
            _ => return,
        };
        Mounts(self.0).wait_again(part);
        self.begin_readers(&readers, skills);
        self.come_back(&caller, readers, skills);
    }

    /// Continues a task whose calls of templates begin again.
    fn come_back(&mut self, slug: &Slug, readers: BTreeSet<Slug>, skills: &BTreeMap<String, SkillPolicy>) {
        TaskChange(self.0).reopen(slug);
        let round = self.0.rounds();
        if let Some(task) = self.0.tasks.get_mut(slug) {
            task.round = round;
        }
        self.bring_back(readers.into_iter().chain([slug.clone()]).collect(), skills);
    }

    /// Brings back the tasks that the given tasks had blocked.
    fn bring_back(&mut self, mut back: BTreeSet<Slug>, skills: &BTreeMap<String, SkillPolicy>) {
        while let Some(blocked) = self.freed_by(&back) {
            self.revive(&blocked, skills);
            back.insert(blocked);
        }
        if back.iter().any(|slug| self.0.tasks.get(slug).is_some_and(|task| task.writer.is_some())) {
            // A person who asks for a writer again has seen what held it (spec 2.9).
            self.0.tasks.values_mut().for_each(TaskRun::acknowledge);
        }
        NextStage(self.0).follow_list();
    }

    /// Takes a task that has not begun to run off the list for a person.
    fn drop_task(&mut self, slug: &Slug) {
        TaskChange(self.0).enter(slug, TaskPhase::Dropped(RemovedBy::Person));
        NextStage(self.0).ask_lists_anew();
    }

    /// Starts a problem task again. Its finished executions are kept in case their inputs, including the skill, stay
    /// the same (spec 10.5).
    fn revive(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        self.0.ledger.open(slug, Holder::Task(slug.clone()), None);
        self.plan_again(slug, skills);
    }

    /// Plans a task again, with the current versions of its skill.
    fn plan_again(&mut self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) {
        TaskChange(self.0).enter(slug, TaskPhase::Planned);
        let run = &mut *self.0;
        run.changes.make_stale(slug);
        let (revision, round) = (run.changes.revision(), run.progress.rounds().total());
        let Some(task) = run.tasks.get_mut(slug) else { return };
        let (writer, skill) = (task.writer.take(), task.skill.take());
        let must_refine = task.refined == Refined::Due;
        task.restart(revision);
        task.writer = writer;
        task.skill = skill;
        if must_refine {
            task.refined = Refined::Due;
        }
        task.round = round;
        if let Some(policy) = task.task.skill.as_ref().and_then(|name| skills.get(name)) {
            task.runs.clear();
            task.writer = adopt::writer(&task.task, skills);
            task.skill = Some(policy.clone());
        }
    }

    /// A blocked task that one of `back` blocked and that nothing else blocks.
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

/// The tasks that read the output of a task, directly or indirectly, and that begin again with it. Denied and removed
/// tasks stay as they are. Blocked tasks must be freed first.
pub(super) fn readers_of(run: &Run, slug: &Slug) -> BTreeSet<Slug> {
    let begins_again =
        |task: &&TaskRun| task.is_own() && !matches!(task.state(), State::Denied | State::Dropped | State::Blocked);
    let mut readers = BTreeSet::new();
    let mut new = vec![slug.clone()];
    while let Some(read) = new.pop() {
        let reads = |task: &&TaskRun| {
            task.producers().filter_map(|producer| run.tasks.find(producer)).any(|producer| producer.task.slug == read)
        };
        for reader in run.tasks.values().filter(begins_again).filter(reads) {
            if reader.task.slug != *slug && readers.insert(reader.slug()) {
                new.push(reader.slug());
            }
        }
    }
    readers
}

/// Checks whether a person may have a task repeated, continued or removed.
///
/// # Errors
/// There is no such task, its state does not allow this, or something that uses its result is running.
pub(super) fn check_redo(
    run: &Run,
    slug: &Slug,
    how: Redo,
    skills: &BTreeMap<String, SkillPolicy>,
) -> Result<(), Reject> {
    if let Some(part) = run.operators.get(slug) {
        // The tasks at work were cancelled, and only a resume brings them back.
        if run.stage() == Stage::Conclude(Outcome::Cancelled) {
            return Err(Reject::Concluding);
        }
        if let Some(caller) = check_call(run, part, how)?.filter(|caller| caller.state() == State::Done) {
            check_readers(run, &caller.task.slug)?;
        }
        return TreeQuery(run).redone(part.number, how).map(|_| ());
    }
    let task = run.tasks.get(slug).ok_or_else(|| Reject::UnknownTask(slug.clone()))?;
    if how == Redo::Without {
        return check_drop(task);
    }
    if comes_back(task) {
        return Ok(());
    }
    let state = task.state();
    if !state.is_problem() && !matches!(state, State::Done | State::Dropped) {
        return Err(transition(slug, state, State::Planned));
    }
    check_applies(run, slug)?;
    if state == State::Done {
        return check_readers(run, slug);
    }
    let mut calls = failed_calls(run, slug, skills).into_iter().flatten();
    calls.try_for_each(|top| TreeQuery(run).redone(top, how).map(|_| ()))
}

/// Checks whether a run may take over an edited tree. Returns the tasks that the edit changed.
///
/// # Errors
/// There is no such tree, the task that called it has gone on without it, or something that used a result cannot be
/// repeated.
pub(super) fn check_take_over(run: &Run, mount: usize, tree: &Tree) -> Result<EditedTasks, Reject> {
    let top = run.operators.top_of(mount).filter(|top| !top.is_former() && tree.templates.contains_key(&tree.entry));
    let top = top.ok_or(Reject::ListNotAwaited)?;
    let edited = run.operators.edited(mount, tree)?;
    if let Some(caller) = caller_of(run, top, Redo::Again)?.filter(|caller| caller.state() == State::Done) {
        check_readers(run, &caller.task.slug)?;
    }
    Ok(edited.tasks)
}

/// Whether the task was planned again because of another task and has not begun. A person may still have it repeated
/// itself.
fn comes_back(task: &TaskRun) -> bool {
    let unbegun = matches!(task.state(), State::Planned | State::Waiting | State::Ready) && !task.has_begun();
    task.reuse == CallReuse::Allowed && unbegun
}

/// Checks whether a task that is done may be repeated.
///
/// # Errors
/// A task that reads its result is running or is changing files.
fn check_readers(run: &Run, slug: &Slug) -> Result<(), Reject> {
    for reader in readers_of(run, slug) {
        check_applies(run, &reader)?;
        if run.tasks.get(&reader).is_some_and(|reader| reader.state() == State::Running) {
            return Err(Reject::IsRead { task: slug.clone(), reader });
        }
    }
    Ok(())
}
