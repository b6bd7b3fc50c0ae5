//! Why a call has no prompt.

use crate::ports::ModelFault;

/// Why there is no prompt.
pub(crate) enum PromptFault {
    /// Treated as if the model had refused it.
    Model(ModelFault),
    /// It has more tokens than it may have.
    TooLarge(u32, u32),
    /// Its tokens, and the tokens that the budgets leave for it and its reply.
    OverBudget(u64, u64),
    /// Its cost in US dollars without a reply, and what the cost limits leave.
    OverCost(f64, f64),
    /// A reference does not hold. The text is the issue.
    Reference(String),
}

impl From<ModelFault> for PromptFault {
    fn from(fault: ModelFault) -> Self {
        Self::Model(fault)
    }
}
