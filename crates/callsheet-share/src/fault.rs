//! Why a file was refused, or not written.

use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::StoreFault;

/// Why a file was refused, or not written.
#[derive(Debug, thiserror::Error)]
pub enum ShareFault {
    /// It is none of our files, or its end is missing.
    #[error("this is not a file of `callsheet export`: {0}")]
    Foreign(String),
    /// A newer Callsheet made it.
    #[error("this file has version {found}, but this build reads version {known}")]
    TooNew {
        /// Version found.
        found: u32,
        /// Version known.
        known: u32,
    },
    /// A part is not what the list of parts says, or has a name that no part has.
    #[error("the file is damaged or was changed: {0}")]
    Damaged(String),
    /// It is larger than a file may be.
    #[error("the file is too large: {0}")]
    TooLarge(String),
    /// The record of a text is missing.
    #[error("the file lacks the text {0}, which the record names")]
    NoText(BlobId),
    /// The record does not fit together.
    #[error("the record in the file can't be read: {0}")]
    Record(String),
    /// It was exported to look at.
    #[error("keys are masked in this file, so the run can't be resumed from it")]
    Masked,
    /// Another run has this name here, or the run went on here in another way.
    #[error("run {run} is here already, and differs from event {from} on")]
    Differs {
        /// The run.
        run: RunId,
        /// The first event that differs.
        from: u64,
    },
    /// A key or a passphrase does not fit.
    #[error("{0}")]
    Key(String),
    /// A signature is wrong.
    #[error("the signature is wrong: the file was changed after it was signed")]
    Signature,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}
