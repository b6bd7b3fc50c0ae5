//! A run that a durable engine hosts. The engine keeps the log and has one writer for each run. It calls
//! [`HostedRun::land`] with what came back, performs the effects that `land` returns on any worker, and calls it again.
//! Nothing waits inside: what must wait is an effect.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{RepeatClass, RunId, Settings};
use callsheet_core::record::{EffectKey, Outcome};
use callsheet_core::run::{Effect, Run};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::after_tasks::AfterTasks;
use super::needs::{Needs, needs};
use super::reopen::{ResumeKind, goes_on, only_asks, take_over};
use super::session::Session;
use super::{inbox, notified, undo, withdraw};
use crate::changes::Means;
use crate::effects::{EffectResult, Kept, Work, perform, perform_quick};
use crate::fault::{DriveFault, InputFault};
use crate::ports::{Answered, Asked};
use crate::services::{HookPoint, Services};

/// An effect whose start is recorded. The engine must have it performed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The effect.
    pub effect: EffectKey,
    /// The number of the entry that recorded the start. It tells this start from an earlier one of the same effect.
    pub attempt: u64,
    /// Whether the effect must not be performed again if a worker began it and is gone.
    pub once: bool,
    /// What a worker must be able to do.
    pub needs: Needs,
}

/// How an effect ended that was performed elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Returned {
    /// The effect.
    pub effect: EffectKey,
    /// The attempt that [`Begun`] named. The result of an earlier attempt is refused.
    pub attempt: u64,
    /// The events of the result. `None` if a worker began the effect, is gone, and nobody may perform it again.
    pub events: Option<Vec<Event>>,
}

/// What follows from a landing.
#[derive(Debug, Default)]
pub struct Followed {
    /// The effects that began. Their starts are appended to the store.
    pub begun: Vec<Begun>,
    /// What became of what was asked, or why it was not done. `None` if nothing was asked.
    pub answer: Option<Result<Answered, String>>,
}

/// A folded run between two calls of the engine.
pub struct HostedRun {
    session: Session,
    kept: Kept,
    after_tasks: AfterTasks,
    /// How the run had ended or waited when hooks were told last.
    told: Option<Outcome>,
    /// Whether the run is new and waits to be told to go on.
    at_rest: bool,
    /// Whether somebody is about to look at the files.
    shows: bool,
    /// The attempts in flight.
    attempts: BTreeMap<EffectKey, u64>,
}

impl HostedRun {
    /// Folds the log of a run, which is empty for a new run.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn open(services: &Services, id: &RunId) -> Result<Self, DriveFault> {
        let mut session = Session::open_known(Arc::clone(&services.store), id, Run::new())?;
        session.doubt_views();
        let (kept, after_tasks) = (Kept::default(), AfterTasks::of(session.run()));
        let (told, attempts) = (rests_with(session.run()), BTreeMap::new());
        let mut hosted = Self { session, kept, after_tasks, told, at_rest: false, shows: false, attempts };
        let entries = services.store.read(id, 1)?;
        hosted.note_attempts(&entries);
        Ok(hosted)
    }

    /// Folds entries that another process recorded. Those that are folded already are skipped.
    ///
    /// # Errors
    /// An entry does not fit. The run must then be dropped.
    pub fn catch_up(&mut self, entries: Vec<LogEntry>) -> Result<(), DriveFault> {
        let known = self.position();
        let fresh: Vec<LogEntry> = entries.into_iter().filter(|entry| entry.n > known).collect();
        self.session.follow(&fresh)?;
        self.note_attempts(&fresh);
        Ok(())
    }

    fn note_attempts(&mut self, entries: &[LogEntry]) {
        for entry in entries {
            if let Event::Started(events::Started { effect, .. }) = &entry.event {
                self.attempts.insert(effect.clone(), entry.n);
            }
        }
        let run = self.session.run();
        self.attempts.retain(|key, _| run.is_in_flight(key));
    }

    /// The machine.
    pub fn run(&self) -> &Run {
        self.session.run()
    }

    /// The number of the last recorded entry.
    pub fn position(&self) -> u64 {
        self.session.run().last_fact()
    }

    /// The attempts in flight.
    pub fn attempts(&self) -> impl Iterator<Item = u64> {
        self.attempts.values().copied()
    }

    /// Records the first entries of a run, which its client made.
    ///
    /// # Errors
    /// An entry does not fit, or the store refuses.
    pub fn record_first(&mut self, services: &Services, events: Vec<(u64, Event)>) -> Result<(), DriveFault> {
        events.into_iter().try_for_each(|(at, event)| self.session.record_quietly(at, event))?;
        self.session.flush(services)
    }

    /// Makes the run rest until it is told to go on: by a message, or by [`Asked::Reopen`].
    pub fn rest(&mut self) {
        self.at_rest = true;
    }

    /// Whether it rests like that.
    pub fn is_at_rest(&self) -> bool {
        self.at_rest
    }

    fn rests(&self) -> bool {
        self.at_rest || self.run().outcome().is_some()
    }

    /// Records what came back, what was asked and the messages of people, and everything that follows from them without
    /// waiting.
    ///
    /// # Errors
    /// The store refuses. The run is then ahead of the log and must be dropped.
    pub async fn land(
        &mut self,
        services: &Arc<Services>,
        returned: Vec<Returned>,
        asked: Option<Asked>,
    ) -> Result<Followed, DriveFault> {
        for one in returned {
            self.take_back(services, one);
        }
        let answer = asked.map(|asked| self.answer(services, asked)).transpose()?;
        if self.rests() && !services.store.messages(self.session.lock())?.is_empty() {
            self.settle(services);
        }
        if self.at_rest {
            self.session.flush(services)?;
            return Ok(Followed { begun: Vec::new(), answer });
        }
        inbox::read_inbox(&mut self.session, services)?;
        let begun = self.begin_pending(services).await?;
        let shows = std::mem::take(&mut self.shows);
        self.session.note_views(services, shows)?;
        let run = self.session.run();
        self.attempts.retain(|key, _| run.is_in_flight(key));
        Ok(Followed { begun, answer })
    }

    /// Tells people about what is in the log now: by the files of the run, and by hooks about tasks and the run that
    /// ended.
    pub fn show(&mut self, services: &Arc<Services>) {
        self.session.write_noted(services);
        self.after_tasks.look(services, self.session.run());
        let now = rests_with(self.session.run());
        if let Some(outcome) = now.filter(|_| self.told != now) {
            let input = serde_json::json!({ "run": self.run().id(), "outcome": outcome });
            self.after_tasks.then_tell(services, HookPoint::RunEnd, input);
        }
        self.told = now;
    }

    /// Does what was asked. What the run does not allow is an answer, too.
    fn answer(&mut self, services: &Arc<Services>, asked: Asked) -> Result<Result<Answered, String>, DriveFault> {
        let answered = match asked {
            Asked::Reopen { how: ResumeKind::Resume, .. } if !self.rests() => Ok(Answered::default()),
            _ if self.is_working() => return Ok(Err("the run works now; wait for it, or cancel it first".to_owned())),
            Asked::Reopen { how, settings } => self.reopen(services, how, *settings).map(|()| Answered::default()),
            Asked::Undo { tasks } => {
                let entries = services.store.read(&self.session.lock().run, 1)?;
                let tell = |text: &str| services.notice(text);
                let cancel = CancellationToken::new();
                let means =
                    Means { workspace: &services.workspace, store: &*services.store, tell: &tell, cancel: &cancel };
                let files = (&services.files, &services.kept);
                undo::take_back(&mut self.session, &entries, files, tasks.as_ref(), means)
                    .map(|undone| Answered { undone: Some(undone), before: None })
            }
            Asked::Withdraw => withdraw::take_back(&mut self.session, &*services.store, &services.files)
                .map(|before| Answered { undone: None, before }),
        };
        match answered {
            Err(DriveFault::Input(fault)) => Ok(Err(fault.to_string())),
            answered => answered.map(Ok),
        }
    }

    /// Whether something is in flight that no person answers.
    fn is_working(&self) -> bool {
        !self.rests() && only_asks(self.run()).is_none()
    }

    fn reopen(&mut self, services: &Arc<Services>, how: ResumeKind, settings: Settings) -> Result<(), DriveFault> {
        let ended = self.run().outcome();
        let event = goes_on(how, settings)?;
        let mut tried = self.run().clone();
        let entry = LogEntry::new(tried.last_fact() + 1, tried.now_ms(), event.clone());
        tried.apply(&entry).map_err(InputFault::NotResumable)?;
        self.session.note(services, vec![event]);
        self.attempts.clear();
        self.at_rest = false;
        take_over(&mut self.session, services, ended)?;
        if let Some(changed) = notified::prompts_changed(services, self.run()) {
            self.session.note(services, vec![changed]);
        }
        Ok(())
    }

    /// The work of an attempt. It takes its input from the run now, and waits later. `None` if the run does not wait for
    /// this attempt.
    pub fn perform(
        &self,
        services: &Arc<Services>,
        effect: &EffectKey,
        attempt: u64,
        cancel: CancellationToken,
    ) -> Option<impl Future<Output = Result<Vec<Event>, DriveFault>> + Send + use<>> {
        if !self.awaits(effect, attempt) {
            return None;
        }
        let effect = self.run().outstanding().into_iter().find(|pending| pending.has_key(effect))?;
        let turn = services.slots.turn();
        let work = Work { services: Arc::clone(services), cancel, turn };
        let future = perform(work, effect, self.run());
        Some(async move {
            match future.await? {
                EffectResult::Events(events) => Ok(events),
                EffectResult::Unattended(_) => Err(DriveFault::defect("a question to a person was sent to a worker")),
            }
        })
    }

    /// Whether the run waits for the result of this attempt.
    pub fn awaits(&self, effect: &EffectKey, attempt: u64) -> bool {
        self.attempts.get(effect) == Some(&attempt) && self.run().is_outstanding(effect)
    }

    /// Notes a result. A late one is discarded. If it does not end the effect, or a worker is gone that may have performed
    /// it, everything in flight is settled as after a crash of a local run.
    fn take_back(&mut self, services: &Services, Returned { effect, attempt, events }: Returned) {
        if !self.awaits(&effect, attempt) {
            tracing::debug!(?effect, attempt, "late result discarded");
            return;
        }
        if let Some(events) = events {
            self.session.note(services, events);
        }
        if self.run().is_in_flight(&effect) && self.run().is_outstanding(&effect) {
            self.settle(services);
        }
    }

    fn settle(&mut self, services: &Services) {
        let settings = self.run().settings().clone();
        self.session.note(services, vec![events::RunResumed { settings }.into()]);
        self.attempts.clear();
        self.at_rest = false;
    }

    /// Performs quick effects and asks what needs no person until only waiting work is left, and starts that.
    async fn begin_pending(&mut self, services: &Arc<Services>) -> Result<Vec<Begun>, DriveFault> {
        let mut begun = Vec::new();
        loop {
            let near = notified::limits_near(self.run());
            self.session.note(services, near);
            let pending: Vec<Effect> = self.run().to_begin().cloned().collect();
            let (mut progressed, mut waiting) = (false, Vec::new());
            for effect in pending {
                match self.perform_quick(services, &effect)? {
                    Some(events) => progressed |= self.session.note(services, events) > 0,
                    None => waiting.push(effect),
                }
            }
            if progressed {
                continue;
            }
            let fresh = self.one_writer(waiting);
            let prompts = notified::prompts_used(services, self.run(), &fresh);
            self.session.note(services, prompts.into_iter().collect());
            let mut started = false;
            for effect in fresh {
                started |= self.start(services, effect, &mut begun).await?;
            }
            if !started {
                return Ok(begun);
            }
        }
    }

    fn perform_quick(&mut self, services: &Services, effect: &Effect) -> Result<Option<Vec<Event>>, DriveFault> {
        if matches!(effect, Effect::Conclude(_)) {
            // The end of a run is its last fact.
            self.session.note_views(services, true)?;
        }
        perform_quick(services, self.session.run(), effect, &mut self.kept)
    }

    /// Records the start of an effect. An earlier decision may answer a gate at once; otherwise it stays open until a
    /// message answers it. Returns whether the start was accepted.
    async fn start(
        &mut self,
        services: &Arc<Services>,
        effect: Effect,
        begun: &mut Vec<Begun>,
    ) -> Result<bool, DriveFault> {
        if self.session.note(services, vec![effect.started()]) == 0 {
            return Ok(false);
        }
        let (key, attempt) = (effect.key(), self.position());
        self.attempts.insert(key.clone(), attempt);
        if matches!(effect, Effect::AskApproval(_) | Effect::AskPerson { .. }) {
            self.shows = true;
            let turn = services.slots.turn();
            let work = Work { services: Arc::clone(services), cancel: CancellationToken::new(), turn };
            if let EffectResult::Events(events) = perform(work, effect, self.session.run()).await? {
                self.session.note(services, events);
            }
        } else {
            let needs = needs(services, self.run(), &effect);
            begun.push(Begun { once: is_once(self.run(), &effect), effect: key, attempt, needs });
        }
        Ok(true)
    }

    /// The effects that may begin now. Effects that change files begin one at a time.
    fn one_writer(&self, fresh: Vec<Effect>) -> Vec<Effect> {
        let run = self.run();
        let mut writes = self.attempts.keys().any(|key| run.writes(key) && run.is_in_flight(key));
        let may_start = |effect: &Effect| !run.writes(&effect.key()) || !std::mem::replace(&mut writes, true);
        fresh.into_iter().filter(may_start).collect()
    }
}

/// How the run ended, or that it waits for a person.
fn rests_with(run: &Run) -> Option<Outcome> {
    run.outcome().or_else(|| only_asks(run))
}

/// Whether an effect must not be performed again after a worker began it and is gone. An interrupted apply is rolled
/// back first.
fn is_once(run: &Run, effect: &Effect) -> bool {
    match effect {
        Effect::RunTool { call, .. } => run.policy(&call.name).repeat == RepeatClass::Once,
        Effect::ApplyChanges { .. } => true,
        _ => false,
    }
}
