//! Checks that several events share.

use crate::nouns::Slug;
use crate::record::{CallKey, EffectKey};
use crate::run::task::TaskRun;
use crate::run::{Reject, Run};

use super::Checked;

/// Checks against a run.
#[derive(Clone, Copy)]
pub(super) struct Check<'a>(pub &'a Run);

pub(super) fn require(holds: bool, reject: impl FnOnce() -> Reject) -> Checked {
    if holds { Ok(()) } else { Err(reject()) }
}

impl<'a> Check<'a> {
    /// Checks that the run has the task.
    pub fn task(self, slug: &Slug) -> Result<&'a TaskRun, Reject> {
        self.0.tasks.get(slug).ok_or_else(|| Reject::UnknownTask(slug.clone()))
    }

    /// Checks that the effect is in flight.
    pub fn in_flight(self, key: EffectKey) -> Checked {
        if self.0.in_flight.contains(&key) { Ok(()) } else { Err(Reject::NotInFlight(key)) }
    }

    /// Checks that the reply is about to be read and that `fits` says its phase can give this.
    pub fn to_be_read(self, key: &CallKey, fits: bool) -> Checked {
        require(fits && self.0.is_to_be_read(key), || Reject::NotAwaited(key.clone()))
    }
}
