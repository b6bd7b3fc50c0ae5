//! What a command prints to stdout, and the arguments of `runs`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::{Cli, Command};
use super::{SheetCommand, TemplateCommand, WorkArgs};

impl Cli {
    /// The flags of a command that works with models.
    pub fn work(&self) -> Option<&WorkArgs> {
        match self.command.as_ref()? {
            Command::Run(arguments) => Some(&arguments.work),
            Command::Template(TemplateCommand::Run(arguments)) => Some(&arguments.work),
            Command::Plan(arguments) => Some(&arguments.work),
            Command::Resume(arguments) => Some(&arguments.work),
            Command::Continue(arguments) => Some(&arguments.work),
            Command::Retry(arguments) => Some(&arguments.work),
            Command::Sheet(SheetCommand::Check(arguments)) => Some(&arguments.work),
            Command::Sheet(SheetCommand::Fmt(arguments)) => Some(&arguments.work),
            _ => None,
        }
    }

    /// Whether only JSON is printed to stdout.
    pub fn prints_json(&self) -> bool {
        let format = self.work().and_then(|work| work.output_format);
        self.json || matches!(format, Some(OutputFormat::Json | OutputFormat::StreamJson))
    }
}

/// What is printed to stdout for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer.
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per line as things happen.
    StreamJson,
}

/// `runs`.
#[derive(Clone, Debug, Args)]
pub struct RunsArgs {
    /// Take over the runs that this project had before it was renamed or moved. If it was on another disk, give its
    /// former path.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1)]
    pub adopt: Option<Option<PathBuf>>,
}

/// `gc`.
#[derive(Clone, Debug, Args)]
pub struct GcArgs {
    /// Only say what would be removed.
    #[arg(long)]
    pub dry_run: bool,
}
