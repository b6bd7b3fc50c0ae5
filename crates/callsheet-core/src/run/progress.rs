//! The progress of the run as a whole: its stage, its round, and the messages about them.

use crate::record::Outcome;

use super::joined::Answer;
use super::limit::Limit;
use super::notified::Notified;
use super::rounds::Rounds;
use super::routing::Routing;
use super::state::Stage;

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Progress {
    stage: Stage,
    /// The outcome of waiting, if nobody can be asked and nothing else is left to do.
    waiting: Option<Outcome>,
    /// The message for a person about the stage or the outcome.
    message: Option<String>,
    /// The limit that left nothing to do.
    ended_by: Option<Limit>,
    /// Whether the run was resumed and had nothing to do.
    idle: bool,
    rounds: Rounds,
    routing: Routing,
    notified: Notified,
    answer: Answer,
}

impl Progress {
    pub fn stage(&self) -> Stage {
        self.stage
    }

    pub fn go(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// The outcome that the run is about to have or already has.
    pub fn ending(&self) -> Option<Outcome> {
        match self.stage {
            Stage::Conclude(outcome) | Stage::Concluded(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub fn is_concluding(&self) -> bool {
        matches!(self.stage, Stage::Conclude(_))
    }

    pub fn has_concluded(&self) -> bool {
        matches!(self.stage, Stage::Concluded(_))
    }

    pub fn conclude(&mut self, outcome: Outcome) {
        self.stage = Stage::Conclude(outcome);
    }

    pub fn conclude_saying(&mut self, outcome: Outcome, message: String) {
        self.message = Some(message);
        self.conclude(outcome);
    }

    /// Concludes a run because a limit leaves nothing to do.
    pub fn conclude_by(&mut self, limit: Limit, message: String) {
        self.ended_by = Some(limit);
        self.conclude_saying(Outcome::LimitReached, message);
    }

    /// Notes that the report is written.
    pub fn concluded(&mut self, outcome: Outcome) {
        self.stage = Stage::Concluded(outcome);
    }

    /// The outcome, or the reason why the run waits.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.stage {
            Stage::Concluded(outcome) => Some(outcome),
            _ => self.waiting,
        }
    }

    pub fn ended_by(&self) -> Option<Limit> {
        self.ended_by
    }

    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub fn say(&mut self, message: String) {
        self.message = Some(message);
    }

    pub fn unsay(&mut self) {
        self.message = None;
    }

    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Makes the run wait, because nobody can be asked.
    pub fn wait(&mut self, outcome: Outcome) {
        self.waiting = Some(outcome);
    }

    /// Stops waiting, because somebody answered or the run has something else to do.
    pub fn stop_waiting(&mut self) {
        self.waiting = None;
    }

    pub fn is_idle(&self) -> bool {
        self.idle
    }

    pub fn set_idle(&mut self, idle: bool) {
        self.idle = idle;
    }

    /// The limits that were reported.
    pub fn notified(&self) -> &Notified {
        &self.notified
    }

    pub fn notified_mut(&mut self) -> &mut Notified {
        &mut self.notified
    }

    /// The answer that was written from several results.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    pub fn answer_mut(&mut self) -> &mut Answer {
        &mut self.answer
    }

    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    pub fn rounds_mut(&mut self) -> &mut Rounds {
        &mut self.rounds
    }

    /// The skills that are chosen before a list is adopted.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    pub fn routing_mut(&mut self) -> &mut Routing {
        &mut self.routing
    }
}
