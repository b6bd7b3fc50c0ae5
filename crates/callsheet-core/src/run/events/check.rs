//! What several events ask of a run before they fit.

use crate::nouns::Slug;
use crate::record::{CallKey, EffectKey};
use crate::run::task::TaskRun;
use crate::run::{Reject, Run};

use super::Checked;

/// Asks a run.
#[derive(Clone, Copy)]
pub(super) struct Check<'a>(pub &'a Run);

pub(super) fn require(holds: bool, reject: impl FnOnce() -> Reject) -> Checked {
    if holds { Ok(()) } else { Err(reject()) }
}

impl<'a> Check<'a> {
    /// The task is in the run.
    pub fn task(self, slug: &Slug) -> Result<&'a TaskRun, Reject> {
        self.0.tasks.get(slug).ok_or_else(|| Reject::UnknownTask(slug.clone()))
    }

    /// The effect is under way.
    pub fn in_flight(self, key: EffectKey) -> Checked {
        if self.0.in_flight.contains(&key) { Ok(()) } else { Err(Reject::NotInFlight(key)) }
    }

    /// The reply is about to be read, and its phase can give this.
    pub fn to_be_read(self, key: &CallKey, fits: bool) -> Checked {
        require(fits && self.0.is_to_be_read(key), || Reject::NotAwaited(key.clone()))
    }
}
