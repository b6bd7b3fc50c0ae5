//! `tools`.

use clap::{Args, Subcommand};

/// `tools`.
#[derive(Clone, Debug, Args)]
pub struct ToolsArgs {
    /// What to do; by default the confirmed tools are listed.
    #[command(subcommand)]
    pub command: Option<ToolsCommand>,
}

/// What is done with tools of servers.
#[derive(Clone, Debug, Subcommand)]
pub enum ToolsCommand {
    /// Start servers, show the tools that they offer, and confirm them in their current form.
    Confirm(ToolsConfirmArgs),
    /// Take the confirmation of all tools of a server back.
    Revoke(ToolsRevokeArgs),
}

/// `tools confirm`.
#[derive(Clone, Debug, Args)]
pub struct ToolsConfirmArgs {
    /// Names of servers; by default all.
    #[arg(value_name = "SERVER")]
    pub servers: Vec<String>,

    /// Confirm without asking.
    #[arg(long, short)]
    pub yes: bool,
}

/// `tools revoke`.
#[derive(Clone, Debug, Args)]
pub struct ToolsRevokeArgs {
    /// Names of servers.
    #[arg(value_name = "SERVER", required = true)]
    pub servers: Vec<String>,
}
