//! `mcp`.

use clap::{Args, ValueEnum};

/// `mcp`.
#[derive(Clone, Debug, Args)]
pub struct McpArgs {
    /// What the program may do besides starting, watching and stopping runs; by default nothing. Whoever starts Callsheet so lets a
    /// model approve changes and commands.
    #[arg(long, value_name = "RIGHT")]
    pub may: Option<ProgramRight>,
}

/// What a program may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramRight {
    /// Approve, deny and answer.
    Approve,
}
