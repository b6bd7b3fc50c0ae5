//! `cluster` and `worker`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The actions on clusters.
#[derive(Clone, Debug, Subcommand)]
pub enum ClusterCommand {
    /// Start the engine and a worker for this project on this machine. Runs of it are given with --on.
    Up(ClusterUpArgs),
}

/// `cluster up`.
#[derive(Clone, Debug, Args)]
pub struct ClusterUpArgs {
    /// Port for --on; by default a free one, which stays the same from then on.
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// Program of the engine, if it is not installed where `cluster up` looks.
    #[arg(long, value_name = "FILE")]
    pub engine: Option<PathBuf>,
}

/// `worker`.
#[derive(Clone, Debug, Args)]
pub struct WorkerArgs {
    /// Address of the engine for runs.
    #[arg(long, value_name = "URL")]
    pub engine: String,

    /// Address where the engine takes in workers.
    #[arg(long, value_name = "URL")]
    pub admin: String,

    /// Address where the engine reaches this worker. Use the same one when you start it again.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: SocketAddr,

    /// End when standard input ends.
    #[arg(long, hide = true)]
    pub attached: bool,
}
