//! Follow-ups on ended runs (spec 2.17).

use crate::record::{Entry, Outcome};
use crate::spec::Settings;

use super::{Attempts, Reject, Run, Stage};

impl Run {
    /// Takes an ended run up with a new text: all that a resume settles is settled, then a list is asked for. A text whose
    /// list was never accepted gives way to the next one.
    pub(super) fn continued(&mut self, text: &str, settings: &Settings, at: u64) -> Result<(), Reject> {
        if !matches!(self.stage, Stage::Concluded(_) | Stage::Continue) {
            return Err(Reject::NotEnded);
        }
        self.resume(settings, at);
        self.writer_approval = false;
        if self.list_adopted {
            self.follow_up = Some(text.to_owned());
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
        self.rounds_before = self.rounds;
        self.round = 0;
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
