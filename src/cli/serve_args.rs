//! `serve`.

use clap::{Args, Subcommand, ValueEnum};

/// `serve`.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ServeArgs {
    /// The action; by default the page and the interface for programs are served.
    #[command(subcommand)]
    pub command: Option<ServeCommand>,

    /// Port on this machine; by default a free one.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
}

/// The actions on what is served.
#[derive(Clone, Debug, Subcommand)]
pub enum ServeCommand {
    /// List the tokens of programs that may use the HTTP interface for this project, make one, or revoke one.
    Tokens(TokensArgs),
}

/// `serve tokens`.
#[derive(Clone, Debug, Args)]
pub struct TokensArgs {
    /// The action; by default all tokens of this project are listed.
    #[command(subcommand)]
    pub command: Option<TokensCommand>,
}

/// The actions on tokens.
#[derive(Clone, Debug, Subcommand)]
pub enum TokensCommand {
    /// Make a token for a program and print it. Callsheet keeps only its hash, so it is printed only now.
    Add(TokensAddArgs),
    /// Revoke the token of a program.
    Revoke(TokensRevokeArgs),
}

/// `serve tokens add`.
#[derive(Clone, Debug, Args)]
pub struct TokensAddArgs {
    /// Name of the program: a-z, 0-9 and `-`. The record names it where the program approves.
    #[arg(value_name = "NAME", value_parser = client_name)]
    pub name: String,

    /// What the program may do. Each right includes those before it.
    #[arg(long, value_name = "RIGHT", value_enum, default_value_t = TokenRight::Look)]
    pub may: TokenRight,
}

/// `serve tokens revoke`.
#[derive(Clone, Debug, Args)]
pub struct TokensRevokeArgs {
    /// Names of programs, as `serve tokens` lists them.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
}

/// What a program with a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TokenRight {
    /// See runs.
    Look,
    /// Also start, resume, retry and cancel runs.
    Steer,
    /// Also approve, deny and answer.
    Approve,
}

fn client_name(name: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
        return Err("a name has 1 to 40 of the characters a-z, 0-9 and -".to_owned());
    }
    Ok(name.to_owned())
}
