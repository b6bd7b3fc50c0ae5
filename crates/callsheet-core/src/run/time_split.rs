//! What the time between two log entries counts as.

use crate::record::{EffectKey, Outcome};

use super::Run;
use super::clock::TimeKind;

/// The kind of the time since the last log entry. `begins` says whether the entry that ends it starts the work of a
/// process.
pub(super) fn counts_as(run: &Run, begins: bool) -> TimeKind {
    let outcome = run.progress.outcome();
    let waits = matches!(outcome, Some(Outcome::ApprovalRequired | Outcome::InputRequired));
    let asks = |key: &EffectKey| matches!(key, EffectKey::Gate(_) | EffectKey::Question { .. });
    let mut in_flight = run.in_flight.iter().peekable();
    if run.clock.last_entry() == 0 || (begins || outcome.is_some()) && !waits {
        TimeKind::Stopped
    } else if waits {
        TimeKind::You
    } else if run.in_flight.iter().any(|key| matches!(key, EffectKey::Ask(_))) {
        TimeKind::Models
    } else if in_flight.peek().is_some() && in_flight.all(asks) {
        TimeKind::You
    } else {
        TimeKind::Working
    }
}
