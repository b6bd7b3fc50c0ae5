//! The declared form of an output (spec 7).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::schema;
use crate::template::tree::{OnParseFailure, OutputFormat, OutputType, SchemaChoice, ValueType, type_word};

use super::{Details, JsonFound, JsonReading};

/// Where declared JSON stops being valid.
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

/// A content after it was compared with its declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputReading {
    /// The content as a value.
    pub parsed: Option<Value>,
    /// The value as a text, if the content contains more or has another form.
    pub content: Option<String>,
    /// The repairs, in words for a person.
    pub repairs: Vec<String>,
    /// Set if JSON was declared and the content is not JSON.
    pub parse_error: Option<ParseError>,
    /// Set if the content does not fit the declaration: the details of an `output_format_failure`.
    pub failure: Option<Box<Details>>,
}

/// Reads a content. `named` returns the text of `schemas/NAME.json`. `json` is the reader for JSON that models write.
pub fn read_output(
    content: &str,
    declared: Option<&OutputFormat>,
    named: &dyn Fn(&str) -> Option<String>,
    json: &dyn Fn(&str) -> JsonReading,
) -> OutputReading {
    let Some(declared) = declared.filter(|declared| declared.form == OutputType::Json) else {
        return OutputReading { parsed: undeclared(content, json), ..OutputReading::default() };
    };
    let JsonReading { values, fault } = json(content);
    let fits = |found: &JsonFound| hold_value(found.value.clone(), "", Some(declared), named).failure.is_none();
    match one_of(values, declared.schema.is_some(), &fits) {
        None => {
            let failure = (declared.on_parse_failure == OnParseFailure::Error).then(|| {
                Box::new(Details {
                    expected_type: Some("json".to_owned()),
                    actual_type: Some("text".to_owned()),
                    original_output: Some(content.to_owned()),
                    violations: Some(vec![fault.message.clone()]),
                    ..Details::default()
                })
            });
            OutputReading { parse_error: Some(fault), failure, ..OutputReading::default() }
        }
        Some(JsonFound { value, whole, repairs, .. }) => {
            let text = (!whole || !repairs.is_empty()).then(|| value.to_string());
            OutputReading { content: text, repairs, ..hold_value(value, content, Some(declared), named) }
        }
    }
}

/// The value of a content without a declaration, if the content is JSON as it stands.
fn undeclared(content: &str, json: &dyn Fn(&str) -> JsonReading) -> Option<Value> {
    let begins = content.trim_start().starts_with(['{', '[', '"', 't', 'f', 'n', '-']);
    let digit = content.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let mut found = if begins || digit { json(content).values } else { Vec::new() };
    let one = found.pop().filter(|one| found.is_empty() && one.whole && one.repairs.is_empty())?;
    Some(one.value)
}

/// The value that the model means. If there are several, only one of them may fit the declaration. A string that
/// contains a list or an object stands for it, unless the declaration takes the string.
fn one_of(values: Vec<JsonFound>, typed: bool, fits: &dyn Fn(&JsonFound) -> bool) -> Option<JsonFound> {
    let unpacked = values.into_iter().map(|mut found| match found.inner.take() {
        Some(inner) if !(typed && fits(&found)) => *inner,
        _ => found,
    });
    let mut distinct: Vec<JsonFound> = Vec::new();
    for found in unpacked {
        if !distinct.iter().any(|other| other.value == found.value) {
            distinct.push(found);
        }
    }
    if distinct.len() > 1 {
        distinct.retain(|found| typed && fits(found));
    }
    distinct.pop().filter(|_| distinct.is_empty())
}

/// Checks a value that was already read against the declaration. `content` is its text.
pub fn hold_value(
    value: Value,
    content: &str,
    declared: Option<&OutputFormat>,
    named: &dyn Fn(&str) -> Option<String>,
) -> OutputReading {
    let json = declared.filter(|declared| declared.form == OutputType::Json);
    let choice = json.and_then(|declared| declared.schema.as_ref());
    let failure = choice.and_then(|choice| check(&value, choice, content, named));
    OutputReading { parsed: Some(value), failure, ..OutputReading::default() }
}

/// Checks the result of a template against its `returns`: `parsed_content`, or else the string (spec 7.4).
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
