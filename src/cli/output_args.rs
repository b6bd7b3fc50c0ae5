//! What stdout gets of a command, and `runs`.

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

    /// Whether stdout gets JSON and nothing else.
    pub fn prints_json(&self) -> bool {
        let format = self.work().and_then(|work| work.output_format);
        self.json || matches!(format, Some(OutputFormat::Json | OutputFormat::StreamJson))
    }
}

/// What stdout gets of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer.
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line as things happen.
    StreamJson,
}

/// `runs`.
#[derive(Clone, Debug, Args)]
pub struct RunsArgs {
    /// Take over the runs that this project had before it was renamed or moved; from another disk, name where it was.
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
