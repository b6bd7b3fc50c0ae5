//! What becomes of a call that a conversation asks for again.

use serde::{Deserialize, Serialize};

/// Whether a call of a conversation may be made again although an equal one was made before (spec 10.7). The rule is
/// recorded with the turn, so that another one later alters no run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepeatPolicy {
    /// No: an equal earlier call answers it.
    #[default]
    Answer,
    /// Yes, if the nearest equal call that was made had no effect, whatever was answered from it since.
    Remake,
}

impl RepeatPolicy {
    /// For the record, which leaves it out.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
    pub fn is_answer(&self) -> bool {
        *self == Self::Answer
    }
}
