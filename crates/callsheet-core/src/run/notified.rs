//! Which limits a run has already reported: those that are nearly used up, and those that affected the run. The log
//! contains these reports, so a resume reports only what is new.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::Slug;

use super::access::LimitUse;
use super::limit::Limit;

/// The limits that were reported so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Notified {
    /// The limits that are nearly used up, by name, with the bound that was reported.
    near: BTreeMap<(Option<Slug>, String), f64>,
    reached: BTreeSet<Limit>,
}

impl Notified {
    /// Notes that a person was told that a limit is nearly used up.
    pub fn note_near(&mut self, task: Option<&Slug>, limit: &str, max: f64) {
        self.near.insert((task.cloned(), limit.to_owned()), max);
    }

    /// Whether a person was told of the limit with its current bound. A raised limit is reported again when the new
    /// bound is near.
    pub fn has_told(&self, one: &LimitUse) -> bool {
        let key = (one.task.clone(), one.name.to_owned());
        self.near.get(&key) == Some(&one.max)
    }

    /// Notes that a limit affected the run.
    pub fn note_reached(&mut self, limit: Limit) {
        self.reached.insert(limit);
    }

    /// The limits that affected the run.
    pub fn reached(&self) -> impl Iterator<Item = Limit> {
        self.reached.iter().copied()
    }
}
