//! `mcp`.

use clap::{Args, Subcommand, ValueEnum};

/// `mcp`.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    /// What the program may do besides starting, watching and stopping runs; by default nothing. Whoever starts Callsheet so lets a
    /// model approve changes and commands.
    #[arg(long, value_name = "RIGHT")]
    pub may: Option<ProgramRight>,
    /// What to do about a login. Without it, a program is served.
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

/// What to do with logins at MCP servers.
#[derive(Clone, Debug, Subcommand)]
pub enum McpCommand {
    /// Log in at an MCP server in your browser, so that runs can call its tools.
    Login(McpLoginArgs),
    /// Revoke your login at an MCP server, and delete it from this machine.
    Logout(McpServerArgs),
}

/// A server.
#[derive(Clone, Debug, Args)]
pub struct McpServerArgs {
    /// Name of the server.
    pub server: String,
}

/// A login.
#[derive(Clone, Debug, Args)]
pub struct McpLoginArgs {
    /// Name of the server.
    pub server: String,
    /// Right to ask for beside the usual ones, as the server names it; several in one word are separated by blanks.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Vec<String>,
}

/// What a program may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramRight {
    /// Approve, deny and answer.
    Approve,
}
