//! The result of a handler: its final reply, read tolerantly and checked against its declared form (spec 6, 7, 11).

use serde::Deserialize;
use serde_json::Value;

use crate::record::StopReason;
use crate::run::{NodeInstance, State, TaskRun};
use crate::template::operators::Leaf;
use crate::template::shape::{Kinds, Shape, declared};
use crate::template::{
    DataSource, DataSourceKind, Details, Node, OutputFormat, OutputReading, OutputType, Reason, ReplyReading, Resource,
    ReturnStatus, TaskError, TaskResult, hold_value, read_output,
};

use super::{Evaluator, details, failure};

/// The part of the recorded prompt that says which data it showed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shown {
    sources: Vec<DataSource>,
    context_source: String,
    warnings: Vec<String>,
}

impl Evaluator<'_> {
    pub(super) fn handler_result(&self, op: &NodeInstance, node: &Node) -> TaskResult {
        let Some(task) = self.leaf(op) else {
            return TaskResult::failure(failure::failure(
                Reason::UnexpectedError,
                "the handler is not known",
                Details::default(),
            ));
        };
        let last = self.run.turns_of(&task.task.slug).next_back();
        let mut result = if task.state() == State::Done {
            let text = task.result().and_then(|result| result.document.as_ref()).map(|blob| self.text(blob));
            let text = text.unwrap_or_default();
            if last.is_some_and(|call| call.stop == StopReason::Budget) {
                let error = failure::with_content(self.token_error(op, "the token budget cut the reply off"), &text);
                TaskResult { content: text, ..TaskResult::failure(error) }
            } else if last.is_some_and(|call| call.stop.is_withheld()) {
                let refused = last.is_some_and(|call| call.stop == StopReason::Refused);
                let words =
                    if refused { "the model refused to reply" } else { "the provider's filter ended the reply" };
                let error = failure::failure(Reason::UnexpectedError, words, Details::default());
                TaskResult { content: text.clone(), ..TaskResult::failure(failure::with_content(error, &text)) }
            } else if last.is_some_and(|call| call.stop.is_cut()) {
                let number = |bytes: u64| f64::from(u32::try_from(bytes).unwrap_or(u32::MAX));
                let used = u64::try_from(text.len()).unwrap_or(u64::MAX);
                // A provider may cut earlier than our own limit. Then its tokens were used up.
                let own = Some(task.sizes.reply_limit).filter(|limit| *limit > 0 && used >= *limit);
                let limit = own.unwrap_or(used);
                let words = match own {
                    _ if last.is_some_and(|call| call.stop == StopReason::Repeated) => "the reply only repeated itself",
                    Some(_) => "the length limit cut the reply off",
                    None => "the model's output limit cut the reply off",
                };
                let error = failure::exhausted(Resource::Output, number(used), number(limit), words);
                let error = failure::with_content(error, &text);
                TaskResult { content: text, ..TaskResult::failure(error) }
            } else if task.skill.as_ref().is_some_and(|skill| skill.writes_files) {
                written(task.result().map_or("", |result| &result.summary), &text)
            } else {
                self.read(node, &text)
            }
        } else {
            let partial = self.partial(task);
            let error = failure::with_content(self.leaf_error(op, task), &partial);
            TaskResult { content: partial, ..TaskResult::failure(error) }
        };
        self.note_sources(op, task, &mut result);
        result
    }

    /// The text of the last turn.
    fn partial(&self, task: &TaskRun) -> String {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Reply {
            text: String,
        }
        let last = self.run.turns_of(&task.task.slug).next_back();
        let reply = last.and_then(|call| self.value::<Reply>(&call.reply));
        reply.unwrap_or_default().text
    }

    fn read(&self, node: &Node, text: &str) -> TaskResult {
        if text.trim().is_empty() {
            return TaskResult::failure(failure::invalid_output("the reply has neither text nor a tool call"));
        }
        let schema = node.output.as_ref().and_then(|output| self.declared_schema(output));
        let reading = match schema.as_ref().is_some_and(names_a_status) {
            true => ReplyReading { content: text.to_owned(), ..ReplyReading::default() },
            false => self.formats.reply(text, node.manual_xml),
        };
        if reading.thought && !reading.envelope && reading.content.is_empty() {
            return TaskResult::failure(failure::invalid_output("the reply contains only thinking"));
        }
        let mut result = TaskResult { content: reading.content, ..TaskResult::default() };
        if reading.thought {
            result.notes.warn("thinking", "the reply contains thinking, which was left out");
        }
        result.notes.xml = reading.xml;
        result.notes.data_usage = reading.data_usage;
        result.notes.take(reading.notes);
        for name in &reading.conflicts {
            let words =
                format!("`{name}` occurs in two spellings with different values; the one with underscores applies");
            result.notes.warn("two_spellings", words);
        }
        for warning in result.notes.xml.iter().flat_map(|xml| xml.warnings.clone()).collect::<Vec<_>>() {
            result.notes.warn("xml", warning.message);
        }
        if reading.status == ReturnStatus::Failed {
            let reason = reading.reason.unwrap_or(Reason::UnexpectedError);
            let words = reading.message.as_deref().unwrap_or(&result.content);
            let words = super::open::one_line(words, 200);
            let words = if words.is_empty() { "the model reported a failure".to_owned() } else { words };
            let error = failure::said_by_a_model(reason, words);
            result.error = Some(Box::new(failure::with_content(error, &result.content)));
            result.status = ReturnStatus::Failed;
            return result;
        }
        let declared = node.output.as_ref().filter(|output| output.form == OutputType::Json);
        let schema = |name: &str| self.schema(name);
        let json = |text: &str| self.formats.json(text);
        let output = match (declared, reading.parsed) {
            // The envelope contains only the value.
            (Some(_), Some(value)) if result.content.trim().is_empty() => {
                hold_value(value, &result.content, declared, &schema)
            }
            // Declared JSON is the content itself, never something beside it that nothing checks.
            (Some(_), _) => read_output(&result.content, declared, &schema, &json),
            (None, beside) => {
                let output = read_output(&result.content, node.output.as_ref(), &schema, &json);
                OutputReading { parsed: output.parsed.or(beside), ..output }
            }
        };
        take(&mut result, output);
        result
    }

    /// Checks the result of a script, or of an operator with children, against the task's declaration (spec 7). The
    /// output of a script is read like a reply; results from below have already been read.
    pub(super) fn held(&self, node: &Node, mut result: TaskResult) -> TaskResult {
        let declared = node.output.as_ref().filter(|output| output.form == OutputType::Json);
        let prints = node.kind.facts().leaf == Some(Leaf::Process);
        if result.status != ReturnStatus::Complete || !(prints || declared.is_some()) {
            return result;
        }
        let schema = |name: &str| self.schema(name);
        let json = |text: &str| self.formats.json(text);
        let lines = || declared.filter(|_| prints).and_then(|output| lines(output, &result.content, &schema));
        let output = match result.parsed_content.take().or_else(lines) {
            Some(value) => hold_value(value, &result.content, declared, &schema),
            None => read_output(&result.content, declared, &schema, &json),
        };
        take(&mut result, output);
        result
    }

    /// Names of the files that the handler of a task was shown.
    pub(super) fn shown_files(&self, op: &NodeInstance) -> Vec<String> {
        let first = self.leaf(op).and_then(|task| self.run.turns_of(&task.task.slug).next());
        let shown = first.and_then(|call| self.value::<Shown>(&call.prompt)).unwrap_or_default();
        let is_file = |source: &DataSource| matches!(source.kind, DataSourceKind::File | DataSourceKind::Fresh);
        shown.sources.into_iter().filter(is_file).map(|source| source.name).collect()
    }

    /// `data_sources` lists every file and input. Without text from the model, `data_usage` says the same (spec 6).
    fn note_sources(&self, op: &NodeInstance, task: &TaskRun, result: &mut TaskResult) {
        let first = self.run.turns_of(&task.task.slug).next();
        let shown = first.and_then(|call| self.value::<Shown>(&call.prompt)).unwrap_or_default();
        let told = self.told(op).unwrap_or_default();
        let size = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
        let source = |kind, name: &str, bytes| DataSource { kind, name: name.to_owned(), bytes, truncated: false };
        let is_file = |source: &&DataSource| matches!(source.kind, DataSourceKind::File | DataSourceKind::Fresh);
        let files = shown.sources.iter().filter(is_file).count();
        let notes = &mut result.notes;
        let lacking = shown.sources.iter().filter(is_file).filter_map(lacks);
        lacking.for_each(|words| notes.warn("context", words));
        notes.data_sources.extend(shown.sources);
        notes
            .data_sources
            .extend(told.inputs.iter().map(|(name, value)| source(DataSourceKind::Input, name, size(value))));
        notes.data_sources.extend(told.inherited.iter().filter_map(|item| match item {
            super::Item::Text { title, text } => Some(source(DataSourceKind::Inherited, title, size(text))),
            _ => None,
        }));
        notes.data_sources.extend(told.earlier.iter().map(|entry| {
            let bytes = size(entry.content.as_deref().unwrap_or_default());
            DataSource { truncated: entry.truncated, ..source(DataSourceKind::Accumulated, &entry.id, bytes) }
        }));
        if notes.data_usage.trim().is_empty() {
            let names: Vec<&str> = notes.data_sources.iter().map(|source| source.name.as_str()).collect();
            notes.data_usage = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        }
        if !shown.context_source.is_empty() {
            notes.context_source = shown.context_source;
        }
        notes.context_files_count = u32::try_from(files).unwrap_or(u32::MAX);
        notes.template_used = Some(op.template.clone());
        for warning in told.warnings.into_iter().chain(shown.warnings) {
            notes.warn("context", warning);
        }
        let criteria = Some(told.criteria).filter(|criteria| !criteria.is_empty());
        result.criteria = criteria.map(serde_json::Value::String);
        // Without its own policy nothing is retried. Earlier attempts are reported (spec 15).
        if let Some(error) = &mut result.error {
            self.tell_attempts(op, error);
        }
    }

    fn tell_attempts(&self, op: &NodeInstance, error: &mut TaskError) {
        let Some(details) = details::of(error).filter(|_| !op.attempts.is_empty()) else { return };
        let earlier = op.attempts.iter().filter_map(|id| self.value::<TaskResult>(id));
        let earlier = earlier.map(|mut result| {
            // Each error contains those before it, which are already here.
            if let Some(details) = result.error.as_deref_mut().and_then(details::of) {
                details.iter_mut().for_each(|details| details.recovery_attempts = None);
            }
            serde_json::to_value(&result.error).unwrap_or_default()
        });
        let earlier = earlier.collect();
        details.get_or_insert_default().recovery_attempts = Some(earlier);
    }
}

/// The lines of an output that is declared as a list of texts and begins no JSON, without blank ones (spec 7).
fn lines(output: &OutputFormat, text: &str, named: &dyn Fn(&str) -> Option<String>) -> Option<Value> {
    let is_text = |element: &Shape| element.kinds == Kinds::TEXT && element.words.is_none();
    let shape = declared(output, named).filter(|shape| shape.kinds == Kinds::LIST)?;
    let takes_lines = shape.element.as_deref().is_some_and(is_text) && !text.trim_start().starts_with(['[', '{']);
    takes_lines.then(|| text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect())
}

/// Whether a declared value has its own field `status`. An object with that field is then the value, and not an
/// envelope.
pub fn names_a_status(schema: &Value) -> bool {
    schema.pointer("/properties/status").is_some()
}

/// What a person should know about a file that provided nothing, or not its whole content.
fn lacks(source: &DataSource) -> Option<String> {
    let DataSource { name, bytes, truncated, .. } = source;
    match (truncated, bytes) {
        (true, _) => {
            Some(format!("{name} is longer than its share of the context window; the prompt shows {bytes} bytes of it"))
        }
        (false, 0) => Some(format!("{name} is empty")),
        (false, _) => None,
    }
}

/// The result of a task with changes: what it says that it changed, what a person skipped, and its document.
fn written(summary: &str, document: &str) -> TaskResult {
    let parts = [summary.trim(), document.trim()].into_iter().filter(|part| !part.is_empty());
    let mut result = TaskResult::complete(parts.collect::<Vec<_>>().join("\n\n"));
    result.notes.summary = Some(summary.trim().to_owned()).filter(|summary| !summary.is_empty());
    result
}

/// Stores how a content was read. For declared JSON, the content is the value, whatever surrounded it, and repairs are
/// reported. Invalid declared JSON stays a text, which is reported. A value that violates its declaration fails its
/// task (spec 7).
fn take(result: &mut TaskResult, output: OutputReading) {
    if let Some(fault) = output.parse_error.as_ref().filter(|_| output.failure.is_none()) {
        let place = format!("line {}, column {}", fault.line, fault.column);
        let words = format!(
            "the declared output is JSON, but the output is not valid JSON ({}, {place}); it is used as text",
            fault.message
        );
        result.notes.warn("parse_error", words);
    }
    for repair in output.repairs {
        result.notes.warn("json", format!("the declared output is JSON and was repaired ({repair})"));
    }
    if let (Some(content), None) = (output.content, &output.failure) {
        result.content = content;
    }
    result.notes.parse_error = output.parse_error;
    result.parsed_content = output.parsed;
    refuse(result, output.failure);
}

fn refuse(result: &mut TaskResult, failure: Option<Box<Details>>) {
    let Some(details) = failure else { return };
    let message = format!("the output does not match its declaration: {}", details::misfit(&details));
    let error = failure::failure(Reason::OutputFormatFailure, message, *details);
    result.error = Some(Box::new(failure::with_content(error, &result.content)));
    result.status = ReturnStatus::Failed;
}
