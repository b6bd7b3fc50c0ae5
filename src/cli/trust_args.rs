//! Flags of `trust`.

use clap::Args;

/// `trust`.
#[derive(Clone, Debug, Args)]
pub struct TrustArgs {
    /// Revoke the trust.
    #[arg(long)]
    pub revoke: bool,
    /// Trust everything listed without asking.
    #[arg(long, short, conflicts_with = "revoke")]
    pub yes: bool,
}
