//! The driver performs the effects that a run has pending, records their results, and folds them. It decides nothing;
//! the machine does.
//!
//! One loop owns the run. Quick pure work (reading a reply, checking references, merging by code) happens inside the
//! loop. Everything that waits is a separate task that sends its facts back. The loop tries a fact on the machine
//! first, so a late or repeated one is discarded instead of recorded. A fact is on disk before anything acts on it.

mod after_tasks;
mod begin;
mod edits;
mod elsewhere;
mod hosted;
mod inbox;
mod needs;
mod notified;
mod reopen;
mod retry;
mod session;
mod template_files;
mod undo;
mod views;
mod withdraw;
mod writer;

pub use begin::{EntrySpec, begin, begin_in};
pub use elsewhere::{accept_files, differs_here, share_files};
pub use hosted::{Begun, Followed, HostedRun, Returned};
pub use needs::Needs;
pub use reopen::{ResumeKind, apply_edit_if_idle, only_asks, reopen};
pub use session::Session;
pub use template_files::{EditedTree, edited_trees};
pub use undo::{Undone, undo};
pub use withdraw::withdraw;
pub use writer::RunWriter;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{EffectKey, Outcome};
use callsheet_core::run::{Effect, Run, TaskRun};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::branch::{Commits, refuse_elsewhere};
use crate::effects::{Completion, EffectResult, Kept, Work, perform, perform_quick};
use crate::fault::{DriveFault, InputFault};
use crate::services::{HookPoint, Services};
use crate::sheetfile::sheet_text;

use after_tasks::AfterTasks;
use edits::EditCheck;

/// How often the driver looks for messages of other processes and updates the files for people.
const TICK: Duration = Duration::from_millis(200);

/// Results that are recorded together.
const TOGETHER: usize = 8;

/// Drives a run until it ends or waits for somebody who is not there. Returns the outcome and the run in its final
/// state, so that nobody has to fold its log again.
///
/// `stop` asks for a clean end: calls in flight are cancelled, and the run becomes `cancelled` and can be resumed.
///
/// # Errors
/// If the store refuses, or if nothing is pending although the run has not ended, which is a defect.
pub async fn drive(
    services: Arc<Services>,
    session: Session,
    stop: CancellationToken,
) -> Result<(Outcome, Run), DriveFault> {
    let mut driver = Driver::new(services, session, stop, false);
    let ended = driver.run_and_flush().await;
    for flight in driver.in_flight.values() {
        flight.cancel();
    }
    driver.tasks.shutdown().await;
    driver.after_tasks.finish().await;
    if let Ok(outcome) = &ended {
        let input = serde_json::json!({ "run": driver.session.run().id(), "outcome": outcome });
        after_tasks::tell(Arc::clone(&driver.services), HookPoint::RunEnd, input).await;
    }
    driver.services.held_calls.end();
    let ends = driver.services.tools.values().cloned().map(|tool| async move { tool.end().await });
    ends.collect::<JoinSet<()>>().join_all().await;
    driver.services.pages.end().await;
    let written = driver.session.write_views(&driver.services);
    driver.session.close();
    let ended = ended.and_then(|outcome| written.map(|()| outcome));
    ended.map(|outcome| (outcome, driver.session.into_run()))
}

/// Drives until a list is accepted, and no further. Returns the sheet, or how planning ended with its message.
///
/// # Errors
/// As [`drive`].
pub async fn plan_only(
    services: Arc<Services>,
    session: Session,
    stop: CancellationToken,
) -> Result<Result<String, (Outcome, Option<String>)>, DriveFault> {
    let mut driver = Driver::new(services, session, stop, true);
    let ended = driver.run_and_flush().await;
    driver.tasks.shutdown().await;
    driver.session.write_views(&driver.services)?;
    let run = driver.session.run();
    let planned = match ended? {
        Outcome::Planned => Ok(sheet_text(run)),
        outcome => Err((outcome, run.message().map(str::to_owned))),
    };
    driver.session.close();
    Ok(planned)
}

struct Driver {
    services: Arc<Services>,
    session: Session,
    in_flight: BTreeMap<EffectKey, CancellationToken>,
    /// Gates and questions for somebody who is not there, with the outcome that each leads to.
    unanswered: BTreeMap<EffectKey, Outcome>,
    /// How often something in flight had been lost at the last check.
    losses: u64,
    /// Whether everything pending must be checked again, because something that the run has in flight is not being
    /// performed.
    look_at_all: bool,
    kept: Kept,
    tasks: JoinSet<Completion>,
    stop: CancellationToken,
    only_plan: bool,
    after_tasks: AfterTasks,
    commits: Commits,
}

impl Driver {
    fn new(services: Arc<Services>, session: Session, stop: CancellationToken, only_plan: bool) -> Self {
        let after_tasks = AfterTasks::of(session.run());
        Self {
            services,
            session,
            after_tasks,
            commits: Commits::default(),
            in_flight: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            losses: 0,
            look_at_all: true,
            kept: Kept::default(),
            tasks: JoinSet::new(),
            stop,
            only_plan,
        }
    }

    /// Runs, and flushes even after a fault: what was noted did happen and belongs in the log.
    async fn run_and_flush(&mut self) -> Result<Outcome, DriveFault> {
        let ended = self.run().await;
        let flushed = self.session.flush(&self.services);
        ended.and_then(|outcome| flushed.map(|()| outcome))
    }

    async fn run(&mut self) -> Result<Outcome, DriveFault> {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut asked_to_stop = false;
        loop {
            if self.stop.is_cancelled() && !asked_to_stop {
                asked_to_stop = true;
                self.session.record(&self.services, vec![events::CancelRequested {}.into()])?;
            }
            let looked = self.start_pending()?;
            self.after_tasks.look(&self.services, self.session.run());
            if self.in_flight.is_empty() && looked != EditCheck::Unsettled {
                if self.suspend_if_unattended()? {
                    continue;
                }
                return match self.session.run().outcome() {
                    Some(outcome) => Ok(outcome),
                    None => Err(DriveFault::Stalled { entries: self.session.entries() }),
                };
            }
            let stop = self.stop.clone();
            tokio::select! {
                Some(done) = self.tasks.join_next() => self.complete_with_others(done)?,
                () = stop.cancelled(), if !asked_to_stop => {}
                _ = ticks.tick() => {
                    self.session.look_at_sheet(&self.services);
                    // Answers refer to the list as it was after earlier edits.
                    if self.apply_edit()? != EditCheck::Unsettled {
                        inbox::read_inbox(&mut self.session, &self.services)?;
                    }
                    self.session.write_views_beside(&self.services)?;
                }
            }
        }
    }

    /// Performs quick effects until only waiting ones are left, then starts those that are not in flight. All facts on
    /// the way, from the incoming result to the starts, go into one transaction before anything is started. An edit of
    /// the sheet is applied first; returns the result of the last look for one.
    fn start_pending(&mut self) -> Result<EditCheck, DriveFault> {
        loop {
            let near = notified::limits_near(self.session.run());
            self.session.note(&self.services, near);
            self.cancel_stale();
            match self.apply_edit()? {
                EditCheck::Nothing => {}
                EditCheck::Applied => continue,
                EditCheck::Unsettled => {
                    self.session.flush(&self.services)?;
                    return Ok(EditCheck::Unsettled);
                }
            }
            let pending = match std::mem::take(&mut self.look_at_all) {
                true => self.session.run().outstanding(),
                false => self.session.run().to_begin().cloned().collect(),
            };
            let (mut progressed, mut waiting) = (false, Vec::new());
            for effect in pending {
                match self.perform_quick(&effect)? {
                    Some(events) => progressed |= self.session.note(&self.services, events) > 0,
                    None => waiting.push(effect),
                }
            }
            if progressed {
                continue;
            }
            let begun = |key: &EffectKey| self.in_flight.contains_key(key) || self.unanswered.contains_key(key);
            let fresh: Vec<Effect> = waiting.into_iter().filter(|effect| !begun(&effect.key())).collect();
            let fresh = self.one_writer(fresh);
            if fresh.is_empty() {
                self.session.flush(&self.services)?;
                self.commit();
                return Ok(EditCheck::Nothing);
            }
            self.start_all(fresh)?;
        }
    }

    /// Commits the change sets that were recorded, before the next one can change the same files.
    fn commit(&mut self) {
        let tell = |text: &str| self.services.notice(text);
        self.commits.look(&self.services.workspace, &*self.services.store, self.session.run(), &tell);
    }

    /// Starts effects once their starts are on disk.
    fn start_all(&mut self, fresh: Vec<Effect>) -> Result<(), DriveFault> {
        self.stay_on_branch(&fresh)?;
        let prompts = notified::prompts_used(&self.services, self.session.run(), &fresh);
        let started = fresh.iter().map(Effect::started);
        let started = prompts.into_iter().chain(started).collect();
        self.session.record(&self.services, started)?;
        self.commit();
        if fresh.iter().any(|effect| matches!(effect, Effect::AskApproval(_) | Effect::AskPerson { .. })) {
            // Whoever is asked may look at the files first.
            self.session.write_views(&self.services)?;
        }
        for effect in fresh {
            self.start(effect);
        }
        Ok(())
    }

    /// Starts no command and no change while another branch is checked out than the one on which the run works. Nothing
    /// of the command is recorded then, so a resume need not ask whether it was interrupted.
    fn stay_on_branch(&self, fresh: &[Effect]) -> Result<(), DriveFault> {
        let run = self.session.run();
        let Some(branch) = &run.settings().branch else { return Ok(()) };
        let is_process = |task: &Slug| run.task(task).is_some_and(TaskRun::is_process);
        let runs = |effect: &Effect| match effect {
            Effect::RunTool { task, .. } => run.writes(&effect.key()) || is_process(task),
            Effect::TryChanges { .. } | Effect::ApplyChanges { .. } => true,
            _ => false,
        };
        match fresh.iter().any(runs) {
            true => refuse_elsewhere(&self.services.workspace, branch).map_err(|fault| InputFault::from(fault).into()),
            false => Ok(()),
        }
    }

    /// The effects that may begin now. Effects that change files begin one at a time.
    fn one_writer(&self, fresh: Vec<Effect>) -> Vec<Effect> {
        let run = self.session.run();
        let mut writes = self.in_flight.keys().any(|key| run.writes(key));
        let may_start = |effect: &Effect| !run.writes(&effect.key()) || !std::mem::replace(&mut writes, true);
        fresh.into_iter().filter(may_start).collect()
    }

    /// Applies an edit of the sheet, before anything starts (spec 2.18).
    fn apply_edit(&mut self) -> Result<EditCheck, DriveFault> {
        if self.only_plan { Ok(EditCheck::Nothing) } else { self.session.apply_settled_edit(&self.services) }
    }

    /// Cancels effects that are no longer pending, because a person may have changed the list or asked to stop.
    fn cancel_stale(&mut self) {
        let run = self.session.run();
        self.unanswered.retain(|key, _| run.is_outstanding(key));
        if self.losses == run.losses() {
            return;
        }
        self.losses = run.losses();
        for (_, flight) in self.in_flight.iter().filter(|(key, _)| !run.is_outstanding(key)) {
            flight.cancel();
        }
    }

    /// Suspends the run if nothing else is running and the remaining gates or questions have nobody to answer them.
    /// Returns whether that was recorded.
    fn suspend_if_unattended(&mut self) -> Result<bool, DriveFault> {
        if self.session.run().outcome().is_some() {
            return Ok(false);
        }
        // A sheet with errors also waits for a person.
        let held = || self.session.run().held_by_edit().map(|_| Outcome::InputRequired);
        let Some(outcome) = self.unanswered.values().copied().min().or_else(held) else { return Ok(false) };
        self.unanswered.clear();
        self.session.write_views(&self.services)?;
        Ok(self.session.record(&self.services, vec![events::RunWaiting { outcome }.into()])? > 0)
    }

    fn perform_quick(&mut self, effect: &Effect) -> Result<Option<Vec<Event>>, DriveFault> {
        if matches!(effect, Effect::Conclude(_)) {
            // The end of a run is its last fact, and no `resume` looks at a run that has ended.
            self.session.flush(&self.services)?;
            self.commit();
            self.session.write_views(&self.services)?;
        }
        perform_quick(&self.services, self.session.run(), effect, &mut self.kept)
    }

    /// Starts an effect whose start is on disk.
    fn start(&mut self, effect: Effect) {
        let key = effect.key();
        let cancel = CancellationToken::new();
        self.in_flight.insert(key.clone(), cancel.clone());
        let turn = self.services.slots.turn();
        let work = Work { services: Arc::clone(&self.services), cancel, turn };
        let run = self.session.run().id().map(tracing::field::display);
        let task = effect.task().map(tracing::field::display);
        let span = tracing::info_span!("effect", run, kind = effect.name(), task);
        let future = perform(work, effect, self.session.run());
        let logged = async move {
            let begun = Instant::now();
            tracing::debug!("begins");
            let result = future.await;
            let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            match &result {
                Ok(_) => tracing::info!(ms, "ended"),
                Err(fault) => tracing::error!(ms, %fault, "failed"),
            }
            Completion { key, result }
        };
        self.tasks.spawn(logged.instrument(span));
    }

    /// A few results that are there already are recorded together. What follows from them is started before more are read,
    /// so that calls which ended together do not delay one another.
    fn complete_with_others(&mut self, done: Result<Completion, tokio::task::JoinError>) -> Result<(), DriveFault> {
        self.complete(done)?;
        for _ in 1..TOGETHER {
            let Some(done) = self.tasks.try_join_next() else { break };
            self.complete(done)?;
        }
        Ok(())
    }

    fn complete(&mut self, done: Result<Completion, tokio::task::JoinError>) -> Result<(), DriveFault> {
        let done = done.map_err(|error| DriveFault::Defect(format!("a unit of work crashed: {error}")))?;
        self.in_flight.remove(&done.key);
        match done.result? {
            EffectResult::Events(events) => {
                // A late result of an effect that is no longer pending is discarded.
                if self.session.run().is_outstanding(&done.key) {
                    // They are recorded together with what follows from them, before the next effect is started or
                    // awaited.
                    let wanted = events.len().max(1);
                    self.look_at_all |= self.session.note(&self.services, events) < wanted;
                }
            }
            EffectResult::Unattended(outcome) => {
                self.unanswered.insert(done.key, outcome);
            }
        }
        Ok(())
    }
}
