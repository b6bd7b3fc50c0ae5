//! Follow-ups on ended runs (spec 2.17): those whose list is accepted, and the pending one.

use crate::record::Outcome;

/// The follow-ups of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FollowUps {
    /// The accepted follow-ups, in order.
    accepted: Vec<String>,
    pending: Option<Pending>,
    /// The number of rounds before the latest accepted follow-up.
    rounds_before: u32,
}

/// A follow-up whose list is not accepted yet.
#[derive(Clone, Debug, PartialEq)]
struct Pending {
    text: String,
    /// Whether no list could be made for it. It then waits until nothing else is left to do.
    failed: bool,
    /// The outcome of the run before the follow-up. `None` if the run has done something else since.
    before: Option<Outcome>,
}

impl FollowUps {
    pub fn accepted(&self) -> &[String] {
        &self.accepted
    }

    pub fn rounds_before(&self) -> u32 {
        self.rounds_before
    }

    /// The text of the pending follow-up.
    pub fn pending(&self) -> Option<&str> {
        self.pending.as_ref().map(|pending| pending.text.as_str())
    }

    /// Whether no list could be made for the pending follow-up.
    pub fn has_failed(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.failed)
    }

    /// The outcome of the run before the pending follow-up, if the run has done nothing else since.
    pub fn before(&self) -> Option<Outcome> {
        self.pending.as_ref()?.before
    }

    /// Replaces the pending follow-up.
    pub fn ask(&mut self, text: &str, before: Outcome) {
        self.pending = Some(Pending { text: text.to_owned(), failed: false, before: Some(before) });
    }

    /// Accepts the pending follow-up, because its list is accepted. Only now is it a follow-up of the run.
    pub fn accept(&mut self, rounds: u32) {
        self.accepted.extend(self.pending.take().map(|pending| pending.text));
        self.rounds_before = rounds;
    }

    /// Withdraws the pending follow-up.
    pub fn withdraw(&mut self) {
        self.pending = None;
    }

    /// Notes that no list could be made for the pending follow-up.
    pub fn fail(&mut self) {
        self.pending.iter_mut().for_each(|pending| pending.failed = true);
    }

    /// Notes the outcome of the run before the pending follow-up, unless it is already known.
    pub fn note_before(&mut self, ended: Option<Outcome>) {
        self.pending.iter_mut().for_each(|pending| pending.before = pending.before.or(ended));
    }

    /// Notes that the run has done something else since the follow-up.
    pub fn forget_before(&mut self) {
        self.pending.iter_mut().for_each(|pending| pending.before = None);
    }
}
