//! `cluster` and `worker`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The actions on clusters.
#[derive(Clone, Debug, Subcommand)]
pub enum ClusterCommand {
    /// Start the engine and workers for this project on this machine. Runs of it are given with --on.
    Up(ClusterUpArgs),
    /// List the workers of this project's cluster, or of the one that --on names.
    Workers,
    /// Print the token for workers on other machines. It lets nobody see or decide anything but the work that it gets.
    Token {
        /// Print the one for workers that also run commands, whose changes are made in the project.
        #[arg(long)]
        commands: bool,
    },
    /// Fold runs for the engine and hand their tasks to workers. `cluster up` starts this.
    #[command(hide = true)]
    Dispatch,
}

/// `cluster up`.
#[derive(Clone, Debug, Args)]
pub struct ClusterUpArgs {
    /// Port for --on; by default a free one, which stays the same from then on.
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// Address of this machine at which other machines reach the cluster; by default only this machine does.
    #[arg(long, value_name = "IP")]
    pub listen: Option<IpAddr>,

    /// Certificate for that address, in PEM; by default one that the cluster makes, which others know by its fingerprint.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Key of that certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Number of workers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub workers: u32,

    /// Number of processes of the engine. With 3, runs continue when one of them is lost. It is chosen once.
    #[arg(long, value_name = "N", value_parser = nodes)]
    pub nodes: Option<u32>,

    /// Object store, s3://BUCKET/PREFIX or file:///FOLDER, in which texts of runs are kept beyond this machine; workers that name it
    /// too read and write there. Keys are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,

    /// Program of the engine, if it is not installed where `cluster up` looks.
    #[arg(long, value_name = "FILE")]
    pub engine: Option<PathBuf>,
}

/// A number of nodes of which a majority is left when one is lost.
fn nodes(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(nodes @ (1 | 3 | 5)) => Ok(nodes),
        _ => Err("1, 3 or 5".to_owned()),
    }
}

/// `worker`.
#[derive(Clone, Debug, Args)]
pub struct WorkerArgs {
    /// Address of the cluster.
    #[arg(long, value_name = "URL")]
    pub at: String,

    /// Name of this worker. A new worker takes over the name of an earlier one.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Ask only models of these providers; by default of all whose key is set here.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub providers: Option<Vec<String>>,

    /// Run only these tools; by default all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,

    /// Object store of the cluster, for a worker on another machine; by default it asks the dispatcher for everything.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,

    /// Change no files of the project.
    #[arg(long)]
    pub no_changes: bool,

    /// Number of tasks at the same time.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub at_once: u32,

    /// End when standard input ends.
    #[arg(long, hide = true)]
    pub attached: bool,
}
