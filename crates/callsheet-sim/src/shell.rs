//! A driver without a world behind it: starts what is owed, finishes it in random order, crashes, repeats itself,
//! and takes runs up again.

use callsheet_core::record::{EffectKey, Event, ListOrigin, LogEntry, Outcome, VERSION};
use callsheet_core::run::{Effect, Reject, Run, Stage};
use callsheet_core::template::TaskResult;

use crate::checkers::{self, Witness};
use crate::logs;
use crate::tree_checkers::{self, TreeWitness};
use crate::why;
use crate::world::World;

/// Facts after which everybody behaves.
const WILD_FACTS: u64 = 400;

/// What one seed came to.
pub struct Report {
    /// The log.
    pub log: Vec<LogEntry>,
    /// The run at its end.
    pub run: Run,
    /// Facts that were refused.
    pub rejects: u64,
    /// Of a tree: its result.
    pub result: Option<TaskResult>,
}

/// A promise that was broken, with the log up to there.
pub struct Broken {
    /// Name of the checker and what it saw.
    pub promise: String,
    /// The log.
    pub log: Vec<LogEntry>,
}

struct Shell {
    world: World,
    run: Run,
    log: Vec<LogEntry>,
    /// Effects being performed.
    performing: Vec<(EffectKey, Effect)>,
    /// Effects that were cancelled, whose results may still come.
    cancelled: Vec<Effect>,
    /// Gates and questions that somebody may answer while the run waits.
    resting: Vec<Effect>,
    witness: Witness,
    tree_witness: TreeWitness,
    now: u64,
    resumes: u32,
    rejects: u64,
}

/// Runs a sheet of a seed to its end.
///
/// # Errors
/// A promise was broken.
pub fn simulate(seed: u64) -> Result<Report, Box<Broken>> {
    live(World::of_sheets(seed))
}

/// Runs a task tree of a seed to its end. With an `order` nothing but order and crashes is left to chance: every order must
/// give the same result.
///
/// # Errors
/// A promise was broken.
pub fn simulate_tree(seed: u64, order: Option<u64>) -> Result<Report, Box<Broken>> {
    match World::of_trees(seed, order) {
        Ok(world) => live(world),
        Err(promise) => Err(Box::new(Broken { promise, log: Vec::new() })),
    }
}

fn live(world: World) -> Result<Report, Box<Broken>> {
    let mut shell = Shell {
        run: Run::new(),
        log: Vec::new(),
        performing: Vec::new(),
        cancelled: Vec::new(),
        resting: Vec::new(),
        witness: Witness::default(),
        tree_witness: TreeWitness::default(),
        now: 1_000,
        resumes: 0,
        rejects: 0,
        world,
    };
    match shell.live() {
        Ok(()) => {
            let result = shell.world.trees.as_ref().and_then(|trees| trees.result(&shell.run));
            Ok(Report { log: shell.log, run: shell.run, rejects: shell.rejects, result })
        }
        Err(promise) => Err(Box::new(Broken { promise, log: shell.log })),
    }
}

impl Shell {
    fn live(&mut self) -> Result<(), String> {
        for event in self.world.begin() {
            self.append(event)?.map_err(|reject| format!("the first facts are refused: {reject}"))?;
        }
        loop {
            self.world.tame = self.run.last_fact() > WILD_FACTS || self.resumes > 5;
            logs::every_run_terminates(&self.log)?;
            crate::slots::jobs_are_never_exceeded(&self.run)?;
            let owed = self.run.outstanding();
            self.drop_vanished(&owed);
            if owed.is_empty() && self.performing.is_empty() {
                checkers::nothing_owed_is_forgotten(&self.run)?;
                if let Some(trees) = &self.world.trees {
                    tree_checkers::the_result_fits_the_outcome(&self.run, trees.result(&self.run).as_ref())?;
                }
                if self.stands_still()? {
                    return logs::replay_equals_live(&self.log, &self.run);
                }
                continue;
            }
            self.start(&owed)?;
            self.disturb()?;
            self.finish_one()?;
        }
    }

    /// Effects that left the list are cancelled; a result may still come, too late.
    fn drop_vanished(&mut self, owed: &[Effect]) {
        if self.performing.is_empty() {
            return;
        }
        let keys: Vec<EffectKey> = owed.iter().map(Effect::key).collect();
        let (kept, gone): (Vec<_>, Vec<_>) = self.performing.drain(..).partition(|(key, _)| keys.contains(key));
        self.performing = kept;
        self.cancelled.extend(gone.into_iter().map(|(_, effect)| effect));
    }

    fn start(&mut self, owed: &[Effect]) -> Result<(), String> {
        for effect in owed {
            let key = effect.key();
            if self.performing.iter().any(|(performed, _)| *performed == key) {
                continue;
            }
            let pure = matches!(
                effect,
                Effect::ReadReply(_)
                    | Effect::CheckReferences { .. }
                    | Effect::MountTemplate { .. }
                    | Effect::ReturnTemplate { .. }
                    | Effect::MergeByCode { .. }
                    | Effect::Evaluate { .. }
            );
            if !pure {
                if !self.run.is_outstanding(&key) {
                    // A start of this turn moved the list on.
                    continue;
                }
                self.append(effect.started())?
                    .map_err(|reject| format!("a start of something owed is refused: {reject}"))?;
            }
            self.performing.push((key, effect.clone()));
        }
        Ok(())
    }

    /// Crashes, repeated and late facts, cancellation.
    fn disturb(&mut self) -> Result<(), String> {
        if self.world.tame {
            return Ok(());
        }
        if self.world.random.chance(4) && self.resumes < 6 {
            return self.crash();
        }
        if self.world.calm {
            return Ok(());
        }
        if self.world.random.chance(5) {
            let index = self.world.random.below(self.log.len());
            if let Some(fact) = self.log.get(index).cloned() {
                let repeatable = matches!(
                    fact.event,
                    Event::RunResumed { .. }
                        | Event::RunContinued { .. }
                        | Event::TaskRetried { .. }
                        | Event::ListAdopted { origin: ListOrigin::Edit(_), .. }
                        | Event::LimitRaised { .. }
                        | Event::CancelRequested
                );
                if !repeatable {
                    self.offer_again(&fact)?;
                }
            }
        }
        if self.world.random.chance(20) && !self.cancelled.is_empty() {
            let index = self.world.random.below(self.cancelled.len());
            let late = self.cancelled.swap_remove(index);
            let still = self.run.is_outstanding(&late.key());
            if !still && let Some(event) = self.world.perform(&self.run, &late) {
                // Refused or harmless; the checkers see it if it is folded.
                let _ = self.append(event)?;
            }
        }
        if self.world.random.chance(3) {
            self.steer()?;
        }
        if self.world.random.chance(1) && self.world.random.chance(20) {
            let _ = self.append(Event::CancelRequested)?;
        }
        if self.world.random.chance(1) {
            let slugs: Vec<_> = self.run.tasks().map(|task| task.task.slug.clone()).collect();
            if let Some(task) = self.world.random.pick(&slugs).cloned() {
                let _ = self.append(Event::TaskFailed { task, reason: "its skill is lost".to_owned() })?;
            }
        }
        Ok(())
    }

    /// A person edits the sheet, has a task done again, takes one off or raises a limit. What does not fit changes nothing.
    fn steer(&mut self) -> Result<(), String> {
        let Some(event) = self.world.steer(&self.run) else { return Ok(()) };
        let before = self.run.clone();
        if self.append(event)?.is_err() {
            logs::a_refusal_changes_nothing(Some(&before), &self.run)?;
        }
        Ok(())
    }

    /// The same fact under the same number, then as a new one.
    fn offer_again(&mut self, fact: &LogEntry) -> Result<(), String> {
        if self.run.check(fact).is_ok() {
            return Err(format!("replay: fact {} was taken twice", fact.n));
        }
        // A resumed run may fail a task, wait, conclude or start the same thing once more. A task that was listed
        // again uses the names of its calls again; a shell drops results of what it cancelled.
        if self.was_listed_again(&fact.event) {
            return Ok(());
        }
        let settles = matches!(
            fact.event,
            Event::TaskFailed { .. }
                | Event::RunWaiting { .. }
                | Event::CallMounted { .. }
                | Event::CallReturned { .. }
                | Event::Started { .. }
                | Event::RunConcluded { .. }
        );
        let taken = self.append(fact.event.clone())?;
        if taken.is_ok() && !settles {
            return Err(format!("nothing finished is performed again: {:?} was folded twice", fact.event));
        }
        if taken.is_ok()
            && let Event::Started { effect, .. } = &fact.event
        {
            // It was owed and the shell performs it from here on.
            let owed = self.run.outstanding().into_iter().find(|owed| owed.key() == *effect);
            self.performing.extend(owed.map(|owed| (effect.clone(), owed)));
        }
        Ok(())
    }

    fn was_listed_again(&self, event: &Event) -> bool {
        let key = match event {
            Event::ToolFinished { task, run, call, .. } => {
                EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.clone() }
            }
            Event::QuestionAnswered { task, run, call, .. } => {
                EffectKey::Question { task: task.clone(), run: run.clone(), call: call.clone() }
            }
            // An edit may have listed it anew.
            Event::TaskDropped { task } => return self.run.task(task).is_some_and(|task| !task.state().is_ended()),
            _ => return false,
        };
        self.run.is_outstanding(&key)
    }

    fn crash(&mut self) -> Result<(), String> {
        logs::replay_equals_live(&self.log, &self.run)?;
        self.resumes += 1;
        self.performing.clear();
        self.cancelled.clear();
        self.resting.clear();
        self.now += 3_600_000;
        self.raise_limits();
        // What was raised meanwhile stays, as with a real resume.
        let raised = self.run.settings().limits.max_calls;
        let limits = &mut self.world.settings.limits;
        limits.max_calls = limits.max_calls.max(raised);
        let settings = self.world.settings.clone();
        let ended = matches!(self.run.stage(), Stage::Concluded(_));
        let event = if ended && self.world.trees.is_none() && self.world.random.chance(40) {
            Event::RunContinued { text: "And now?".to_owned(), settings }
        } else {
            Event::RunResumed { settings }
        };
        self.append(event)?.map_err(|reject| format!("a resume is refused: {reject}"))?;
        // What a person changed while nothing ran.
        let wild = !self.world.tame && !self.world.calm;
        if wild && self.world.random.chance(40) {
            self.steer()?;
        }
        Ok(())
    }

    fn raise_limits(&mut self) {
        if self.run.outcome() == Some(Outcome::LimitReached) {
            let limits = &mut self.world.settings.limits;
            limits.max_calls = 1_000;
            limits.max_tokens = None;
            limits.max_cost_usd = None;
            limits.run_timeout_seconds = None;
        }
    }

    /// One effect ends.
    fn finish_one(&mut self) -> Result<(), String> {
        if self.performing.is_empty() {
            return Ok(());
        }
        let index = self.world.random.below(self.performing.len());
        let (key, effect) = self.performing.swap_remove(index);
        self.now += u64::try_from(self.world.random.below(1_500)).unwrap_or(0);
        let (event, absent) = match self.world.perform(&self.run, &effect) {
            Some(event) => (event, false),
            None => (Event::RunWaiting { outcome: World::absence(&effect) }, true),
        };
        // A run that was about to end may have gone on, and end in another way.
        let ends = matches!(effect, Effect::Conclude(_));
        let owed = if ends { self.run.outstanding().contains(&effect) } else { self.run.is_outstanding(&key) };
        if absent {
            self.resting.push(effect.clone());
        }
        let misfit = matches!(&event, Event::GateAnswered { .. });
        match self.append(event)? {
            Ok(()) => {}
            // `all` does not answer a gate that shows one thing: it is asked again.
            Err(Reject::AnswerDoesNotFit(_)) if misfit => self.performing.push((key, effect)),
            Err(reject) if owed => return Err(format!("nothing owed is forgotten: its result is refused: {reject}")),
            Err(_) => {}
        }
        Ok(())
    }

    /// The run owes nothing: it has ended, or waits. True at its very end.
    fn stands_still(&mut self) -> Result<bool, String> {
        if matches!(self.run.stage(), Stage::Concluded(_)) {
            if self.resumes < 4 && self.world.random.chance(50) {
                self.crash()?;
                return Ok(false);
            }
            return Ok(true);
        }
        // Somebody answers from elsewhere, or a process takes it up.
        if self.world.random.chance(50)
            && let Some(effect) = self.resting.pop()
            && let Some(event) = self.world.perform(&self.run, &effect)
        {
            let _ = self.append(event)?;
            return Ok(false);
        }
        self.crash()?;
        Ok(false)
    }

    /// Applies a fact and records it. The inner error is a refusal: the fact is dropped.
    fn append(&mut self, event: Event) -> Result<Result<(), Reject>, String> {
        let n = u64::try_from(self.log.len()).unwrap_or(u64::MAX) + 1;
        let fact = LogEntry { v: VERSION, n, at: self.now, event };
        self.witness.before(&self.run, &fact)?;
        self.tree_witness.before(&self.run, &fact)?;
        let before = if self.world.random.chance(2) { Some(self.run.clone()) } else { None };
        match self.run.apply(&fact) {
            Ok(()) => {
                self.log.push(fact);
                logs::nothing_is_overlooked(&self.run)?;
                why::every_task_says_why(&self.run)?;
                tree_checkers::writers_never_overlap(&self.run)?;
                tree_checkers::subtasks_are_bounded(&self.run)?;
                self.witness.after(&self.run, self.log.last())?;
                Ok(Ok(()))
            }
            Err(reject) => {
                self.rejects += 1;
                logs::a_refusal_changes_nothing(before.as_ref(), &self.run)?;
                Ok(Err(reject))
            }
        }
    }
}
