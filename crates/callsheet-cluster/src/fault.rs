//! Why the cluster did not do something.

use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::StoreFault;

/// Why the cluster did not do something. Each variant says who can fix it.
#[derive(Debug, thiserror::Error)]
pub enum ClusterFault {
    /// The engine does not respond. A retry helps once it runs.
    #[error("the cluster at {address} does not respond: {why}")]
    Unreachable {
        /// Its address.
        address: String,
        /// What the system says.
        why: String,
    },
    /// The cluster does not accept the token. Whoever calls needs the right one.
    #[error(
        "the cluster at {0} does not accept the token; use it in the folder of its project, as the user who started it, or put its \
         token into CALLSHEET_CLUSTER_TOKEN"
    )]
    NoEntry(String),
    /// Whoever answers has not the certificate that was expected. Whoever calls needs its fingerprint.
    #[error(
        "the certificate of the cluster at {address} is not trusted here: {why}; put its fingerprint, which `callsheet cluster up` \
         prints, into CALLSHEET_CLUSTER_CERTIFICATE"
    )]
    Untrusted {
        /// Its address.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The token has not the right to do this. The message says which.
    #[error("{0}")]
    NoRight(String),
    /// The parts of the cluster are not one version of Callsheet. The message says what to do.
    #[error("{0}")]
    OtherVersion(String),
    /// The object store of a worker is not that of the cluster.
    #[error(
        "this is not the object store of the cluster: {0}; name the one of `cluster up` with --store, or leave it out"
    )]
    OtherStore(String),
    /// A newer Callsheet wrote the run.
    #[error("{}", StoreFault::TooNew { found: *found, known: *known })]
    TooNew {
        /// The version of the record.
        found: u32,
        /// The newest version that this process knows.
        known: u32,
    },
    /// Another process has taken over the name of this worker.
    #[error("another worker has taken over the name of this one; give one of them another with --name")]
    Replaced,
    /// No run has this name.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// Another run already has this name.
    #[error("run {0} already exists")]
    RunExists(RunId),
    /// The cluster refused a call. The message says why.
    #[error("{0}")]
    Refused(String),
    /// The engine's program is missing or does not start.
    #[error("{0}")]
    Engine(String),
    /// A folder or a port of this machine cannot be used.
    #[error("can't use {what}: {why}")]
    Machine {
        /// The folder or the address.
        what: String,
        /// What the system says.
        why: String,
    },
}

impl ClusterFault {
    /// Whether a worker that asks again hears the same until a person has done something.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::NoEntry(_) | Self::Untrusted { .. } | Self::OtherVersion(_) | Self::Replaced)
    }
}

impl From<ClusterFault> for StoreFault {
    fn from(fault: ClusterFault) -> Self {
        match fault {
            ClusterFault::NoRun(run) => Self::NoRun(run),
            ClusterFault::TooNew { found, known } => Self::TooNew { found, known },
            ClusterFault::NoRight(words) => Self::Refused(words),
            fault => Self::Remote(fault.to_string()),
        }
    }
}
