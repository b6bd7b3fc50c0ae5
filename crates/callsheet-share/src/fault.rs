//! Why a file was refused, or not written.

use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::StoreFault;

/// Why a file was refused, or not written.
#[derive(Debug, thiserror::Error)]
pub enum ShareFault {
    /// The file was not made by `callsheet export`, or its end is missing.
    #[error("this is not a file of `callsheet export`: {0}")]
    Foreign(String),
    /// A newer version of Callsheet made the file.
    #[error("this file has version {found}, but this build reads version {known}")]
    TooNew {
        /// The version of the file.
        found: u32,
        /// The newest version that this build reads.
        known: u32,
    },
    /// A part does not match the manifest, or has an unknown name.
    #[error("the file is damaged or was changed: {0}")]
    Damaged(String),
    /// The file exceeds a size limit.
    #[error("the file is too large: {0}")]
    TooLarge(String),
    /// A text that the record names is missing.
    #[error("the file lacks the text {0}, which the record names")]
    NoText(BlobId),
    /// The record is inconsistent.
    #[error("the record in the file can't be read: {0}")]
    Record(String),
    /// The file was exported with masked keys.
    #[error("keys are masked in this file, so the run can't be resumed from it")]
    Masked,
    /// Another run has this name here, or the run continued here in a different way.
    #[error("run {run} is here already, and differs from event {from} on")]
    Differs {
        /// The run.
        run: RunId,
        /// The first event that differs.
        from: u64,
    },
    /// A key or a passphrase is wrong.
    #[error("{0}")]
    Key(String),
    /// A signature is invalid.
    #[error("the signature is invalid: the file was changed after it was signed")]
    Signature,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}
