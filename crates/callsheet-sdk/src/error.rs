//! Why something could not be done.

use callsheet_app::{Kind, Refusal};
use callsheet_core::nouns::RunId;
use callsheet_core::record::Outcome;
use callsheet_runtime::fault::DriveFault;

/// Why a call of this library failed. A run that ends without a result is not an error: [`Finished::outcome`] says how
/// it ended.
///
/// [`Finished::outcome`]: crate::Finished::outcome
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller gave something that cannot be used: a folder that does not exist, a plan with errors, the name of an
    /// unknown run. The same call fails again.
    #[error("{0}")]
    Input(String),
    /// The disk, another process, or a defect of Callsheet. Everything that was recorded is safe.
    #[error("{0}")]
    Failed(String),
    /// Planning ended without a plan, for example because the model could not be reached.
    #[error("there is no plan: {message}")]
    NotPlanned {
        /// The run, which keeps the calls that were made.
        run: RunId,
        /// How it ended.
        outcome: Outcome,
        /// What the run says about it.
        message: String,
    },
}

impl Error {
    pub(crate) fn input(what: &dyn std::fmt::Display) -> Self {
        Self::Input(what.to_string())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal.kind {
            Kind::Usage => Self::Input(refusal.what),
            Kind::Internal | Kind::Incomplete => Self::Failed(refusal.what),
        }
    }
}

impl From<DriveFault> for Error {
    fn from(fault: DriveFault) -> Self {
        match fault {
            DriveFault::Input(fault) => Self::Input(fault.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}
