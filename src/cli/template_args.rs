//! Commands and flags of `template`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::WorkArgs;

/// `template`.
#[derive(Debug, Subcommand)]
pub enum TemplateCommand {
    /// Check template files and print every issue with line and column.
    Check(TemplateCheckArgs),
    /// The templates in force, with where they come from.
    List,
    /// One template as it is understood, or the context settings of every operator.
    Show(TemplateShowArgs),
    /// The five templates that fit a text best, each with the parts of its score.
    Match(TemplateMatchArgs),
    /// Run one with values for its inputs and print its result.
    Run(Box<TemplateRunArgs>),
    /// Write a commented template to begin with; never writes over one.
    New(TemplateNewArgs),
}

/// `template check`.
#[derive(Clone, Debug, Args)]
pub struct TemplateCheckArgs {
    /// Files or folders; all templates of the project and the user if none is named.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Warnings count as errors.
    #[arg(long)]
    pub strict: bool,
}

/// `template run`.
#[derive(Clone, Debug, Args)]
pub struct TemplateRunArgs {
    /// Its name, as `template list` prints it.
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Values: `k=text`, `k=@file` for the text of a file, `k:=json`. Without a `=` it is text for the task, the value
    /// of the one input that is missing, else part of its context; `-` reads that text from stdin.
    #[arg(value_name = "K=V")]
    pub values: Vec<String>,

    /// A file for the task, in place of those that the template names. Can be given several times.
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,

    /// What all commands that ask models take.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `template show`.
#[derive(Clone, Debug, Args)]
pub struct TemplateShowArgs {
    /// Its name, as `template list` prints it.
    #[arg(value_name = "NAME", required_unless_present = "defaults")]
    pub name: Option<String>,

    /// The context settings: of every operator, or with a name those in force in that template.
    #[arg(long)]
    pub defaults: bool,
}

/// `template match`.
#[derive(Clone, Debug, Args)]
pub struct TemplateMatchArgs {
    /// What is to be done, in words.
    #[arg(value_name = "TEXT", required_unless_present = "node")]
    pub text: Vec<String>,

    /// A task of a template file instead of a text: by its id, or by the name of its template.
    #[arg(long, value_name = "FILE#ID", conflicts_with = "text")]
    pub node: Option<String>,

    /// Templates of every operator, not only the atomic ones that are chosen automatically.
    #[arg(long)]
    pub all: bool,
}

/// `template new`.
#[derive(Clone, Debug, Args)]
pub struct TemplateNewArgs {
    /// Its name: a letter or `_`, then letters, digits, `_`, `-` and `.`.
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Its operator.
    #[arg(long = "type", value_enum, value_name = "OPERATOR", default_value = "atomic")]
    pub operator: OperatorArg,

    /// In your own templates folder, for all projects, instead of the project's.
    #[arg(long)]
    pub user: bool,
}

/// Operators of a task, as templates name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum OperatorArg {
    /// One model task.
    Atomic,
    /// Steps in order.
    Sequential,
    /// Each input in turn, joined to what came before.
    Reduce,
    /// A command, without a shell.
    Script,
    /// Make, run, judge, until it is good.
    DirectorEvaluatorLoop,
    /// The same for each element of a list.
    Map,
}
