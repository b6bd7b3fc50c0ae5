//! Follow-ups on ended runs (spec 2.17).

use crate::nouns::{Phase, Settings};
use crate::record::{CallKey, EffectKey, Outcome};

use super::Run;
use super::next_stage::without_follow_up;
use super::resume::Resume;
use super::state::Stage;
use super::task_change::return_reserves;

/// Applies follow-ups.
pub(super) struct Continuation<'a>(pub &'a mut Run);

impl Continuation<'_> {
    /// Resumes an ended run with a new text. Everything that a resume settles is settled, then a list is requested.
    /// The new text replaces a text whose list was never accepted.
    pub fn ask(&mut self, text: &str, settings: &Settings) {
        let former = match self.0.stage() {
            Stage::Concluded(outcome) => without_follow_up(self.0).unwrap_or(outcome),
            _ => self.0.follow_ups.before().unwrap_or(Outcome::Complete),
        };
        Resume(self.0).resume(settings);
        let run = &mut *self.0;
        run.gates.set_approves_all(false);
        run.progress.routing_mut().forget();
        run.calls.restart_list(Phase::Route);
        if run.sheet.has_list() {
            run.follow_ups.ask(text, former);
            run.calls.restart_list(Phase::Continue);
            run.progress.go(Stage::Continue);
        } else {
            run.setup.ask_instead(text);
            run.calls.restart_list(Phase::Plan);
            run.progress.go(Stage::Prepare);
        }
    }

    /// Takes back a follow-up that has no list yet. The run returns to the outcome that it had before.
    pub fn withdraw(&mut self, outcome: Outcome) {
        let run = &mut *self.0;
        if run.follow_ups.before().is_some() {
            run.progress.unsay();
        }
        let of_follow_up = |call: &CallKey| matches!(call.phase, Phase::Continue | Phase::Route);
        let given_up = run.in_flight.abort(|key| matches!(key, EffectKey::Ask(call) if of_follow_up(call)));
        return_reserves(run, &given_up);
        run.progress.routing_mut().forget_draft();
        run.follow_ups.withdraw();
        run.calls.restart_list(Phase::Continue);
        run.progress.concluded(outcome);
    }
}
