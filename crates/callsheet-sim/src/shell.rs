//! A driver without a real world. It starts what is outstanding, finishes it in random order, and records the results
//! with the writer and the store of real drivers.

use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::RunId;
use callsheet_core::record::{EffectKey, Outcome};
use callsheet_core::run::{Effect, Reject, Run, Stage};
use callsheet_core::template::TaskResult;
use callsheet_runtime::driver::RunWriter;
use callsheet_store::MemoryStore;

use crate::books::Books;
use crate::ends;
use crate::faults::Fault;
use crate::logs;
use crate::marks::{Blow, Marks};
use crate::process::{Death, Overtaken};
use crate::slots;
use crate::store::ProcessStore;
use crate::tree_checkers;
use crate::why;
use crate::world::World;

/// The number of events after which everybody behaves.
const WILD_FACTS: u64 = 400;

/// One of this many seeds is a template run. The others run sheets, whose tasks may call templates.
const TREES: u64 = 5;

/// The result of one seed.
pub struct Report {
    /// The log.
    pub log: Vec<LogEntry>,
    /// The run at its end.
    pub run: Run,
    /// The number of events that were rejected.
    pub rejects: u64,
    /// The result, for a task tree.
    pub result: Option<TaskResult>,
    /// The marks that it reached.
    pub marks: Marks,
}

/// A broken promise, with the log up to that point.
#[derive(Debug)]
pub struct Broken {
    /// The name of the checker and what it saw.
    pub promise: String,
    /// The log.
    pub log: Vec<LogEntry>,
}

/// Why a turn did not finish.
pub(crate) enum Stop {
    /// A promise was broken.
    Broken(String),
    /// The process is gone.
    Died(Death),
}

impl From<String> for Stop {
    fn from(promise: String) -> Self {
        Self::Broken(promise)
    }
}

pub(crate) type Turn<T = ()> = Result<T, Stop>;

pub(crate) struct Shell {
    pub world: World,
    pub memory: MemoryStore,
    pub store: Arc<ProcessStore>,
    pub writer: RunWriter,
    /// The contents of the log, as the books saw them.
    pub log: Vec<LogEntry>,
    /// The folded events that are not in the log.
    pub unwritten: Vec<LogEntry>,
    /// The effects that are being performed.
    pub performing: Vec<(EffectKey, Effect)>,
    /// The cancelled effects, whose results may still arrive.
    pub cancelled: Vec<Effect>,
    /// The gates and questions that somebody may answer while the run waits.
    pub resting: Vec<Effect>,
    /// A driver that lost its lock and continues.
    pub overtaken: Option<Overtaken>,
    pub books: Books,
    /// The time of the clock.
    pub now: u64,
    pub resumes: u32,
    pub rejects: u64,
    pub marks: Marks,
    pub fault: Option<Fault>,
}

/// Runs a seed to its end: a sheet, or a task tree.
///
/// # Errors
/// A promise was broken.
pub fn simulate(seed: u64) -> Result<Report, Box<Broken>> {
    simulate_faulty(seed, None)
}

/// Runs a seed with a planted fault.
///
/// # Errors
/// A promise was broken, which is the purpose of the fault.
pub fn simulate_faulty(seed: u64, fault: Option<Fault>) -> Result<Report, Box<Broken>> {
    match seed % TREES {
        0 => of_tree(seed, None, fault),
        _ => live(World::of_sheets(seed), fault),
    }
}

/// Runs a seed's task tree to its end. With an `order`, only the order and crashes are random, and every order must
/// give the same result.
///
/// # Errors
/// A promise was broken.
pub fn simulate_tree(seed: u64, order: Option<u64>) -> Result<Report, Box<Broken>> {
    of_tree(seed, order, None)
}

fn of_tree(seed: u64, order: Option<u64>, fault: Option<Fault>) -> Result<Report, Box<Broken>> {
    let broken = |promise| Box::new(Broken { promise, log: Vec::new() });
    live(World::of_trees(seed, order).map_err(broken)?, fault)
}

/// The run of every simulation.
pub(crate) fn id() -> RunId {
    RunId::new("simulated")
}

fn live(world: World, fault: Option<Fault>) -> Result<Report, Box<Broken>> {
    let memory = MemoryStore::new();
    let store = ProcessStore::new(&memory, fault);
    let opened = RunWriter::open(Arc::clone(&store) as Arc<_>, &id(), Run::new());
    let broken = |promise| Box::new(Broken { promise, log: Vec::new() });
    let writer = opened.map_err(|fault| broken(format!("a new run is opened: {fault}")))?;
    let mut shell = Shell {
        world,
        memory,
        store,
        writer,
        log: Vec::new(),
        unwritten: Vec::new(),
        performing: Vec::new(),
        cancelled: Vec::new(),
        resting: Vec::new(),
        overtaken: None,
        books: Books::default(),
        now: 1_000_000_000,
        resumes: 0,
        rejects: 0,
        marks: Marks::default(),
        fault,
    };
    match shell.live() {
        Ok(()) => {
            let run = shell.writer.run().clone();
            shell.marks.end(&run);
            let result = shell.world.trees.as_ref().and_then(|trees| trees.result(&run));
            Ok(Report { log: shell.log, run, rejects: shell.rejects, result, marks: shell.marks })
        }
        Err(promise) => {
            shell.log.append(&mut shell.unwritten);
            Err(Box::new(Broken { promise, log: shell.log }))
        }
    }
}

impl Shell {
    fn live(&mut self) -> Result<(), String> {
        let mut next = self.begin().map(|()| false);
        loop {
            next = match next {
                Ok(true) => return Ok(()),
                Ok(false) => self.turn(),
                Err(Stop::Broken(promise)) => return Err(promise),
                Err(Stop::Died(death)) => self.revive(death).map(|()| false),
            };
        }
    }

    fn begin(&mut self) -> Turn {
        for event in self.world.begin() {
            self.append(event)?.map_err(|reject| format!("the first facts are refused: {reject}"))?;
        }
        self.write()
    }

    /// Makes one turn. Returns true at the end of the run.
    fn turn(&mut self) -> Turn<bool> {
        self.world.tame = self.writer.run().last_fact() > WILD_FACTS || self.resumes > 5;
        logs::every_run_terminates(&self.log)?;
        slots::jobs_are_never_exceeded(self.writer.run(), self.books.settings())?;
        self.tell_of_limits()?;
        let outstanding = self.writer.run().outstanding();
        self.drop_vanished(&outstanding);
        if outstanding.is_empty() && self.performing.is_empty() {
            return self.rest();
        }
        self.start(&outstanding)?;
        self.disturb()?;
        self.finish_one()?;
        Ok(false)
    }

    /// Handles a run with nothing outstanding, which has ended or waits. Returns true at the end of the run.
    fn rest(&mut self) -> Turn<bool> {
        let run = self.writer.run();
        if run.outcome().is_none() && run.held_by_edit().is_some() {
            let waiting = events::RunWaiting { outcome: Outcome::InputRequired }.into();
            self.append(waiting)?.map_err(|reject| format!("a run that is held cannot wait: {reject}"))?;
            return Ok(false);
        }
        self.write()?;
        let run = self.writer.run();
        ends::nothing_outstanding_is_forgotten(run)?;
        if let Some(trees) = &self.world.trees {
            tree_checkers::the_result_fits_the_outcome(run, trees.result(run).as_ref())?;
        }
        if !self.stands_still()? {
            return Ok(false);
        }
        self.the_log_is_what_was_recorded(false)?;
        self.replay_equals_live()?;
        Ok(true)
    }

    /// Records limits that are nearly used up, as a driver does.
    fn tell_of_limits(&mut self) -> Turn {
        for near in self.writer.run().limits_near() {
            let limit = near.name.to_owned();
            let _ = self.append(events::LimitNear { task: near.task, limit, used: near.used, max: near.max }.into())?;
        }
        Ok(())
    }

    /// Cancels effects that left the list. Their results may still arrive, too late.
    fn drop_vanished(&mut self, outstanding: &[Effect]) {
        if self.performing.is_empty() {
            return;
        }
        let keys: Vec<EffectKey> = outstanding.iter().map(Effect::key).collect();
        let (kept, gone): (Vec<_>, Vec<_>) = self.performing.drain(..).partition(|(key, _)| keys.contains(key));
        self.performing = kept;
        self.cancelled.extend(gone.into_iter().map(|(_, effect)| effect));
    }

    /// Starts what is outstanding. Everything that can be seen outside this process must be on disk before.
    fn start(&mut self, outstanding: &[Effect]) -> Turn {
        let mut begun = Vec::new();
        for effect in outstanding {
            let key = effect.key();
            let twice = self.fault == Some(Fault::StartsTwice) && matches!(effect, Effect::AskModel(_));
            if !twice && self.performing.iter().any(|(performed, _)| *performed == key) {
                continue;
            }
            let unasked = self.fault == Some(Fault::AnswersUnasked) && matches!(effect, Effect::AskApproval(_));
            if !is_pure(effect) && !unasked {
                if !self.writer.run().is_outstanding(&key) {
                    // An earlier start in this turn changed the list.
                    continue;
                }
                self.append(effect.started())?
                    .map_err(|reject| format!("a start of something outstanding is refused: {reject}"))?;
            }
            begun.push((key, effect.clone()));
        }
        if self.fault != Some(Fault::ActsFirst) && begun.iter().any(|(_, effect)| !is_pure(effect)) {
            self.write()?;
        }
        self.performing.append(&mut begun);
        Ok(())
    }

    /// Ends one effect.
    fn finish_one(&mut self) -> Turn {
        if self.performing.is_empty() {
            return Ok(());
        }
        let index = self.world.random.below(self.performing.len());
        let (key, effect) = self.performing.swap_remove(index);
        if self.fault == Some(Fault::LosesResult) && matches!(effect, Effect::RunTool { .. }) {
            return Ok(());
        }
        self.now += u64::try_from(self.world.random.below(1_500)).unwrap_or(0);
        logs::nothing_happens_before_it_is_written(&self.unwritten, &key)?;
        let performed = self.world.perform(self.writer.run(), &effect);
        let absent = performed.is_none();
        let event = performed.unwrap_or_else(|| events::RunWaiting { outcome: World::absence(&effect) }.into());
        // A run that was about to end may have continued, to end in another way.
        let run = self.writer.run();
        let ends = matches!(effect, Effect::Conclude(_));
        let outstanding = if ends { run.outstanding().contains(&effect) } else { run.is_outstanding(&key) };
        if absent {
            self.marks.blow(Blow::Absent);
            self.resting.push(effect.clone());
        }
        let misfit = matches!(&event, Event::GateAnswered(_));
        match self.append(event)? {
            Ok(()) => {}
            // `all` does not answer a gate that shows one thing, so the gate asks again.
            Err(Reject::AnswerDoesNotFit(_)) if misfit => self.performing.push((key, effect)),
            Err(reject) if outstanding => {
                let promise = format!("nothing outstanding is forgotten: its result is refused: {reject}");
                return Err(Stop::Broken(promise));
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Handles a run that has ended or waits. Returns true at the end of the run.
    fn stands_still(&mut self) -> Turn<bool> {
        if matches!(self.writer.run().stage(), Stage::Concluded(_)) {
            if self.resumes < 4 && self.world.random.chance(50) {
                return Err(Stop::Died(Death::Ended));
            }
            return Ok(true);
        }
        // Somebody answers from elsewhere, or a process resumes the run.
        if self.world.random.chance(50)
            && let Some(effect) = self.resting.pop()
            && let Some(event) = self.world.perform(self.writer.run(), &effect)
        {
            let _ = self.append(event)?;
            return Ok(false);
        }
        Err(Stop::Died(Death::Ended))
    }

    /// Folds an event for the next [`Shell::write`]. The inner error is a rejection, after which the event is
    /// dropped.
    pub fn append(&mut self, event: Event) -> Turn<Result<(), Reject>> {
        let run = self.writer.run();
        let at = if self.fault == Some(Fault::TrustsClock) { self.now } else { self.now.max(run.now_ms()) };
        let fact = LogEntry::new(run.last_fact() + 1, at, event);
        self.books.before(run, &fact)?;
        let before = if self.world.random.chance(2) { Some(run.clone()) } else { None };
        let event = self.fault.map_or_else(|| fact.event.clone(), |fault| fault.distorted(run, &fact.event));
        match self.writer.note(self.now, event) {
            Ok(()) => {
                let run = self.writer.run();
                self.marks.event(run, &fact.event);
                self.unwritten.push(fact);
                logs::nothing_is_overlooked(run)?;
                why::every_task_says_why(run)?;
                tree_checkers::writers_never_overlap(run)?;
                tree_checkers::subtasks_are_bounded(run)?;
                self.unwritten.last().map_or(Ok(()), |fact| self.books.after(run, fact))?;
                Ok(Ok(()))
            }
            Err(reject) => {
                self.rejects += 1;
                logs::a_refusal_changes_nothing(before.as_ref(), self.writer.run())?;
                Ok(Err(reject))
            }
        }
    }
}

/// Whether code alone performs the effect, so that no start is recorded.
fn is_pure(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::ReadReply(_)
            | Effect::CheckReferences { .. }
            | Effect::MountTemplate { .. }
            | Effect::ReturnTemplate { .. }
            | Effect::MergeByCode { .. }
            | Effect::Evaluate { .. }
    )
}
