//! Why a model stopped.

use serde::{Deserialize, Serialize};

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    #[default]
    End,
    /// At its length limit.
    Length,
    /// Where a token budget ended (spec "Templates" 9).
    Budget,
    /// To have tools called.
    Tools,
    /// The provider filtered it.
    Filtered,
    /// The model, or its provider, declined to go on.
    Refused,
    /// It only repeated itself, and was stopped.
    Repeated,
}

impl StopReason {
    /// The reply was cut.
    pub fn is_cut(self) -> bool {
        matches!(self, Self::Length | Self::Budget | Self::Repeated)
    }

    /// The reply was withheld: what there is of it is no answer.
    pub fn is_withheld(self) -> bool {
        matches!(self, Self::Filtered | Self::Refused)
    }
}
