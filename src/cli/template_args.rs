//! Commands and flags of `template`.

use std::path::PathBuf;

use callsheet_core::template::operators::Rows;
use callsheet_core::template::{Facts, Kind};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand, ValueEnum};

use super::WorkArgs;

/// `template`.
#[derive(Debug, Subcommand)]
pub enum TemplateCommand {
    /// Check template files and print each issue with its line and column.
    Check(TemplateCheckArgs),
    /// List the available templates and where each comes from.
    List,
    /// Show one template as Callsheet reads it, or the context settings of every operator.
    Show(TemplateShowArgs),
    /// List the five best matches for a text, with their scores.
    Match(TemplateMatchArgs),
    /// Run a template with input values and print its result.
    Run(Box<TemplateRunArgs>),
    /// Create a commented template to start from; never overwrites a file.
    New(TemplateNewArgs),
    /// Print a template file in the short form or in XML.
    Fmt(TemplateFmtArgs),
    /// Print the JSON Schema of the short form, for editors.
    Schema,
}

/// A form of template files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TemplateForm {
    /// The short form.
    Yaml,
    /// XML.
    Xml,
}

/// `template fmt`.
#[derive(Clone, Debug, Args)]
pub struct TemplateFmtArgs {
    /// Template file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Form to print it in; by default its own.
    #[arg(long, value_name = "FORM")]
    pub to: Option<TemplateForm>,

    /// Write FILE with the ending of the other form, beside it; never overwrites a file.
    #[arg(long, requires = "to")]
    pub write: bool,
}

/// `template check`.
#[derive(Clone, Debug, Args)]
pub struct TemplateCheckArgs {
    /// Files or folders; by default all your templates and the project's.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Treat warnings as errors.
    #[arg(long)]
    pub strict: bool,
}

/// `template run`.
#[derive(Clone, Debug, Args)]
pub struct TemplateRunArgs {
    /// Template name, as `template list` prints it.
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Input values: `k=text`, `k=@file` for a file, `k:=json`, or `k:=@file` for the list or value in a file. Text without `=`
    /// fills the only missing input, or else becomes context, with the files it names; `-` reads that text from stdin.
    #[arg(value_name = "K=V")]
    pub values: Vec<String>,

    /// File for the task, instead of the files that the template names. Repeatable.
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,

    /// Switch to this new git branch first, and commit each change there once you have approved it.
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `template show`.
#[derive(Clone, Debug, Args)]
pub struct TemplateShowArgs {
    /// Template name, as `template list` prints it.
    #[arg(value_name = "NAME", required_unless_present = "defaults")]
    pub name: Option<String>,

    /// Show the context settings of every operator or, with NAME, those of that template.
    #[arg(long)]
    pub defaults: bool,
}

/// `template match`.
#[derive(Clone, Debug, Args)]
pub struct TemplateMatchArgs {
    /// Description of what to do.
    #[arg(value_name = "TEXT", required_unless_present = "node")]
    pub text: Vec<String>,

    /// Match a task in a template file instead of a text; ID is the task's id or its template's name.
    #[arg(long, value_name = "FILE#ID", conflicts_with = "text")]
    pub node: Option<String>,

    /// Include templates of every operator, not only the atomic ones that Callsheet can select automatically.
    #[arg(long)]
    pub all: bool,
}

/// `template new`.
#[derive(Clone, Debug, Args)]
pub struct TemplateNewArgs {
    /// Template name: a letter or `_`, then letters, digits, `_`, `-` and `.`.
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Operator.
    #[arg(long = "type", value_name = "OPERATOR", default_value = "atomic", value_parser = operator_parser())]
    pub operator: String,

    /// Create it in your own templates folder, for all projects.
    #[arg(long)]
    pub user: bool,
}

/// The operators that are written as a task, each with its description and its commented template.
pub fn operators() -> impl Iterator<Item = (&'static Facts, &'static str, &'static str)> {
    Kind::ALL.iter().filter_map(|facts| match facts.rows {
        Rows::Task { about, example, .. } => Some((*facts, about, example)),
        Rows::Element(_) => None,
    })
}

fn operator_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(operators().map(|(facts, about, _)| PossibleValue::new(facts.word).help(about)))
}
