//! `grants`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

/// `grants`.
#[derive(Clone, Debug, Args)]
pub struct GrantsArgs {
    /// What to do; by default all grants are listed.
    #[command(subcommand)]
    pub command: Option<GrantsCommand>,
}

/// The actions on grants.
#[derive(Clone, Debug, Subcommand)]
pub enum GrantsCommand {
    /// Allow tasks something more, in this project, until you revoke it.
    Add(GrantsAddArgs),
    /// Revoke a grant.
    Revoke(GrantsRevokeArgs),
}

/// `grants add`.
#[derive(Clone, Debug, Args)]
pub struct GrantsAddArgs {
    /// What is allowed.
    #[command(subcommand)]
    pub what: GrantsWhat,

    /// Allow it in all projects.
    #[arg(long, global = true, conflicts_with = "run")]
    pub everywhere: bool,

    /// Allow it only in this run: its name, or a unique prefix of it.
    #[arg(long, global = true, value_name = "RUN")]
    pub run: Option<String>,

    /// Allow it only to this task of the run, with its parts and items.
    #[arg(long, global = true, value_name = "SLUG", requires = "run")]
    pub task: Option<String>,

    /// Allow it for a limited time, such as `30m`, `8h` or `7d`.
    #[arg(long = "for", global = true, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub time: Option<Duration>,
}

/// What can be allowed.
#[derive(Clone, Debug, Subcommand)]
pub enum GrantsWhat {
    /// Hosts that commands may connect to: `crates.io`, `*.npmjs.org`, `crates.io:8443`, `localhost:5432`.
    Host {
        /// Names of hosts.
        #[arg(value_name = "HOST", required = true)]
        names: Vec<String>,
    },
    /// Folders that commands may write to, such as a cache of tools.
    Write {
        /// Folders.
        #[arg(value_name = "DIR", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Folders or files that commands may read.
    Read {
        /// Folders or files.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Variables of your environment that commands see.
    Variable {
        /// Names of variables.
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Protected files or folders of the project that commands may change, such as `.vscode` or `.git/config`. What commands
    /// write there can decide what runs on your machine later.
    Protected {
        /// Files or folders of the project, which need not exist.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Calls of tools of MCP servers that are made without asking you, until the tool changes.
    Tool {
        /// Names of tools, as `callsheet tools` lists them.
        #[arg(value_name = "TOOL", required = true)]
        names: Vec<String>,
    },
    /// The script of the task that --task names, in all items and iterations of the run.
    Script,
    /// Changes of files that are applied without asking you: of files that match these patterns, such as `docs/**/*.md`.
    /// Hidden files and rules for models, such as `AGENTS.md`, always ask.
    Changes {
        /// Patterns of paths below the project; `**` means every file.
        #[arg(value_name = "PATTERN", required = true)]
        patterns: Vec<String>,
    },
    /// Keys of people or machines: what is signed with one of them counts. Such a key approves changes and commands, and
    /// brings in runs.
    #[cfg(feature = "share")]
    Approver {
        /// Keys, as `callsheet key show` prints them.
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
    },
    /// Commands that run without asking you: those that begin with these words. Flags of `add` come before the words.
    Command {
        /// Folder of the project that the commands run in; by default the project.
        #[arg(long, value_name = "DIR", default_value = "", hide_default_value = true)]
        cwd: String,

        /// The words are one line for the shell, and only this line is allowed.
        #[arg(long)]
        shell: bool,

        /// The first words, such as `cargo test`.
        #[arg(value_name = "WORD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// `grants revoke`.
#[derive(Clone, Debug, Args)]
pub struct GrantsRevokeArgs {
    /// Numbers, as `grants` lists them.
    #[arg(value_name = "N", required = true)]
    pub numbers: Vec<u32>,
}
