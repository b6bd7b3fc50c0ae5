//! Errors of tasks: five types with everything that a reader needs to act (spec 6).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fuzzy;
use crate::template::issue::Issue;

use super::{ResourceMetrics, SubtaskRequest, TaskResult};

/// Where an error is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceLocation {
    /// The file as shown to a person.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in Unicode scalar values.
    pub column: u32,
    /// The path of the task.
    pub task: String,
}

/// Who is responsible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The person who wrote the template or gave the inputs.
    User,
    /// The model.
    Model,
    /// Its provider.
    Provider,
    /// A tool or a script.
    Tool,
    /// Callsheet itself.
    Callsheet,
}

/// Who must be told.
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

/// What may be done about an error. Nothing is done automatically (spec 15).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryAdvice {
    /// Who is responsible.
    pub blame: Blame,
    /// Whether trying again may help.
    pub retryable: bool,
    /// Who must be told.
    pub hear: Vec<Hears>,
    /// What to do.
    pub advice: String,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The number of assistant messages.
    Turns,
    /// The context window.
    Context,
    /// The size of one reply.
    Output,
    /// The number of model calls.
    Calls,
    /// The number of tokens.
    Tokens,
    /// The cost.
    Cost,
}

/// Why a task failed. Callsheet writes no other reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The lookup of context failed.
    ContextRetrievalFailure,
    /// The matching task of a lookup failed.
    ContextMatchingFailure,
    /// The reply of a matching task could not be read.
    ContextParsingFailure,
    /// A tree given at run time has faults.
    XmlValidationFailure,
    /// The output does not have the declared form.
    OutputFormatFailure,
    /// The time limit was reached.
    ExecutionTimeout,
    /// The task was stopped.
    ExecutionHalted,
    /// A subtask failed.
    SubtaskFailure,
    /// Inputs are missing or have wrong types.
    InputValidationFailure,
    /// Callsheet has a defect, or a model reported a failure without a reason.
    UnexpectedError,
    /// There is no such template.
    TemplateNotFound,
    /// A tool or script failed, and the task cannot continue.
    ToolExecutionError,
    /// The provider failed after all retries.
    LlmError,
    /// There is no usable model, key or provider.
    ConfigurationError,
}

impl Reason {
    /// All reasons, in the order of the specification.
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

    /// Parses the word for a reason.
    pub fn parse(word: &str) -> Option<Self> {
        serde_json::from_value(Value::String(word.to_owned())).ok()
    }
}

/// Why a task was halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Halt {
    /// Tasks were nested too deeply.
    MaxDepth,
    /// A task above it is equal.
    Cycle,
    /// Three turns or iterations were equal.
    NoProgress,
    /// All iterations were used.
    IterationsExhausted,
    /// An evaluator ended the loop.
    Aborted,
    /// A person denied approval.
    ApprovalDenied,
    /// A person stopped it.
    Cancelled,
}

/// A finished part of a task that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartialResult {
    /// The step of a sequence, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_index: Option<usize>,
    /// The input of a reduce, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_index: Option<usize>,
    /// The element of a map or parallel, from 0.
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
    /// The number of the element, from 0.
    pub item_index: usize,
    /// The error.
    pub error: Box<TaskError>,
}

/// One iteration of a loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Iteration {
    /// Its number, from 1.
    pub iteration: u32,
    /// The director's content, shortened to the limit.
    pub output: String,
    /// The evaluation.
    pub evaluation: Value,
    /// The script's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
}

/// A name without a value (spec 4).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Missing {
    /// The path as written.
    pub name: String,
    /// The field that uses it.
    pub field: String,
    /// The path of the task.
    pub task: String,
    /// The file as shown to a person.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
    /// The path to the field of the same name in the record of the call, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The fields that the value has in place of the one that the path names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

impl Missing {
    /// What to do about a path that names no field of its value. `None` if the value is missing or has no fields.
    fn advice(&self) -> Option<String> {
        let name = &self.name;
        if let Some(record) = &self.record {
            return Some(format!("the value has no {name}; for the record of the call write {record}"));
        }
        let (value, field) = name.rsplit_once('.').filter(|_| !self.fields.is_empty())?;
        let near = fuzzy::did_you_mean(field, self.fields.iter().map(String::as_str));
        let near = if near.is_empty() { near } else { format!(". {near}") };
        Some(format!("{value} has no {field}; it has {}{near}", self.fields.join(", ")))
    }
}

/// A value of a wrong type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Invalid {
    /// The parameter or input.
    pub name: String,
    /// The expected type.
    pub expected: String,
    /// The type that was given.
    pub actual: String,
    /// Where it is given, if this is known before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<SourceLocation>,
}

/// What a path of `file_paths` must lead to.
const READABLE: &str = "a file or folder of the project";

impl Invalid {
    /// The expected and the actual value for a path that leads to no readable file. `near` contains similar paths.
    fn no_file(near: &[String]) -> (String, String) {
        let found =
            if near.is_empty() { "none".to_owned() } else { format!("none; did you mean {}?", near.join(", ")) };
        (READABLE.to_owned(), found)
    }
}

macro_rules! details {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)+) => {
        /// The details of a failure. Each operator sets its own fields (spec 6).
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Details {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$kind>,
            )+
            /// Unknown fields of newer versions, which are kept.
            #[serde(flatten)]
            pub other: Map<String, Value>,
        }
    };
}

details! {
    /// The context that was found before the failure.
    partial_context: Value,
    /// The use of the context.
    context_metrics: Value,
    /// The violations of the value.
    violations: Vec<String>,
    /// The earlier attempts.
    recovery_attempts: Vec<Value>,
    /// What the failed part knew under names that the operator around it also uses.
    inner: Value,
    /// Sequence: the failed step, from 0.
    failed_step: usize,
    /// Sequence: the number of steps.
    total_steps: usize,
    /// The finished parts.
    partial_results: Vec<PartialResult>,
    /// Reduce: the failed input, from 0.
    failed_input_index: usize,
    /// Reduce: the number of inputs.
    total_inputs: usize,
    /// Reduce: the names or values of the processed inputs.
    processed_inputs: Vec<Value>,
    /// Reduce: the accumulator before the failure.
    current_accumulator: Value,
    /// Map, parallel: the failed elements, from 0.
    failed_indexes: Vec<usize>,
    /// Map, parallel: the number of elements.
    total_items: usize,
    /// Map, parallel: the errors.
    errors: Vec<ItemError>,
    /// Loop: the number of completed iterations.
    iterations_completed: u32,
    /// Loop: why it ended.
    termination_reason: String,
    /// Loop: the iterations, including the failed one.
    iteration_history: Vec<Iteration>,
    /// Loop: the failed part, which is the director, script or evaluator.
    failed_part: String,
    /// Subtask: the request.
    subtask_request: Box<SubtaskRequest>,
    /// Subtask: the error.
    subtask_error: Box<TaskError>,
    /// Subtask: the nesting depth.
    nesting_depth: u32,
    /// Subtask: the output before the failure.
    partial_output: Box<TaskResult>,
    /// Script: the standard output.
    script_stdout: String,
    /// Script: the error output.
    script_stderr: String,
    /// Script: the exit code.
    script_exit_code: i32,
    /// Script: whether a stream was shortened.
    truncated: bool,
    /// Output: the declared type.
    expected_type: String,
    /// Output: the type found.
    actual_type: String,
    /// Output: the text.
    original_output: String,
    /// Output: the place in the value.
    path: String,
    /// Inputs: the names without a value.
    missing: Vec<Missing>,
    /// Inputs: the values of wrong types.
    invalid: Vec<Invalid>,
    /// Halt: why the task was halted.
    halt: Halt,
}

/// Writes whole numbers without a fraction.
// `serde` passes a reference. Every whole number in this range fits.
#[allow(clippy::trivially_copy_pass_by_ref, clippy::cast_possible_truncation)]
fn plain_number<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

/// The type of an error, with the fields of that type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorKind {
    /// A limit was reached.
    ResourceExhaustion {
        /// The limit.
        resource: Resource,
        /// How much was used.
        #[serde(serialize_with = "plain_number")]
        used: f64,
        /// The maximum.
        #[serde(serialize_with = "plain_number")]
        limit: f64,
        /// The content before the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// What was tried after the error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<Details>>,
    },
    /// The task failed.
    TaskFailure {
        /// The reason.
        reason: Reason,
        /// The content before the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// The notes of the task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<Value>,
        /// The details.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<Details>>,
    },
    /// A reply has neither text nor tool call, or does not fit the declaration.
    InvalidOutput {
        /// The content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// The violations.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        violations: Option<Vec<String>>,
        /// What was tried after the error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Box<Details>>,
    },
    /// A document that was given to Callsheet has faults.
    ValidationError {
        /// The path of the document.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The name of an unknown model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid_model: Option<String>,
        /// The faults.
        #[serde(default)]
        issues: Vec<Issue>,
    },
    /// A document that was given to Callsheet is not well formed.
    XmlParseError {
        /// The content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
}

/// An error of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskError {
    /// The type of the error and its fields.
    #[serde(flatten)]
    pub kind: ErrorKind,
    /// What happened.
    pub message: String,
    /// Where it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<SourceLocation>,
    /// The calls through which it came, innermost first (spec 8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<SourceLocation>,
    /// The resources that were used.
    #[serde(default)]
    pub metrics: ResourceMetrics,
    /// What may be done about it.
    pub recovery: RecoveryAdvice,
}

/// Inputs that cannot be bound, as the details of an `input_validation_failure`.
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

    /// Adds a missing file. `near` contains similar paths, `location` the place where a template names it.
    pub fn no_file(&mut self, path: &str, near: &[String], location: Option<SourceLocation>) {
        let (expected, actual) = Invalid::no_file(near);
        self.invalid.push(Invalid { name: path.to_owned(), expected, actual, location });
    }

    /// Whether no fault was found.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.invalid.is_empty()
    }

    /// The message of the error. It mentions each name once, in order.
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

    /// Turns the faults into the error of a task.
    pub fn into_error(self) -> TaskError {
        let message = self.message();
        let location = self.place();
        let advice = self.missing.iter().find_map(Missing::advice);
        let advice = advice.unwrap_or_else(|| "pass the missing values, or fix the template".to_owned());
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
