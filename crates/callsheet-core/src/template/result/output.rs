//! The declared form of an output (spec 7).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::schema;
use crate::template::tree::{OnParseFailure, OutputFormat, OutputType, SchemaChoice, ValueType, type_word};

use super::Details;

/// Where declared JSON stopped being JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// 1-based line of the content.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
}

/// A content against its declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputReading {
    /// The content as a value.
    pub parsed: Option<Value>,
    /// It was declared and is no JSON.
    pub parse_error: Option<ParseError>,
    /// It is not what was declared: details of an `output_format_failure`.
    pub failure: Option<Box<Details>>,
}

/// Reads a content. `named` gives the text of `schemas/NAME.json`.
pub fn read_output(
    content: &str,
    declared: Option<&OutputFormat>,
    named: &dyn Fn(&str) -> Option<String>,
) -> OutputReading {
    let json = declared.filter(|declared| declared.form == OutputType::Json);
    let Some(declared) = json else {
        let begins = content.trim_start().starts_with(['{', '[', '"', 't', 'f', 'n', '-']);
        let digit = content.trim_start().starts_with(|c: char| c.is_ascii_digit());
        let parsed = if begins || digit { serde_json::from_str(content).ok() } else { None };
        return OutputReading { parsed, ..OutputReading::default() };
    };
    match serde_json::from_str::<Value>(unfenced(content)) {
        Err(error) => {
            let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).max(1);
            let fault = ParseError {
                message: without_place(&error.to_string()),
                line: number(error.line()).saturating_add(lines_before(content)),
                column: number(error.column()),
            };
            let failure = (declared.on_parse_failure == OnParseFailure::Error).then(|| {
                Box::new(Details {
                    expected_type: Some("json".to_owned()),
                    actual_type: Some("text".to_owned()),
                    original_output: Some(content.to_owned()),
                    violations: Some(vec![fault.message.clone()]),
                    ..Details::default()
                })
            });
            OutputReading { parsed: None, parse_error: Some(fault), failure }
        }
        Ok(value) => hold_value(value, content, Some(declared), named),
    }
}

/// Holds a value that was read already to the declaration; `content` is its text.
pub fn hold_value(
    value: Value,
    content: &str,
    declared: Option<&OutputFormat>,
    named: &dyn Fn(&str) -> Option<String>,
) -> OutputReading {
    let json = declared.filter(|declared| declared.form == OutputType::Json);
    let choice = json.and_then(|declared| declared.schema.as_ref());
    let failure = choice.and_then(|choice| check(&value, choice, content, named));
    OutputReading { parsed: Some(value), parse_error: None, failure }
}

/// A reply that is JSON as a whole, or one fence of it.
pub fn json_of(reply: &str) -> Option<Value> {
    serde_json::from_str(unfenced(reply)).ok()
}

/// The result of a template against its `returns`: `parsed_content`, else the string (spec 7.4).
pub fn check_returns(parsed: Option<&Value>, content: &str, returns: ValueType) -> Option<Box<Details>> {
    let text = Value::String(content.to_owned());
    mismatch(parsed.unwrap_or(&text), returns, content)
}

fn mismatch(value: &Value, wanted: ValueType, content: &str) -> Option<Box<Details>> {
    if wanted.holds(value) {
        return None;
    }
    let bad = value.as_array().filter(|_| wanted == ValueType::StringArray);
    let element = bad.and_then(|list| list.iter().enumerate().find(|(_, element)| !element.is_string()));
    let violation = element
        .map(|(index, element)| format!("/{index}: {element} is not of type \"{}\"", ValueType::String.as_str()));
    Some(Box::new(Details {
        violations: violation.map(|violation| vec![violation]),
        expected_type: Some(wanted.as_str().to_owned()),
        actual_type: Some(element.map_or(type_word(value), |(_, element)| type_word(element)).to_owned()),
        original_output: Some(content.to_owned()),
        path: Some(element.map(|(index, _)| format!("/{index}")).unwrap_or_default()),
        ..Details::default()
    }))
}

fn check(
    value: &Value,
    choice: &SchemaChoice,
    content: &str,
    named: &dyn Fn(&str) -> Option<String>,
) -> Option<Box<Details>> {
    let (name, compiled) = match choice {
        SchemaChoice::Type(kind) => return mismatch(value, *kind, content),
        SchemaChoice::Inline(schema) => ("schema".to_owned(), schema::compile(schema)),
        SchemaChoice::Named(name) => {
            let text = named(name).ok_or_else(|| format!("schemas/{name}.json is missing"));
            (format!("@{name}"), text.and_then(|text| schema::read(&text)))
        }
    };
    let (violations, path) = match compiled {
        Err(message) => (vec![message], String::new()),
        Ok(compiled) => {
            let found = compiled.violations(value);
            let path = found.first()?.path.clone();
            let words = |one: schema::Violation| match one.path.as_str() {
                "" => one.message,
                path => format!("{path}: {}", one.message),
            };
            (found.into_iter().map(words).collect(), path)
        }
    };
    Some(Box::new(Details {
        expected_type: Some(name),
        actual_type: Some(type_word(value).to_owned()),
        original_output: Some(content.to_owned()),
        path: Some(path),
        violations: Some(violations),
        ..Details::default()
    }))
}

/// The message of a JSON reader without its own line and column, which count from the start of a fence.
fn without_place(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(words, _)| words).to_owned()
}

/// The inside of a content that is one fence.
pub(super) fn unfenced(content: &str) -> &str {
    let trimmed = content.trim();
    let mark = if trimmed.starts_with("~~~") { '~' } else { '`' };
    let length = trimmed.len() - trimmed.trim_start_matches(mark).len();
    if length < 3 {
        return content;
    }
    let Some((info, body)) = trimmed.split_once('\n') else { return content };
    let fence = trimmed.get(..length).unwrap_or_default();
    let (Some(info), Some(body)) = (info.get(length..), body.strip_suffix(fence)) else { return content };
    if info.contains(mark)
        || !(body.is_empty() || body.ends_with('\n'))
        || body.lines().any(|line| line.trim() == fence)
    {
        return content;
    }
    body
}

/// Lines of the content before the JSON begins.
fn lines_before(content: &str) -> u32 {
    let inner = unfenced(content);
    if inner.len() == content.len() {
        return 0;
    }
    let blank = content.len() - content.trim_start().len();
    let before = content.get(..blank).unwrap_or_default().matches('\n').count() + 1;
    u32::try_from(before).unwrap_or(0)
}
