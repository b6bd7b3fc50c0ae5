//! What the time between two log entries counts as.

use crate::record::{EffectKey, Outcome};

use super::Run;
use super::clock::Spell;

/// Of the time from the last entry on; `begins`: the entry that ends it begins the work of a process.
pub(super) fn spell(run: &Run, begins: bool) -> Spell {
    let outcome = run.progress.outcome();
    let waits = matches!(outcome, Some(Outcome::ApprovalRequired | Outcome::InputRequired));
    let asks = |key: &EffectKey| matches!(key, EffectKey::Gate(_) | EffectKey::Question { .. });
    let mut flights = run.flights.iter().peekable();
    if run.clock.last_entry() == 0 || (begins || outcome.is_some()) && !waits {
        Spell::Stopped
    } else if waits {
        Spell::You
    } else if run.flights.iter().any(|key| matches!(key, EffectKey::Ask(_))) {
        Spell::Models
    } else if flights.peek().is_some() && flights.all(asks) {
        Spell::You
    } else {
        Spell::Working
    }
}
