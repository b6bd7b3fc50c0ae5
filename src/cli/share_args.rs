//! `export`, `import` and `key`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `export`.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// Run name, or a unique prefix of it; by default the newest run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Mask keys, for somebody who only looks at the run. It cannot be resumed from such a file.
    #[arg(long, conflicts_with_all = ["to", "passphrase", "sign"])]
    pub masked: bool,

    /// Encrypt the whole run to a key, `age1…`, as `key show` prints it. Repeatable.
    #[arg(long, value_name = "KEY", conflicts_with = "passphrase")]
    pub to: Vec<String>,

    /// Encrypt the whole run with a passphrase, which is asked for.
    #[arg(long)]
    pub passphrase: bool,

    /// Sign it with your key file, so that somebody who granted your key accepts it.
    #[arg(long, value_name = "FILE")]
    pub sign: Option<PathBuf>,

    /// Write the file although this key variable is not set here. If the run contains the key, so does the file. Repeatable.
    #[arg(long, value_name = "VARIABLE", requires = "masked")]
    pub without_key: Vec<String>,

    /// Output file; by default RUN.zip, or RUN.age if it is encrypted.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
}

/// `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// File of `export`, or of `approve --sign`.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Your key file, if the run was encrypted to your key.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,

    /// Accept a run that nobody signed whose key you granted. If you resume it, its settings, tools and templates apply:
    /// do this only if you know who made it.
    #[arg(long)]
    pub trust: bool,
}

/// `key`.
#[derive(Clone, Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key file. It signs, and opens runs that were encrypted to you. Keep it to yourself.
    New(KeyArgs),
    /// Print the public keys of a key file, which you give to others.
    Show(KeyArgs),
}

/// `key new` and `key show`.
#[derive(Clone, Debug, Args)]
pub struct KeyArgs {
    /// Key file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}
