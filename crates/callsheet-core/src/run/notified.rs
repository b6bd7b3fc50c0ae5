//! What is said once in a run of its limits: which are nearly used up, and which shaped it. The log keeps it, so that a
//! resume says only what is new.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::Slug;

use super::access::LimitUse;
use super::limit::Limit;

/// What was recorded of limits so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Notified {
    /// Limits by name that are nearly used up, with the bound they had.
    near: BTreeMap<(Option<Slug>, String), f64>,
    reached: BTreeSet<Limit>,
}

impl Notified {
    /// A limit is nearly used up, and that was told.
    pub fn note_near(&mut self, task: Option<&Slug>, limit: &str, max: f64) {
        self.near.insert((task.cloned(), limit.to_owned()), max);
    }

    /// Whether it is told with the bound it has. One that was raised since is told again when the new bound is near.
    pub fn has_told(&self, one: &LimitUse) -> bool {
        let key = (one.task.clone(), one.limit.name().to_owned());
        self.near.get(&key) == Some(&one.max)
    }

    /// A limit shaped what is done.
    pub fn note_reached(&mut self, limit: Limit) {
        self.reached.insert(limit);
    }

    /// Limits that shaped the run.
    pub fn reached(&self) -> impl Iterator<Item = Limit> {
        self.reached.iter().copied()
    }
}
