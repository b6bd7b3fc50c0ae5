//! Parts of a node (spec 2.3-2.5).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::place::Spot;
use crate::template::value::{Expression, Filled, Path};

use super::{Node, Origin, ValueType};

/// A variable that is named outside of a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathUse {
    /// Which.
    pub path: Path,
    /// Where it was written.
    pub at: Spot,
}

/// An expression and its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// What must hold.
    pub test: Expression,
    /// Where it was written.
    pub at: Spot,
}

/// An input of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Where it comes from first.
    pub source: InputSource,
    /// Its absence is an error.
    pub required: bool,
    /// What it is if nothing else gives it.
    pub default: Option<String>,
    /// It takes part in context lookup.
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

/// The name of an argument whose name cannot be read: no parameter has it.
pub const UNCLEAR: &str = "";

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// The parameter; `None` is positional.
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
    /// A literal, even if a variable has that name.
    Value(Filled),
    /// A variable, which must be there.
    From(PathUse),
    /// Text that names a variable, or is a literal.
    Bare(Filled),
    /// The result of an operator.
    Operator(Box<Node>),
    /// What stands there cannot be read, which is told of it: it is given, and nobody knows what it is.
    Unread,
}

impl ArgumentValue {
    /// The operator whose result it is.
    pub fn operator(&self) -> Option<&Node> {
        match self {
            Self::Operator(node) => Some(node),
            Self::Value(_) | Self::From(_) | Self::Bare(_) | Self::Unread => None,
        }
    }

    /// The same, to be changed.
    pub fn operator_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Operator(node) => Some(node),
            Self::Value(_) | Self::From(_) | Self::Bare(_) | Self::Unread => None,
        }
    }
}

/// A command line without a shell: one text a word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Command {
    /// Words in order.
    pub words: Vec<Filled>,
}

/// A process to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// What is started.
    pub command: Command,
    /// Seconds.
    pub timeout: u32,
    /// What it reads.
    pub stdin: Option<Stdin>,
    /// Files written for it.
    pub input_files: Vec<InputFile>,
    /// What it inherits of the environment.
    pub inherit: Inherit,
    /// Variables set for it.
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

/// A private temporary file that holds a value; its path is `files.NAME`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub from: PathUse,
    /// End of its file name.
    pub suffix: String,
    /// Where it was written.
    pub origin: Origin,
}

/// A variable of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Filled,
}

/// What a process inherits of the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    /// Nothing.
    None,
    /// `PATH HOME USER LANG LC_* TZ TERM TMPDIR`.
    #[default]
    Safe,
    /// All of it.
    All,
}

/// What a task can do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effects {
    /// Only looks.
    Read,
    /// Changes something, and waits for approval.
    Write,
}

/// What an author wrote about approval and effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalWish {
    /// `effects`.
    pub effects: Option<Effects>,
    /// `requires_approval`; may only raise.
    pub required: Option<bool>,
}

/// How files are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// As listed, with globs.
    #[default]
    Literal,
    /// A read-only command prints them.
    Command,
    /// Looked up by a description.
    Description,
    /// Looked up by a query.
    ContextDescription,
}

/// `file_paths`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FilePaths {
    /// How.
    pub source: FileSource,
    /// Paths, for `literal`.
    pub paths: Vec<Filled>,
    /// Words, for `command`.
    pub command: Command,
    /// Text, for the two lookups.
    pub query: Filled,
    /// Where it was written.
    pub origin: Origin,
}

/// Declared form of an output.
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
    /// Where nothing is said: what is no JSON meets no schema; without one the text is the result (spec 7).
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
    /// Form.
    pub form: OutputType,
    /// What it is checked against.
    pub schema: Option<SchemaChoice>,
    /// When it does not parse.
    pub on_parse_failure: OnParseFailure,
    /// Where it was written.
    pub origin: Origin,
}

/// `recovery`: policy of the evaluator, never of the task system (spec 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// Attempts, each with a handler of its own; `None`: what is not as declared is asked for once more, nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The earlier error is told to the model.
    pub feed_issues: bool,
    /// A model may split a failed task.
    pub reparse: bool,
}

impl Default for Recovery {
    fn default() -> Self {
        Self { attempts: None, feed_issues: true, reparse: true }
    }
}
