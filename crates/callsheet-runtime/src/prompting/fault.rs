//! Why a call has no prompt.

use crate::ports::ModelFault;

/// Why there is no prompt.
pub(crate) enum PromptFault {
    /// As if the model had refused it.
    Model(ModelFault),
    /// It has more tokens than it may have.
    TooLarge(u32, u32),
    /// Its tokens, and those that the budgets leave to it and its reply.
    OverBudget(u64, u64),
    /// Its cost in US dollars, without a reply, and what the limits of cost leave.
    OverCost(f64, f64),
    /// A reference does not hold; the issue in words.
    Reference(String),
}

impl From<ModelFault> for PromptFault {
    fn from(fault: ModelFault) -> Self {
        Self::Model(fault)
    }
}
