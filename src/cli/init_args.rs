//! `init` and `demo`.

use clap::Args;

/// `init`.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// Model: PROVIDER/MODEL, embedded:PATH or scripted:FILE. By default Callsheet looks for one and asks you.
    #[arg(long, short, value_name = "MODEL")]
    pub model: Option<String>,

    /// Ask nothing and take the first model found.
    #[arg(long, short)]
    pub yes: bool,

    /// Change the model in an existing configuration file; the rest of the file stays.
    #[arg(long)]
    pub force: bool,
}

/// `demo`.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Play it as fast as the machine can.
    #[arg(long)]
    pub fast: bool,
}
