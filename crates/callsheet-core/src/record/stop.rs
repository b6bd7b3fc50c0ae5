//! Why a model stopped.

use serde::{Deserialize, Serialize};

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    #[default]
    End,
    /// It reached its length limit.
    Length,
    /// It reached the end of a token budget (spec "Templates" 9).
    Budget,
    /// It wants to call tools.
    Tools,
    /// The provider filtered it.
    Filtered,
    /// The model, or its provider, refused to continue.
    Refused,
    /// It only repeated itself, and was stopped.
    Repeated,
}

impl StopReason {
    /// Whether the reply was cut.
    pub fn is_cut(self) -> bool {
        matches!(self, Self::Length | Self::Budget | Self::Repeated)
    }

    /// Whether the reply was withheld. Its fragment is not an answer.
    pub fn is_withheld(self) -> bool {
        matches!(self, Self::Filtered | Self::Refused)
    }
}
