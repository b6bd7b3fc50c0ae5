//! `sheet` and `report`: files that people read and write.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::WorkArgs;

/// `sheet`.
#[derive(Debug, Subcommand)]
pub enum SheetCommand {
    /// Check a sheet: print each issue with its line and column, and what a run of it would do. Runs nothing.
    Check(Box<SheetCheckArgs>),
    /// Turn a checklist into a sheet with keys, or the other way round, and say what does not fit. Prints it by default.
    Fmt(Box<SheetFmtArgs>),
    /// Create a commented sheet to start from; never overwrites a file.
    New(SheetNewArgs),
}

/// Forms of a sheet file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SheetForm {
    /// Items with check boxes.
    Checklist,
    /// Tasks with keys.
    Sheet,
}

/// `sheet fmt`.
#[derive(Clone, Debug, Args)]
pub struct SheetFmtArgs {
    /// Sheet file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Form to write; by default the one that the file does not have.
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Option<SheetForm>,

    /// Output file; `-`, the default, prints to stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `sheet check`.
#[derive(Clone, Debug, Args)]
pub struct SheetCheckArgs {
    /// Sheet file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Request that you would run it with.
    #[arg(value_name = "REQUEST")]
    pub request: Vec<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `sheet new`.
#[derive(Clone, Debug, Args)]
pub struct SheetNewArgs {
    /// New file; by default `sheet.md`.
    #[arg(value_name = "FILE", default_value = "sheet.md")]
    pub file: PathBuf,
}

/// `report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// Run name, or a unique prefix of it; by default the newest run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Output file; `-` prints to stdout. By default, the report is written to the folder of the run.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the file although this key variable is not set here. If the run contains the key, so does the file. Repeatable.
    #[arg(long, value_name = "VARIABLE")]
    pub without_key: Vec<String>,

    /// Format of the report; by default that of the output file's extension, or else `html`.
    #[arg(long, value_enum, value_name = "FORM")]
    pub format: Option<ReportFormat>,

    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
}

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One HTML file with everything in it.
    Html,
    /// Markdown.
    Md,
    /// Tasks and checks as tests, in the XML of JUnit.
    Junit,
    /// What failed, as SARIF 2.1.0.
    Sarif,
}
