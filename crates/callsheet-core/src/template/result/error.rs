//! Errors of tasks: one of five types, with everything a reader needs to act (spec 6).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::template::issue::Issue;

use super::{ResourceMetrics, SubtaskRequest, TaskResult};

/// Where an error is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceLocation {
    /// File as shown to a person.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in Unicode scalar values.
    pub column: u32,
    /// The task's path.
    pub task: String,
}

/// Whose fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// Who wrote the template or gave the inputs.
    User,
    /// The model.
    Model,
    /// Its provider.
    Provider,
    /// A tool or a script.
    Tool,
    /// We.
    Callsheet,
}

/// Who must hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hears {
    /// The model of the parent.
    Model,
    /// The person.
    Person,
    /// The log.
    Log,
}

/// What may be done about it. Nothing is done by itself (spec 15).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryAdvice {
    /// Whose fault.
    pub blame: Blame,
    /// Trying again may help.
    pub retryable: bool,
    /// Who must hear of it.
    pub hear: Vec<Hears>,
    /// What to do.
    pub advice: String,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Assistant messages.
    Turns,
    /// The window.
    Context,
    /// One reply.
    Output,
    /// Model calls.
    Calls,
    /// Tokens.
    Tokens,
    /// Cost.
    Cost,
}

/// Why a task failed. No other word is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The lookup of context.
    ContextRetrievalFailure,
    /// The matching task of a lookup.
    ContextMatchingFailure,
    /// The reply of a matching task.
    ContextParsingFailure,
    /// A tree given at run time has faults.
    XmlValidationFailure,
    /// The output is not what was declared.
    OutputFormatFailure,
    /// Wall time.
    ExecutionTimeout,
    /// It was stopped.
    ExecutionHalted,
    /// A subtask.
    SubtaskFailure,
    /// Inputs are missing or of a wrong type.
    InputValidationFailure,
    /// Our own fault, or a model's unexplained failure.
    UnexpectedError,
    /// No such template.
    TemplateNotFound,
    /// A tool or script failed and the task cannot go on.
    ToolExecutionError,
    /// The provider, after its transport policy.
    LlmError,
    /// No usable model, key or provider.
    ConfigurationError,
}

impl Reason {
    /// Every reason, in the order of the specification.
    pub const ALL: [Self; 14] = [
        Self::ContextRetrievalFailure,
        Self::ContextMatchingFailure,
        Self::ContextParsingFailure,
        Self::XmlValidationFailure,
        Self::OutputFormatFailure,
        Self::ExecutionTimeout,
        Self::ExecutionHalted,
        Self::SubtaskFailure,
        Self::InputValidationFailure,
        Self::UnexpectedError,
        Self::TemplateNotFound,
        Self::ToolExecutionError,
        Self::LlmError,
        Self::ConfigurationError,
    ];

    /// Reads a word.
    pub fn parse(word: &str) -> Option<Self> {
        serde_json::from_value(Value::String(word.to_owned())).ok()
    }
}

/// Why a task was halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Halt {
    /// Nesting.
    MaxDepth,
    /// An equal ancestor.
    Cycle,
    /// Three equal turns or iterations.
    NoProgress,
    /// The last iteration.
    IterationsExhausted,
    /// An evaluator's verdict.
    Aborted,
    /// A person said no.
    ApprovalDenied,
    /// A person stopped it.
    Cancelled,
}

/// A finished part of a task that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartialResult {
    /// Of a sequence, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_index: Option<usize>,
    /// Of a reduce, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_index: Option<usize>,
    /// Of a map or parallel, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_index: Option<usize>,
    /// Its content.
    pub content: String,
    /// Its notes.
    pub notes: Value,
}

/// The error of one element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemError {
    /// From 0.
    pub item_index: usize,
    /// What happened.
    pub error: Box<TaskError>,
}

/// One turn of a loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Iteration {
    /// From 1.
    pub iteration: u32,
    /// The director's content, capped.
    pub output: String,
    /// The evaluation.
    pub evaluation: Value,
    /// The script's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
}

/// A name that nothing gives (spec 4).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Missing {
    /// The path as written.
    pub name: String,
    /// The field that uses it.
    pub field: String,
    /// The task's path.
    pub task: String,
    /// File as shown to a person.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
    /// The path to the field of the same name that the record of the call has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// A value of a wrong type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Invalid {
    /// The parameter or input.
    pub name: String,
    /// The type that is wanted.
    pub expected: String,
    /// What is there.
    pub actual: String,
    /// Where it is given, if that is known before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<SourceLocation>,
}

/// What a path of `file_paths` is to lead to.
const READABLE: &str = "a file or folder of the project";

impl Invalid {
    /// What is wanted and what is there where a path leads to nothing that may be read; `near`: paths that may be meant.
    fn no_file(near: &[String]) -> (String, String) {
        let found =
            if near.is_empty() { "none".to_owned() } else { format!("none; did you mean {}?", near.join(", ")) };
        (READABLE.to_owned(), found)
    }
}

macro_rules! details {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)+) => {
        /// What is known of a failure; each operator fills its own fields (spec 6).
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Details {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$kind>,
            )+
            /// Fields of newer versions, kept.
            #[serde(flatten)]
            pub other: Map<String, Value>,
        }
    };
}

details! {
    /// Context that was found before the failure.
    partial_context: Value,
    /// What the context used.
    context_metrics: Value,
    /// What the value breaks.
    violations: Vec<String>,
    /// Earlier attempts.
    recovery_attempts: Vec<Value>,
    /// What the failed part knew under names that the operator around it uses, too.
    inner: Value,
    /// Sequential: the step, from 0.
    failed_step: usize,
    /// Sequential: how many.
    total_steps: usize,
    /// Finished parts.
    partial_results: Vec<PartialResult>,
    /// Reduce: the input, from 0.
    failed_input_index: usize,
    /// Reduce: how many.
    total_inputs: usize,
    /// Reduce: names or values gone through.
    processed_inputs: Vec<Value>,
    /// Reduce: what there was.
    current_accumulator: Value,
    /// Map, parallel: which, from 0.
    failed_indexes: Vec<usize>,
    /// Map, parallel: how many.
    total_items: usize,
    /// Map, parallel: what happened.
    errors: Vec<ItemError>,
    /// Loop: how many.
    iterations_completed: u32,
    /// Loop: why it ended.
    termination_reason: String,
    /// Loop: up to and including the failure.
    iteration_history: Vec<Iteration>,
    /// Loop: director, script or evaluator.
    failed_part: String,
    /// Subtask: what was asked.
    subtask_request: Box<SubtaskRequest>,
    /// Subtask: what happened.
    subtask_error: Box<TaskError>,
    /// Subtask: its depth.
    nesting_depth: u32,
    /// Subtask: what there was.
    partial_output: Box<TaskResult>,
    /// Script: what it printed.
    script_stdout: String,
    /// Script: what it complained.
    script_stderr: String,
    /// Script: its exit code.
    script_exit_code: i32,
    /// Script: a stream was cut.
    truncated: bool,
    /// Output: the declared type.
    expected_type: String,
    /// Output: the type found.
    actual_type: String,
    /// Output: the text.
    original_output: String,
    /// Output: where in the value.
    path: String,
    /// Inputs: names without a value.
    missing: Vec<Missing>,
    /// Inputs: values of wrong types.
    invalid: Vec<Invalid>,
    /// Halted: why.
    halt: Halt,
}

/// Counts are written without a fraction.
// serde gives a reference. In this range every whole number fits.
#[allow(clippy::trivially_copy_pass_by_ref, clippy::cast_possible_truncation)]
fn plain_number<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

/// The type of an error, with its own fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorKind {
    /// A limit was reached.
    ResourceExhaustion {
        /// Which.
        resource: Resource,
        /// How much was used.
        #[serde(serialize_with = "plain_number")]
        used: f64,
        /// The limit.
        #[serde(serialize_with = "plain_number")]
        limit: f64,
        /// What there was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// What was tried after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<Details>>,
    },
    /// The task failed.
    TaskFailure {
        /// Why.
        reason: Reason,
        /// What there was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// Its notes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<Value>,
        /// What is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<Details>>,
    },
    /// A reply with neither text nor tool call, or a contract not met.
    InvalidOutput {
        /// What there was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// What it breaks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        violations: Option<Vec<String>>,
        /// What was tried after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<Details>>,
    },
    /// A document given to us has faults.
    ValidationError {
        /// Which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// A model that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid_model: Option<String>,
        /// What is wrong.
        #[serde(default)]
        issues: Vec<Issue>,
    },
    /// A document given to us is not well formed.
    XmlParseError {
        /// What there was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
}

/// An error of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskError {
    /// Type and its fields.
    #[serde(flatten)]
    pub kind: ErrorKind,
    /// What happened.
    pub message: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<SourceLocation>,
    /// The calls that it came through, the innermost first (spec 8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<SourceLocation>,
    /// What was used.
    #[serde(default)]
    pub metrics: ResourceMetrics,
    /// What may be done.
    pub recovery: RecoveryAdvice,
}

/// Inputs that cannot be bound: the details of an `input_validation_failure`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFaultDetails {
    /// Names without a value.
    pub missing: Vec<Missing>,
    /// Values of wrong types.
    pub invalid: Vec<Invalid>,
}

impl InputFaultDetails {
    /// Adds a value of a wrong type.
    pub fn refuse(&mut self, name: &str, expected: &str, actual: &str) {
        let (name, expected, actual) = (name.to_owned(), expected.to_owned(), actual.to_owned());
        self.invalid.push(Invalid { name, expected, actual, location: None });
    }

    /// A file is not there; `near`: paths that may be meant; `location`: where a template names it.
    pub fn no_file(&mut self, path: &str, near: &[String], location: Option<SourceLocation>) {
        let (expected, actual) = Invalid::no_file(near);
        self.invalid.push(Invalid { name: path.to_owned(), expected, actual, location });
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.invalid.is_empty()
    }

    /// The message of the error: every name once, in order.
    pub fn message(&self) -> String {
        let names = self.missing.iter().map(|missing| missing.name.clone()).collect();
        let is_file = |invalid: &&Invalid| invalid.expected == READABLE;
        let wrong = self.invalid.iter().filter(|invalid| !is_file(invalid));
        let wrong =
            wrong.map(|Invalid { name, expected, actual, .. }| format!("{name} ({expected} wanted, {actual} given)"));
        let files = self.invalid.iter().filter(is_file).map(|Invalid { name, actual, .. }| {
            actual.split_once("; ").map_or_else(|| name.clone(), |(_, near)| format!("{name} ({near})"))
        });
        let parts: [(&str, Vec<String>); 3] = [
            ("missing required input", names),
            ("wrong type of input", wrong.collect()),
            ("no file or folder of the project", files.collect()),
        ];
        let told = parts.iter().filter(|(_, names)| !names.is_empty());
        let told = told.map(|(words, names)| format!("{words}: {}", once(names.iter().map(String::as_str)).join(", ")));
        let message = told.collect::<Vec<_>>().join("; ");
        let first = message.chars().next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(message.chars().skip(1)).collect()
    }

    /// The place of the first fault.
    fn place(&self) -> Option<SourceLocation> {
        let missing = self.missing.first().cloned();
        let missing =
            missing.map(|Missing { file, line, column, task, .. }| SourceLocation { file, line, column, task });
        missing.or_else(|| self.invalid.iter().find_map(|invalid| invalid.location.clone()))
    }

    /// The error of a task.
    pub fn into_error(self) -> TaskError {
        let message = self.message();
        let location = self.place();
        let advice = match self.missing.iter().find_map(|one| one.record.as_ref().map(|record| (&one.name, record))) {
            Some((name, record)) => format!("the value has no {name}; for the record of the call write {record}"),
            None => "pass the missing values, or fix the template".to_owned(),
        };
        let details = Details { missing: Some(self.missing), invalid: Some(self.invalid), ..Details::default() };
        TaskError {
            kind: ErrorKind::TaskFailure {
                reason: Reason::InputValidationFailure,
                content: None,
                notes: None,
                details: Some(Box::new(details)),
            },
            message,
            location,
            related: Vec::new(),
            metrics: ResourceMetrics::default(),
            recovery: RecoveryAdvice {
                blame: Blame::User,
                retryable: false,
                hear: vec![Hears::Person, Hears::Log],
                advice,
            },
        }
    }
}

fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for name in names {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}
