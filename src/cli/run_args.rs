//! `run`.

use std::path::PathBuf;

use clap::Args;

use super::WorkArgs;
use super::work_args::FOR_PROGRAMS;

/// The files that a person has open. A planner may refer to them without being given their names.
#[derive(Clone, Debug, Default, Args)]
pub struct OpenArgs {
    /// File you have open; `current_file` refers to it.
    #[arg(long, value_name = "FILE", help_heading = FOR_PROGRAMS)]
    pub current_file: Option<PathBuf>,

    /// Another file you have open. Repeatable.
    #[arg(long, value_name = "FILE", help_heading = FOR_PROGRAMS)]
    pub open: Vec<PathBuf>,

    /// Treat the ten most recently edited files as open.
    #[arg(long, help_heading = FOR_PROGRAMS)]
    pub open_recent: bool,
}

/// `run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Request, with or without quotes; `-` reads it from stdin. Piped text is added to it.
    #[arg(value_name = "REQUEST")]
    pub request: Option<String>,

    /// More words of the request; with `--template`, its values, in the form that `template run` accepts.
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,

    /// Run this sheet file instead of planning; `-` reads it from stdin.
    #[arg(long, value_name = "FILE", conflicts_with = "skill")]
    pub sheet: Option<PathBuf>,

    /// Run this template; same as `template run`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["sheet", "skill"])]
    pub template: Option<String>,

    /// Run one skill on the request without planning.
    #[arg(long, value_name = "NAME")]
    pub skill: Option<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}
