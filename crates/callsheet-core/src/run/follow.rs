//! Follow-ups on ended runs (spec 2.17).

use crate::record::{EffectKey, Entry, Outcome};
use crate::spec::{Phase, Settings};

use super::{Attempts, Reject, Run, Stage};

impl Run {
    /// Takes an ended run up with a new text: all that a resume settles is settled, then a list is asked for. A text whose
    /// list was never accepted gives way to the next one.
    pub(super) fn continued(&mut self, text: &str, settings: &Settings, at: u64) -> Result<(), Reject> {
        let former = match self.stage {
            Stage::Concluded(outcome) => self.without_follow_up().unwrap_or(outcome),
            Stage::Continue => self.before_follow_up.unwrap_or(Outcome::Complete),
            _ => return Err(Reject::NotEnded),
        };
        self.resume(settings, at);
        self.writer_approval = false;
        if self.list_adopted {
            self.before_follow_up = Some(former);
            self.follow_up = Some(text.to_owned());
            self.follow_up_failed = false;
            self.follow = Attempts { busy_ms: self.follow.busy_ms, ..Attempts::default() };
            self.stage = Stage::Continue;
        } else {
            self.entry = Some(Entry::Prompt { prompt: text.to_owned() });
            self.plan = Attempts { busy_ms: self.plan.busy_ms, ..Attempts::default() };
            self.stage = Stage::Prepare;
        }
        Ok(())
    }

    /// Its list is accepted: only now it is a follow-up of the run. Rounds count anew.
    pub(super) fn follow_up_accepted(&mut self) {
        self.follow_ups.extend(self.follow_up.take());
        self.follow_up_failed = false;
        self.before_follow_up = None;
        self.rounds_before = self.rounds;
        self.round = 0;
    }

    /// How a run that rests would have ended without its follow-up that has no list yet; `None`: it has no such follow-up,
    /// or does not rest.
    pub fn without_follow_up(&self) -> Option<Outcome> {
        self.follow_up.as_ref()?;
        match self.stage {
            Stage::Concluded(outcome) => Some(self.before_follow_up.unwrap_or(outcome)),
            Stage::Continue => self.before_follow_up,
            _ => None,
        }
    }

    /// A person takes back a follow-up that has no list yet: the run is again as it ended before it.
    pub(super) fn follow_up_withdrawn(&mut self, outcome: Outcome) -> Result<(), Reject> {
        if self.without_follow_up() != Some(outcome) {
            return Err(Reject::NoFollowUp);
        }
        if self.before_follow_up.is_some() {
            self.message = None;
        }
        self.in_flight.retain(|key| !matches!(key, EffectKey::Ask(call) if call.phase == Phase::Continue));
        self.return_reserves();
        self.follow_up = None;
        self.follow_up_failed = false;
        self.before_follow_up = None;
        self.follow = Attempts { busy_ms: self.follow.busy_ms, ..Attempts::default() };
        self.stage = Stage::Concluded(outcome);
        Ok(())
    }

    /// Whether a follow-up whose list could not be had waits until nothing else is left to do.
    pub fn follow_up_waits(&self) -> bool {
        let failed = match self.stage {
            Stage::Conclude(outcome) | Stage::Concluded(outcome) => failed(outcome),
            _ => false,
        };
        let failed = self.follow_up.is_some() && (self.follow_up_failed || failed);
        failed && (self.has_pending() || self.iteration_due)
    }

    /// List and follow-ups stay as they were (spec 12).
    pub(super) fn continuation_failed(&mut self, tries: u32) {
        self.message = Some(format!("Task list continuation: could not get valid task list after {tries} tries."));
        self.stage = Stage::Conclude(Outcome::IterationFailed);
    }

    /// A list was accepted: no call for one is in progress any more.
    pub(super) fn close_list_calls(&mut self) {
        self.ideal_list_ms = self.ideal_pass_ms().saturating_add(self.list_calls_ms());
        for attempts in [&mut self.plan, &mut self.iterate, &mut self.follow] {
            attempts.close();
            attempts.busy_ms = 0;
        }
    }

    /// Milliseconds of the calls for the next list so far.
    pub(super) fn list_calls_ms(&self) -> u64 {
        [&self.plan, &self.iterate, &self.follow]
            .into_iter()
            .fold(0, |sum, attempts| sum.saturating_add(attempts.busy_ms))
    }
}

/// Whether a call for a list was given up. A person or a limit that ends it only interrupts it.
pub(super) fn failed(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::IterationFailed | Outcome::Unreachable | Outcome::Misconfigured)
}
