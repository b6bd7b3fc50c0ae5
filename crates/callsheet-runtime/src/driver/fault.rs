//! What ends a drive before its run has ended. The run itself is safe on disk and can be resumed.

use callsheet_core::issue::Issue;
use callsheet_core::run::Reject;

use crate::ports::StoreFault;

/// Why driving stopped.
#[derive(Debug, thiserror::Error)]
pub enum DriveFault {
    /// The store refused: the user's disk or another process. The run can be resumed once it is mended.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// A fact of the log does not fit the machine: a newer or damaged record.
    #[error("fact {n} of the record does not fit: {reject}")]
    Replay {
        /// Number of the fact.
        n: u64,
        /// Why.
        reject: Reject,
    },
    /// What was given to start with is not valid. Nothing was recorded.
    #[error("{0}")]
    Invalid(String),
    /// The sheet to start with has errors. Nothing was recorded.
    #[error("the sheet has errors:\n{}", .0.iter().map(Issue::to_string).collect::<Vec<_>>().join("\n"))]
    GivenSheet(Vec<Issue>),
    /// The edited sheet of the run has errors. Nothing was recorded.
    #[error("the edited sheet has errors:\n{}", .0.join("\n"))]
    Sheet(Vec<String>),
    /// Our own fault: the machine owes nothing and has not ended.
    #[error("the run has nothing left to do but has not ended after {facts} facts; this is a bug")]
    Stalled {
        /// Facts so far.
        facts: u64,
    },
    /// Our own fault.
    #[error("{0}; this is a bug")]
    Defect(String),
}

impl DriveFault {
    pub(super) fn defect(what: impl std::fmt::Display) -> Self {
        Self::Defect(what.to_string())
    }
}
