//! Parts of a node (spec 2.3-2.5).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::place::Spot;
use crate::template::value::{Expression, Filled, Path};

use super::{Node, Origin, ValueType};

/// A variable that is named outside a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathUse {
    /// The path of the variable.
    pub path: Path,
    /// Where it was written.
    pub at: Spot,
}

/// An expression and its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The expression that must be true.
    pub test: Expression,
    /// Where it was written.
    pub at: Spot,
}

/// An input of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The first source of its value.
    pub source: InputSource,
    /// Whether its absence is an error.
    pub required: bool,
    /// The value if no source gives one.
    pub default: Option<String>,
    /// Whether it is used for context lookup.
    pub matched: bool,
    /// Where it was written.
    pub origin: Origin,
}

/// The first source of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSource {
    /// The caller.
    Caller,
    /// A variable.
    From(PathUse),
    /// A text.
    Text(Filled),
    /// The result of an operator.
    Operator(Box<Node>),
}

/// The name of an argument whose name cannot be read. No parameter has this name.
pub const UNCLEAR: &str = "";

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// The parameter. `None` if the argument is positional.
    pub name: Option<String>,
    /// Its value.
    pub value: ArgumentValue,
    /// Where it was written.
    pub origin: Origin,
}

/// Where the value of an argument comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentValue {
    /// A literal, even if a variable has the same name.
    Value(Filled),
    /// A variable, which must exist.
    From(PathUse),
    /// A text that names a variable, or is a literal.
    Bare(Filled),
    /// The result of an operator.
    Operator(Box<Node>),
    /// A value that cannot be read, which was already reported. It counts as given, and its value is unknown.
    Unread,
}

impl ArgumentValue {
    /// The operator, if the value is the result of one.
    pub fn operator(&self) -> Option<&Node> {
        match self {
            Self::Operator(node) => Some(node),
            Self::Value(_) | Self::From(_) | Self::Bare(_) | Self::Unread => None,
        }
    }

    /// The operator, mutable.
    pub fn operator_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Operator(node) => Some(node),
            Self::Value(_) | Self::From(_) | Self::Bare(_) | Self::Unread => None,
        }
    }
}

/// A command line without a shell. Each word is one text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Command {
    /// The words in order.
    pub words: Vec<Filled>,
}

/// A process to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// The command.
    pub command: Command,
    /// The time limit in seconds.
    pub timeout: u32,
    /// Its standard input.
    pub stdin: Option<Stdin>,
    /// The files that are written for it.
    pub input_files: Vec<InputFile>,
    /// What it inherits from the environment.
    pub inherit: Inherit,
    /// The variables that are set for it.
    pub variables: Vec<Variable>,
}

/// The standard input of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// A variable.
    From(PathUse),
    /// A text.
    Text(Filled),
}

/// A private temporary file that contains a value. Its path is `files.NAME`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name.
    pub name: String,
    /// The value that it contains.
    pub from: PathUse,
    /// The end of its file name.
    pub suffix: String,
    /// Where it was written.
    pub origin: Origin,
}

/// An environment variable of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Filled,
}

/// What a process inherits from the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    /// Nothing.
    None,
    /// `PATH HOME USER LANG LC_* TZ TERM TMPDIR`.
    #[default]
    Safe,
    /// The whole environment.
    All,
}

/// The effects that a task can have on the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effects {
    /// It only reads.
    Read,
    /// It changes something, and waits for approval.
    Write,
}

/// What an author wrote about effects and approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalWish {
    /// `effects`.
    pub effects: Option<Effects>,
    /// `requires_approval`, which can only add an approval.
    pub required: Option<bool>,
}

/// How files are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// As listed, including globs.
    #[default]
    Literal,
    /// A read-only command prints their paths.
    Command,
    /// They are looked up by a description.
    Description,
    /// They are looked up by a query.
    ContextDescription,
}

/// `file_paths`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FilePaths {
    /// How the files are chosen.
    pub source: FileSource,
    /// The paths, for `literal`.
    pub paths: Vec<Filled>,
    /// The command, for `command`.
    pub command: Command,
    /// The text, for the two lookups.
    pub query: Filled,
    /// Where it was written.
    pub origin: Origin,
}

/// The declared form of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputType {
    /// JSON.
    Json,
    /// Text.
    Text,
}

/// What happens to declared JSON that does not parse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnParseFailure {
    /// The text is the result.
    #[default]
    Fallback,
    /// The task fails.
    Error,
}

impl OnParseFailure {
    /// The default. With a schema, content that is not JSON fails. Without one, the text is the result (spec 7).
    pub fn assumed(schema: Option<&SchemaChoice>) -> Self {
        if schema.is_some() { Self::Error } else { Self::Fallback }
    }
}

/// What declared JSON is checked against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaChoice {
    /// A type.
    Type(ValueType),
    /// `schemas/NAME.json` beside the template.
    Named(String),
    /// A JSON Schema.
    Inline(Value),
}

/// `output_format`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputFormat {
    /// The declared form.
    pub form: OutputType,
    /// What it is checked against.
    pub schema: Option<SchemaChoice>,
    /// What happens if it cannot be parsed.
    pub on_parse_failure: OnParseFailure,
    /// Where it was written.
    pub origin: Origin,
}

/// `recovery`: a policy of the evaluator, not of the task system (spec 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// The number of attempts, each with its own handler. `None` means that only a result that does not fit its
    /// declaration is requested once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Whether the model is told the earlier error.
    pub feed_issues: bool,
    /// Whether a model may split a failed task.
    pub reparse: bool,
}

impl Default for Recovery {
    fn default() -> Self {
        Self { attempts: None, feed_issues: true, reparse: true }
    }
}
