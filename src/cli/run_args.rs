//! `run`.

use std::path::PathBuf;

use clap::Args;

use super::args::WorkArgs;

/// Files that a person has open: a planner may name them without being told of them.
#[derive(Clone, Debug, Default, Args)]
pub struct OpenArgs {
    /// The file you have open, for `current_file`.
    #[arg(long, value_name = "FILE")]
    pub current_file: Option<PathBuf>,

    /// Another file you have open; can be given several times.
    #[arg(long, value_name = "FILE")]
    pub open: Vec<PathBuf>,

    /// Count the ten files that were edited last as open.
    #[arg(long)]
    pub open_recent: bool,
}

/// `run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The request, in quotes or not; `-` reads it from stdin.
    #[arg(value_name = "REQUEST", required_unless_present_any = ["sheet", "template"])]
    pub request: Option<String>,

    /// More words of the request; with `--template` its values, as `template run` takes them.
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,

    /// Run this sheet file instead of planning.
    #[arg(long, value_name = "FILE", conflicts_with = "skill")]
    pub sheet: Option<PathBuf>,

    /// With `--sheet`: only check the file and print every issue with line and column.
    #[arg(long, requires = "sheet")]
    pub check: bool,

    /// Run this template, as `template run` does.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["sheet", "skill"])]
    pub template: Option<String>,

    /// Run one skill on the request without planning.
    #[arg(long, value_name = "NAME")]
    pub skill: Option<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}
