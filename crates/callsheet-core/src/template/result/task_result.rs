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

/// How a task came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReturnStatus {
    /// Its content is whole.
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
    /// Reads a word.
    pub fn parse(word: &str) -> Option<Self> {
        serde_json::from_value(Value::String(word.to_owned())).ok()
    }
}

/// What a source of data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataSourceKind {
    /// A file.
    File,
    /// An input.
    Input,
    /// Of the parent's frame.
    Inherited,
    /// An earlier output.
    Accumulated,
    /// Looked up.
    Fresh,
}

/// Something a task was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSource {
    /// What.
    pub kind: DataSourceKind,
    /// Which.
    pub name: String,
    /// How much.
    pub bytes: u64,
    /// It was cut.
    pub truncated: bool,
}

/// Something worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteWarning {
    /// Code.
    pub code: String,
    /// Words.
    pub message: String,
}

/// Metadata of a result, never its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// What was used, in words.
    pub data_usage: String,
    /// What was given.
    pub data_sources: Vec<DataSource>,
    /// The model's own.
    pub success_score: Option<f64>,
    /// The model's own.
    pub summary: Option<String>,
    /// Warnings.
    pub warnings: Vec<NoteWarning>,
    /// Declared JSON that did not parse.
    pub parse_error: Option<ParseError>,
    /// XML found in the reply.
    pub xml: Option<XmlNote>,
    /// The strongest source that gave a file.
    pub context_source: String,
    /// Files in the prompt.
    pub context_files_count: u32,
    /// The template that ran.
    pub template_used: Option<String>,
    /// The subtask that is asked for.
    pub subtask_request: Option<SubtaskRequest>,
    /// What was used.
    pub metrics: ResourceMetrics,
    /// What the model said under keys that are not its own.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub model: Map<String, Value>,
    /// Everything else.
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

/// A finite number, or a text that is one: XML has no numbers.
fn score(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    number.is_finite().then_some(number)
}

/// Keys of notes that tell how a result came about. No model is told of them (spec 4).
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

/// What others are told of an error: its kind and its words.
const TOLD_OF_ERRORS: &[&str] = &["type", "reason", "resource", "message"];

/// An error as JSON, without what the runtime keeps in it.
pub(in crate::template) fn brief(error: &mut Value) {
    if let Value::Object(error) = error {
        error.retain(|key, _| TOLD_OF_ERRORS.contains(&key.as_str()));
    }
}

/// The same of an item of `notes.errors`.
pub(in crate::template) fn brief_item(item: &mut Value) {
    item.get_mut("error").into_iter().for_each(brief);
}

/// Whether something of a value is a word.
fn holds_words(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(list) => list.iter().any(holds_words),
        Value::Object(map) => map.values().any(holds_words),
        _ => false,
    }
}

/// Keys of notes that the runtime owns.
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
    /// Takes notes a model wrote: its own keys stay, keys of the runtime go to `model` (spec 6).
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
                // What is no value of a field may not stand in its place.
                ("summary" | "data_usage" | "success_score" | "subtask_request", _) => {
                    drop(self.model.insert(key, value));
                }
                (known, _) if OWNED.contains(&known) => drop(self.model.insert(key, value)),
                _ => drop(self.other.insert(key, value)),
            }
        }
    }

    /// What they say: nothing of what the runtime keeps in them, and nothing at all where no word is left.
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

/// What a task gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskResult {
    /// Alone says whether the content is whole.
    pub status: ReturnStatus,
    /// Text, whole or partial.
    pub content: String,
    /// The content as a value.
    pub parsed_content: Option<Value>,
    /// How it was to be judged.
    pub criteria: Option<Value>,
    /// What went wrong.
    pub error: Option<Box<TaskError>>,
    /// Metadata.
    pub notes: Notes,
    /// Of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// Fields of newer versions, kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl TaskResult {
    /// A finished text.
    pub fn complete(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// One that failed.
    pub fn failure(error: TaskError) -> Self {
        Self { status: ReturnStatus::Failed, error: Some(Box::new(error)), ..Self::default() }
    }

    /// The error of one that failed.
    pub fn failed(&self) -> Option<Box<TaskError>> {
        let unexpected =
            || Box::new(failure::failure(Reason::UnexpectedError, "it failed without an error", Details::default()));
        (self.status == ReturnStatus::Failed).then(|| self.error.clone().unwrap_or_else(unexpected))
    }

    /// Its error, if it has one, says where in the template it belongs.
    #[must_use]
    pub(crate) fn located(mut self, origin: &Origin, task: &str) -> Self {
        if let Some(error) = self.error.take() {
            self.error = Some(Box::new(failure::located(*error, origin, task)));
        }
        self
    }

    /// The result of a template's body, if it is what the template returns (spec 7.4).
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

    /// The value that operators go on with: `parsed_content`, else the text (spec 8).
    pub fn value(&self) -> Value {
        self.parsed_content.clone().unwrap_or_else(|| Value::String(self.content.clone()))
    }

    /// What it says: the content, or the value of one that has nothing else, as JSON.
    pub fn words(&self) -> Cow<'_, str> {
        match &self.parsed_content {
            Some(value) if self.content.trim().is_empty() => value.to_string().into(),
            _ => Cow::Borrowed(&self.content),
        }
    }

    /// What is no field of a value but found by a name beside it (spec 4): the text and the value themselves, and what a
    /// process left.
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

/// Whether an evaluation is a success: `notes.success`, else `parsed_content.success`, else a verdict in either. Two
/// that disagree, or none, are none, with a warning (spec 8).
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

/// A result as its JSON value, without its times.
pub fn timeless(result: &TaskResult) -> Value {
    let mut value = serde_json::to_value(result).unwrap_or_default();
    forget_times(&mut value);
    value
}

/// What a model is told is the same whenever it is told (spec 5): how long something took is for people.
fn forget_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.contains_key("turns") && map.contains_key("depth") {
                map.remove("wall");
                if let Some(Value::Object(turns)) = map.get_mut("turns") {
                    turns.remove("last_turn_at");
                }
            }
            // What a model wrote is its own.
            map.iter_mut().filter(|(key, _)| *key != "parsed_content").for_each(|(_, value)| forget_times(value));
        }
        Value::Array(list) => list.iter_mut().for_each(forget_times),
        _ => {}
    }
}
