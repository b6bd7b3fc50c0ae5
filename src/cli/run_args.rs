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

    /// Name of the new run: small letters, digits and hyphens. If a run has this name, a number is added.
    #[arg(long, value_name = "NAME", value_parser = run_name, help_heading = FOR_PROGRAMS)]
    pub name: Option<String>,

    /// Switch to this new git branch first, and commit each change there once you have approved it.
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// The most characters of a given name.
const NAME: usize = 80;

/// A name that a program gives to a run.
pub(super) fn run_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && text.len() <= NAME && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err(format!("use at most {NAME} of a-z, 0-9 and `-`, and no `-` at the start"))
    }
}
