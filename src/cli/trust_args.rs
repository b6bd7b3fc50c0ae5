//! Flags of `trust`.

use clap::Args;

/// `trust`.
#[derive(Clone, Debug, Args)]
pub struct TrustArgs {
    /// Take the trust back.
    #[arg(long)]
    pub revoke: bool,
    /// Trust what is listed without being asked.
    #[arg(long, short, conflicts_with = "revoke")]
    pub yes: bool,
}
