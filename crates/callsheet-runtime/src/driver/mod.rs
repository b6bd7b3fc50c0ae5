//! The driver: performs what a run owes, records what came out, and folds it. It decides nothing; the machine does.
//!
//! One loop owns the run. Quick pure work (reading a reply, checking references, merging by code) happens inside the
//! loop; everything that waits is a task of its own that sends its facts back. A fact is tried on the machine first,
//! so that a late or repeated one is dropped instead of recorded, and is on disk before anything acts on it.

mod ask;
mod assemble;
mod changes;
mod conclude;
mod constraint;
mod conversation;
mod edit;
mod fault;
mod gates;
mod handler;
mod known;
mod models;
mod parts;
mod read;
mod retrieve;
mod retry;
mod session;
mod start;
mod template;
mod told;
mod tools;
mod undo;
mod views;
mod watch;
mod withdraw;
mod work;
mod world;

pub use assemble::PromptRecord;
pub use edit::is_edited;
pub use fault::DriveFault;
pub use gates::{OpenQuestion, open_gates, open_questions, part_fault, view as gate_view};
pub use known::{SheetReading, Snapshots, sheet_text};
pub use models::ModelSource;
pub use session::Session;
pub use start::{EntrySpec, TakeUp, begin, begin_in, check_sheet, reopen, take_in};
pub use undo::{Undone, undo};
pub use watch::Commands;
pub use withdraw::withdraw;
pub use world::{CurrentFile, ModelSet, PinnedSkills, World};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use callsheet_core::evaluate::{Memory, evaluate_with};
use callsheet_core::record::{EffectKey, Event, Outcome};
use callsheet_core::run::{Effect, Run};
use callsheet_format::template::TextFormats;
use edit::Look;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use edit::Look;
use work::{Done, Landed, Work};

/// How often letters of other processes are looked for and the files that people read are brought up to date.
const TICK: Duration = Duration::from_millis(200);

/// Drives a run until it ends or waits for somebody who is not there. Returns how.
///
/// `stop` asks for a clean end: what is in flight is cancelled, the run becomes `cancelled` and can be resumed.
///
/// # Errors
/// If the store refuses, or the machine owes nothing and has not ended, which is a defect.
pub async fn drive(world: Arc<World>, session: Session, stop: CancellationToken) -> Result<Outcome, DriveFault> {
    drive_and_look(world, session, stop).await.map(|(outcome, _)| outcome)
}

/// As [`drive`], and gives the run as it ended, so that nobody has to fold its log again.
///
/// # Errors
/// As [`drive`].
pub async fn drive_and_look(
    world: Arc<World>,
    session: Session,
    stop: CancellationToken,
) -> Result<(Outcome, Run), DriveFault> {
    let mut driver = Driver {
        world,
        session,
        flying: BTreeMap::new(),
        unanswered: BTreeMap::new(),
        memory: Memory::default(),
        tasks: JoinSet::new(),
        stop,
        only_plan: false,
    };
    let ended = driver.run_and_flush().await;
    for flight in driver.flying.values() {
        flight.cancel();
    }
    driver.tasks.shutdown().await;
    let written = driver.session.write_views(&driver.world);
    driver.session.close();
    let ended = ended.and_then(|outcome| written.map(|()| outcome));
    ended.map(|outcome| (outcome, driver.session.into_run()))
}

/// Drives until a list is accepted, and no further. Gives the sheet, or how planning ended with its message.
///
/// # Errors
/// As [`drive`].
pub async fn plan_only(
    world: Arc<World>,
    session: Session,
    stop: CancellationToken,
) -> Result<Result<String, (Outcome, Option<String>)>, DriveFault> {
    let mut driver = Driver {
        world,
        session,
        flying: BTreeMap::new(),
        unanswered: BTreeMap::new(),
        memory: Memory::default(),
        tasks: JoinSet::new(),
        stop,
        only_plan: true,
    };
    let ended = driver.run_and_flush().await;
    driver.tasks.shutdown().await;
    driver.session.write_views(&driver.world)?;
    let run = driver.session.run();
    let planned = match ended? {
        Outcome::Planned => Ok(sheet_text(run)),
        outcome => Err((outcome, run.message().map(str::to_owned))),
    };
    driver.session.close();
    Ok(planned)
}

struct Driver {
    world: Arc<World>,
    session: Session,
    flying: BTreeMap<EffectKey, CancellationToken>,
    /// Gates and questions that were put to somebody who is not there, with the outcome they lead to.
    unanswered: BTreeMap<EffectKey, Outcome>,
    /// What evaluations read of the record.
    memory: Memory,
    tasks: JoinSet<Done>,
    stop: CancellationToken,
    only_plan: bool,
}

impl Driver {
    /// What was noted when a fault ended the drive did happen, and belongs into the log.
    async fn run_and_flush(&mut self) -> Result<Outcome, DriveFault> {
        let ended = self.run().await;
        let flushed = self.session.flush(&self.world);
        ended.and_then(|outcome| flushed.map(|()| outcome))
    }

    async fn run(&mut self) -> Result<Outcome, DriveFault> {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut asked_to_stop = false;
        loop {
            if self.stop.is_cancelled() && !asked_to_stop {
                asked_to_stop = true;
                self.session.record(&self.world, vec![Event::CancelRequested])?;
            }
            let looked = self.start_what_is_owed()?;
            if self.flying.is_empty() && looked != Look::Unsettled {
                if self.tell_that_nobody_answers()? {
                    continue;
                }
                return match self.session.run().outcome() {
                    Some(outcome) => Ok(outcome),
                    None => Err(DriveFault::Stalled { facts: self.session.facts() }),
                };
            }
            let stop = self.stop.clone();
            tokio::select! {
                // One at a time: what follows from the first is started before the second is looked at, so that calls
                // that ended together do not wait for one another.
                Some(done) = self.tasks.join_next() => self.land(done)?,
                () = stop.cancelled(), if !asked_to_stop => {}
                _ = ticks.tick() => {
                    self.session.settle_edit(&self.world);
                    // Answers are given to the list as it was edited before.
                    if self.take_edit()? != Look::Unsettled {
                        gates::read_letters(&mut self.session, &self.world)?;
                    }
                    self.session.write_views_beside(&self.world)?;
                }
            }
        }
    }

    /// Performs quick effects until only waiting ones are left, then starts those that are not in flight. All facts on
    /// the way, from the result that came in to the starts, go into one transaction before anything is started. An edit of
    /// the sheet comes before all of it; gives what the last look at it came to.
    fn start_what_is_owed(&mut self) -> Result<Look, DriveFault> {
        loop {
            let near = told::limits_near(self.session.run());
            self.session.note(&self.world, near);
            let owed = self.session.run().outstanding();
            self.cancel_what_is_no_longer_owed(&owed);
            match self.take_edit()? {
                Look::Nothing => {}
                Look::Taken => continue,
                Look::Unsettled => {
                    self.session.flush(&self.world)?;
                    return Ok(Look::Unsettled);
                }
            }
            let mut quick = false;
            for effect in &owed {
                if let Some(events) = self.perform_quick(effect)? {
                    quick |= self.session.note(&self.world, events) > 0;
                }
            }
            if quick {
                continue;
            }
            let begun = |key: &EffectKey| self.flying.contains_key(key) || self.unanswered.contains_key(key);
            let fresh: Vec<Effect> =
                owed.into_iter().filter(|effect| !work::is_quick(effect) && !begun(&effect.key())).collect();
            let fresh = self.one_writer(fresh);
            if fresh.is_empty() {
                self.session.flush(&self.world)?;
                return Ok(Look::Nothing);
            }
            let prompts = told::prompts_used(&self.world, self.session.run(), &fresh);
            let started = fresh.iter().map(|effect| Event::Started { effect: effect.key() });
            let started = prompts.into_iter().chain(started).collect();
            self.session.record(&self.world, started)?;
            if fresh.iter().any(|effect| matches!(effect, Effect::AskApproval(_) | Effect::AskPerson { .. })) {
                // Whoever is asked may look at the files first.
                self.session.write_views(&self.world)?;
            }
            for effect in fresh {
                self.launch(effect);
            }
        }
    }

    /// Of effects to start those that may start now: one process or apply goes on at a time (spec "Templates" 8).
    fn one_writer(&self, fresh: Vec<Effect>) -> Vec<Effect> {
        let run = self.session.run();
        let mut writes = self.flying.keys().any(|key| run.writes(key));
        let may_start = |effect: &Effect| !run.writes(&effect.key()) || !std::mem::replace(&mut writes, true);
        fresh.into_iter().filter(may_start).collect()
    }

    /// Takes an edit of the sheet, before anything starts (spec 2.18).
    fn take_edit(&mut self) -> Result<Look, DriveFault> {
        if self.only_plan { Ok(Look::Nothing) } else { self.session.take_settled_edit(&self.world) }
    }

    /// A person may have changed the list, or asked to stop: work nobody owes any more ends.
    fn cancel_what_is_no_longer_owed(&mut self, owed: &[Effect]) {
        let keys: Vec<EffectKey> = owed.iter().map(Effect::key).collect();
        self.unanswered.retain(|key, _| keys.contains(key));
        for (key, flight) in &self.flying {
            if !keys.contains(key) {
                flight.cancel();
            }
        }
    }

    /// Everything else has come to rest and gates or questions are left that nobody answers: the run waits. True if that was recorded.
    fn tell_that_nobody_answers(&mut self) -> Result<bool, DriveFault> {
        if self.session.run().outcome().is_some() {
            return Ok(false);
        }
        let Some(outcome) = self.unanswered.values().copied().min() else { return Ok(false) };
        self.unanswered.clear();
        self.session.write_views(&self.world)?;
        Ok(self.session.record(&self.world, vec![Event::RunWaiting { outcome }])? > 0)
    }

    fn perform_quick(&mut self, effect: &Effect) -> Result<Option<Vec<Event>>, DriveFault> {
        if matches!(effect, Effect::Conclude(_)) {
            // The end of a run is its last fact.
            self.session.write_views(&self.world)?;
        }
        let run = self.session.run();
        Ok(match effect {
            Effect::ReadReply(asked) => Some(read::read_reply(&self.world, run, asked)?),
            Effect::CheckReferences { task, n, stage } => {
                Some(vec![read::check_references(&self.world, run, task, *n, *stage)?])
            }
            Effect::Evaluate { task, n, moment } => {
                let values = |id: &callsheet_core::spec::BlobId| self.world.store.blob(id).ok();
                let evaluated = evaluate_with(run, task, *moment, &values, &TextFormats, &mut self.memory);
                let evaluation = evaluated.map_err(DriveFault::Defect)?;
                for bytes in evaluation.blobs {
                    self.world.store.stage_blob(bytes);
                }
                Some(vec![Event::Evaluated { task: task.clone(), n: *n, step: evaluation.step }])
            }
            Effect::MountTemplate { task, run: exec, call } => {
                Some(vec![template::mount(&self.world, run, task, exec, call)?])
            }
            Effect::ReturnTemplate { task, run: exec, call } => {
                Some(vec![template::returned(&self.world, run, task, exec, call)?])
            }
            Effect::MergeByCode { task, n } => Some(vec![read::merge_by_code(&self.world, run, task, *n)?]),
            Effect::Conclude(outcome) => Some(vec![conclude::conclude(&self.world, run, *outcome)?]),
            _ => None,
        })
    }

    /// Starts an effect whose start is on disk.
    fn launch(&mut self, effect: Effect) {
        let key = effect.key();
        let cancel = CancellationToken::new();
        self.flying.insert(key.clone(), cancel.clone());
        let work = Work { world: Arc::clone(&self.world), cancel };
        let future = work.perform(effect, self.session.run());
        self.tasks.spawn(async move {
            let result = future.await;
            Done { key, result }
        });
    }

    fn land(&mut self, done: Result<Done, tokio::task::JoinError>) -> Result<(), DriveFault> {
        let done = done.map_err(|error| DriveFault::Defect(format!("a unit of work crashed: {error}")))?;
        self.flying.remove(&done.key);
        match done.result? {
            Landed::Facts(events) => {
                // A late result of work that nobody owes any more is dropped.
                if self.session.run().is_outstanding(&done.key) {
                    // Recorded with what follows from them, before the next effect is started or awaited.
                    self.session.note(&self.world, events);
                }
            }
            // The gate is still owed and asks again, unless the edit closed it.
            Landed::Edited => {
                self.session.take_edit(&self.world)?;
            }
            Landed::Nobody(outcome) => {
                self.unanswered.insert(done.key, outcome);
            }
        }
        Ok(())
    }
}
