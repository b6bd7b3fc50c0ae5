//! Follow-ups on ended runs (spec 2.17): those that have a list, and the one that has none yet.

use crate::record::Outcome;

/// The follow-ups of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FollowUps {
    /// In order.
    accepted: Vec<String>,
    pending: Option<Pending>,
    /// Rounds before the latest accepted one.
    rounds_before: u32,
}

/// A follow-up whose list is not accepted yet.
#[derive(Clone, Debug, PartialEq)]
struct Pending {
    text: String,
    /// No list could be had for it: all else goes before it.
    failed: bool,
    /// How the run had ended when it came; `None` once something else was done since.
    before: Option<Outcome>,
}

impl FollowUps {
    pub fn accepted(&self) -> &[String] {
        &self.accepted
    }

    pub fn rounds_before(&self) -> u32 {
        self.rounds_before
    }

    /// The text of the one that has no list yet.
    pub fn pending(&self) -> Option<&str> {
        self.pending.as_ref().map(|pending| pending.text.as_str())
    }

    /// No list could be had for the one that has none.
    pub fn has_failed(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.failed)
    }

    /// How the run had ended when that came, as long as nothing else was done since.
    pub fn before(&self) -> Option<Outcome> {
        self.pending.as_ref()?.before
    }

    /// Another text, in the place of one that never had a list.
    pub fn ask(&mut self, text: &str, before: Outcome) {
        self.pending = Some(Pending { text: text.to_owned(), failed: false, before: Some(before) });
    }

    /// Its list is accepted: only now it is a follow-up of the run.
    pub fn accept(&mut self, rounds: u32) {
        self.accepted.extend(self.pending.take().map(|pending| pending.text));
        self.rounds_before = rounds;
    }

    /// A person takes it back.
    pub fn withdraw(&mut self) {
        self.pending = None;
    }

    /// No list could be had for it.
    pub fn fail(&mut self) {
        self.pending.iter_mut().for_each(|pending| pending.failed = true);
    }

    /// The run had ended so before it, unless that is known already.
    pub fn note_before(&mut self, ended: Option<Outcome>) {
        self.pending.iter_mut().for_each(|pending| pending.before = pending.before.or(ended));
    }

    /// Something else was done since it came.
    pub fn forget_before(&mut self) {
        self.pending.iter_mut().for_each(|pending| pending.before = None);
    }
}
