//! The result of a task (spec 6).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::template::tree::{Origin, Template};

use super::output::check_returns;
use super::{
    Details, ParseError, Reason, ResourceMetrics, SubtaskRequest, TaskError, Verdict, XmlNote, details, failure,
    snake_keys,
};

/// The status with which a task returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReturnStatus {
    /// Its content is complete.
    #[default]
    Complete,
    /// It asks for a subtask.
    Continuation,
    /// It waits for a person.
    Waiting,
    /// It failed.
    Failed,
}

impl ReturnStatus {
    /// Parses the word for a status.
    pub fn parse(word: &str) -> Option<Self> {
        serde_json::from_value(Value::String(word.to_owned())).ok()
    }
}

/// The kind of a data source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataSourceKind {
    /// A file.
    File,
    /// An input.
    Input,
    /// The parent's frame.
    Inherited,
    /// An earlier output.
    Accumulated,
    /// A lookup.
    Fresh,
}

/// A data source that a task got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSource {
    /// Its kind.
    pub kind: DataSourceKind,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it was shortened.
    pub truncated: bool,
}

/// A warning in the notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteWarning {
    /// The code.
    pub code: String,
    /// The message.
    pub message: String,
}

/// The metadata of a result, without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// What was used, in words.
    pub data_usage: String,
    /// What the task got.
    pub data_sources: Vec<DataSource>,
    /// The model's own score.
    pub success_score: Option<f64>,
    /// The model's own summary.
    pub summary: Option<String>,
    /// Warnings.
    pub warnings: Vec<NoteWarning>,
    /// Where declared JSON could not be parsed.
    pub parse_error: Option<ParseError>,
    /// The XML that was found in the reply.
    pub xml: Option<XmlNote>,
    /// The strongest source that gave a file.
    pub context_source: String,
    /// The number of files in the prompt.
    pub context_files_count: u32,
    /// The template that ran.
    pub template_used: Option<String>,
    /// The subtask that the model asks for.
    pub subtask_request: Option<SubtaskRequest>,
    /// The resources that were used.
    pub metrics: ResourceMetrics,
    /// What the model wrote under keys that belong to the runtime.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub model: Map<String, Value>,
    /// All other notes.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Default for Notes {
    fn default() -> Self {
        Self {
            data_usage: String::new(),
            data_sources: Vec::new(),
            success_score: None,
            summary: None,
            warnings: Vec::new(),
            parse_error: None,
            xml: None,
            context_source: "none".to_owned(),
            context_files_count: 0,
            template_used: None,
            subtask_request: None,
            metrics: ResourceMetrics::default(),
            model: Map::new(),
            other: Map::new(),
        }
    }
}

/// A finite number, or a text that contains one, because XML has no numbers.
fn score(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    number.is_finite().then_some(number)
}

/// The keys of notes about how a result was made. Models do not see them (spec 4).
const BOOKKEEPING: &[&str] = &[
    "data_usage",
    "data_sources",
    "warnings",
    "parse_error",
    "xml",
    "context_source",
    "context_files_count",
    "template_used",
    "subtask_request",
    "metrics",
    "step_results",
    "recovery_attempts",
    "final_evaluation",
];

/// The fields of an error that other tasks see: its kind and its message.
const TOLD_OF_ERRORS: &[&str] = &["type", "reason", "resource", "message"];

/// Removes the runtime's own data from an error as JSON.
pub(in crate::template) fn brief(error: &mut Value) {
    if let Value::Object(error) = error {
        error.retain(|key, _| TOLD_OF_ERRORS.contains(&key.as_str()));
    }
}

/// Removes the runtime's own data from an item of `notes.errors`.
pub(in crate::template) fn brief_item(item: &mut Value) {
    item.get_mut("error").into_iter().for_each(brief);
}

/// Whether a value contains any words.
fn holds_words(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(list) => list.iter().any(holds_words),
        Value::Object(map) => map.values().any(holds_words),
        _ => false,
    }
}

/// The keys of notes that belong to the runtime.
const OWNED: &[&str] = &[
    "data_sources",
    "warnings",
    "parse_error",
    "xml",
    "context_source",
    "context_files_count",
    "template_used",
    "metrics",
    "model",
    "skipped",
    "step_results",
    "reparsed",
    "errors",
    "failed_indexes",
    "iteration_history",
    "iterations_completed",
    "termination_reason",
    "final_evaluation",
    "recovery_attempts",
];

impl Notes {
    /// Adds notes that a model wrote. Its own keys stay, and keys of the runtime go to `model` (spec 6).
    pub fn take(&mut self, notes: Map<String, Value>) {
        for (key, value) in notes {
            match (key.as_str(), &value) {
                ("summary", Value::String(text)) => self.summary = Some(text.clone()),
                ("data_usage", Value::String(text)) => self.data_usage.clone_from(text),
                ("success_score", Value::Number(_) | Value::String(_)) if score(&value).is_some() => {
                    self.success_score = score(&value);
                }
                ("subtask_request", Value::Object(_)) => match serde_json::from_value(value.clone()) {
                    Ok(request) => self.subtask_request = Some(request),
                    Err(_) => drop(self.model.insert(key, value)),
                },
                // A value of a wrong type must not replace the field.
                ("summary" | "data_usage" | "success_score" | "subtask_request", _) => {
                    drop(self.model.insert(key, value));
                }
                (known, _) if OWNED.contains(&known) => drop(self.model.insert(key, value)),
                _ => drop(self.other.insert(key, value)),
            }
        }
    }

    /// The notes for other tasks, without the runtime's own data. Empty if no words are left.
    pub fn said(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut notes)) = serde_json::to_value(self) else { return Map::new() };
        let empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        if let Some(Value::Object(own)) = notes.get_mut("model") {
            own.retain(|key, _| !BOOKKEEPING.contains(&key.as_str()));
        }
        notes.get_mut("errors").and_then(Value::as_array_mut).into_iter().flatten().for_each(brief_item);
        notes.retain(|key, value| !BOOKKEEPING.contains(&key.as_str()) && !empty(value));
        if notes.values().any(holds_words) { notes } else { Map::new() }
    }

    /// Adds a warning.
    pub fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.warnings.push(NoteWarning { code: code.to_owned(), message: message.into() });
    }
}

/// The result of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskResult {
    /// The status, which alone says whether the content is complete.
    pub status: ReturnStatus,
    /// The text, complete or partial.
    pub content: String,
    /// The content as a value.
    pub parsed_content: Option<Value>,
    /// How the result should be judged.
    pub criteria: Option<Value>,
    /// The error.
    pub error: Option<Box<TaskError>>,
    /// The metadata.
    pub notes: Notes,
    /// The standard output of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// The error output of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The exit code of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether a script reached its time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// Unknown fields of newer versions, which are kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl TaskResult {
    /// A complete result with this text.
    pub fn complete(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// The result of a failed task.
    pub fn failure(error: TaskError) -> Self {
        Self { status: ReturnStatus::Failed, error: Some(Box::new(error)), ..Self::default() }
    }

    /// The error, if the task failed.
    pub fn failed(&self) -> Option<Box<TaskError>> {
        let unexpected =
            || Box::new(failure::failure(Reason::UnexpectedError, "it failed without an error", Details::default()));
        (self.status == ReturnStatus::Failed).then(|| self.error.clone().unwrap_or_else(unexpected))
    }

    /// Adds the place in the template to its error, if it has one.
    #[must_use]
    pub(crate) fn located(mut self, origin: &Origin, task: &str) -> Self {
        if let Some(error) = self.error.take() {
            self.error = Some(Box::new(failure::located(*error, origin, task)));
        }
        self
    }

    /// Checks the result of a template's body against the `returns` of the template (spec 7.4).
    #[must_use]
    pub(crate) fn returned(mut self, template: Option<&Template>, task: &str) -> Self {
        let Some((template, returns)) = template.and_then(|template| Some((template, template.returns?))) else {
            return self;
        };
        if self.status != ReturnStatus::Complete {
            return self;
        }
        if let Some(found) = check_returns(self.parsed_content.as_ref(), &self.content, returns) {
            let misfit = details::misfit(&found);
            let message = format!(
                "the template declares returns={}, but its body returned something else: {misfit}",
                returns.as_str()
            );
            let error = failure::failure(Reason::OutputFormatFailure, message, *found);
            let error = failure::located(error, &template.origin, task);
            self.error = Some(Box::new(failure::with_content(error, &self.content)));
            self.status = ReturnStatus::Failed;
        }
        self
    }

    /// The value that operators continue with: `parsed_content`, or else the text (spec 8).
    pub fn value(&self) -> Value {
        self.parsed_content.clone().unwrap_or_else(|| Value::String(self.content.clone()))
    }

    /// The text of the result: its content, or its value as JSON if it has no content.
    pub fn words(&self) -> Cow<'_, str> {
        match &self.parsed_content {
            Some(value) if self.content.trim().is_empty() => value.to_string().into(),
            _ => Cow::Borrowed(&self.content),
        }
    }

    /// The parts of a result that are found by name although they are not fields of its value (spec 4): the text, the
    /// value itself, and the outputs of a process.
    pub fn part(&self, name: &str) -> Option<Value> {
        match name {
            "content" => Some(Value::String(self.content.clone())),
            "parsed_content" | "parsedContent" => Some(self.parsed_content.clone().unwrap_or_default()),
            "stdout" => self.stdout.clone().map(Value::String),
            "stderr" => self.stderr.clone().map(Value::String),
            "exit_code" | "exitCode" => self.exit_code.map(Value::from),
            "timed_out" => self.timed_out.map(Value::Bool),
            _ => None,
        }
    }
}

/// Whether an evaluation is a success: `notes.success`, or else `parsed_content.success`, or else a verdict in
/// either. Contradicting values, or none, count as failure, with a warning (spec 8).
pub fn judged(result: &TaskResult) -> (bool, Option<Verdict>, Option<&'static str>) {
    let notes = Value::Object(result.notes.other.clone());
    let parsed = result.parsed_content.clone().unwrap_or_default();
    let verdict = |value: &Value| serde_json::from_value::<Verdict>(snake_keys(value.clone()).0).ok();
    let found = verdict(&notes).or_else(|| verdict(&parsed));
    let said = [
        notes.get("success").and_then(Value::as_bool),
        parsed.get("success").and_then(Value::as_bool),
        found.as_ref().map(|verdict| *verdict == Verdict::Accept),
    ];
    let mut said = said.into_iter().flatten();
    let Some(first) = said.next() else {
        return (false, found, Some("the evaluation does not report success or failure"));
    };
    if said.all(|other| other == first) {
        return (first, found, None);
    }
    (false, found, Some("the evaluation contradicts itself"))
}

/// A result as JSON, without its times.
pub fn timeless(result: &TaskResult) -> Value {
    let mut value = serde_json::to_value(result).unwrap_or_default();
    forget_times(&mut value);
    value
}

/// Removes times, because a model must always see the same text (spec 5). Only people need to know how long something
/// took.
fn forget_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.contains_key("turns") && map.contains_key("depth") {
                map.remove("wall");
                if let Some(Value::Object(turns)) = map.get_mut("turns") {
                    turns.remove("last_turn_at");
                }
            }
            // Values that a model wrote are not changed.
            map.iter_mut().filter(|(key, _)| *key != "parsed_content").for_each(|(_, value)| forget_times(value));
        }
        Value::Array(list) => list.iter_mut().for_each(forget_times),
        _ => {}
    }
}
