//! Conformance suites: what every adapter of a port must do, checked in the same way for each. A check that cannot run
//! is reported by name, never silently skipped.

#[allow(clippy::unwrap_used, reason = "test code that adapters of the index run")]
pub mod index;
mod model;
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code that adapters of the outline port run"
)]
pub mod outline;
mod requests;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code that adapters of the store run")]
pub mod store;
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test code that adapters of the tool port run"
)]
pub mod tool;

use serde::Serialize;

pub use model::{Scene, Subject, check_model};
pub use requests::story_request;

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// As demanded.
    Passed,
    /// The check could not run.
    Skipped {
        /// Why it could not run.
        reason: String,
    },
    /// Not as demanded.
    Failed {
        /// What was seen.
        message: String,
    },
}

/// One check and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub check: &'static str,
    /// How it came out.
    pub outcome: CheckOutcome,
}

impl Finding {
    /// One line: the check and its result.
    pub fn line(&self) -> String {
        match &self.outcome {
            CheckOutcome::Passed => format!("passed  {}", self.check),
            CheckOutcome::Skipped { reason } => format!("skipped {}: {reason}", self.check),
            CheckOutcome::Failed { message } => format!("FAILED  {}: {message}", self.check),
        }
    }
}
