//! Reads a request for a subtask (spec 6, 12) and reports everything that is wrong with it at once, in words for the
//! model that sent it.

use serde_json::{Map, Value};

use crate::prompt::Note;
use crate::template::{SubtaskRequest, SubtaskType, ValueType, snake_keys, type_word};

/// The tool that asks a person.
pub const ASK_USER: &str = "ask_user";

/// The request of a director for an evaluation instead of a subtask (spec 8).
pub const EVALUATION_REQUEST: &str = "evaluation_request";

/// Fields that are lists of strings.
const LISTS: &[&str] = &["template_hints", "file_paths", "tools"];
/// Fields that are texts.
const TEXTS: &[&str] = &["name", "subtype", "expected_output"];

/// The readable part of a request, and its faults.
#[derive(Debug, Default)]
pub(super) struct ReadRequest {
    /// The request. `None` if any part of it is wrong.
    pub request: Option<SubtaskRequest>,
    /// The correct parts of the request, for further checks. Returns `None` if the arguments are not a request.
    pub readable: Option<SubtaskRequest>,
    /// What is wrong, for the model.
    pub faults: Vec<String>,
}

/// Reads the arguments of a call, or the notes of an envelope, in which every value may be a text.
pub(super) fn read_request(arguments: &Value) -> ReadRequest {
    let (value, _) = snake_keys(arguments.clone());
    let Value::Object(mut fields) = value else {
        let found = type_word(&value);
        let faults = vec![wrong("request", found, ValueType::Object.as_str())];
        return ReadRequest { faults, ..ReadRequest::default() };
    };
    fields.retain(|_, value| !value.is_null());
    let mut faults = Vec::new();
    kind(&mut fields, &mut faults);
    required_text(&mut fields, "description", &mut faults);
    inputs(&mut fields, &mut faults);
    for field in TEXTS {
        text(&mut fields, field, &mut faults);
    }
    for field in LISTS {
        list(&mut fields, field, &mut faults);
    }
    depth(&mut fields, &mut faults);
    settings(&mut fields, &mut faults);
    let readable: Option<SubtaskRequest> = serde_json::from_value(Value::Object(fields)).ok();
    ReadRequest { request: readable.clone().filter(|_| faults.is_empty()), readable, faults }
}

pub(super) fn wrong(field: &str, found: &str, expected: &str) -> String {
    Note::SubtaskValue.fill(&[("field", field), ("found", found), ("expected", expected)])
}

pub(super) fn missing(field: &str) -> String {
    Note::SubtaskMissing.fill(&[("field", field)])
}

/// Reads the operator. For further checks, an unknown word counts as the default one; the functions below do the same.
fn kind(fields: &mut Map<String, Value>, faults: &mut Vec<String>) {
    match fields.get("type") {
        None => faults.push(missing("type")),
        Some(Value::String(word)) if SubtaskType::words().any(|known| known == word) => return,
        Some(other) => {
            let found = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            let types: Vec<&str> = SubtaskType::words().collect();
            faults.push(Note::SubtaskType.fill(&[("found", &found), ("types", &types.join(", "))]));
        }
    }
    fields.insert("type".to_owned(), Value::from(SubtaskType::ATOMIC.as_str()));
}

fn required_text(fields: &mut Map<String, Value>, field: &str, faults: &mut Vec<String>) {
    match fields.get(field) {
        Some(Value::String(text)) if !text.trim().is_empty() => return,
        None | Some(Value::String(_)) => faults.push(missing(field)),
        Some(other) => faults.push(wrong(field, type_word(other), ValueType::String.as_str())),
    }
    fields.insert(field.to_owned(), Value::from(""));
}

/// Reads the inputs. XML writes an empty text if there are none.
fn inputs(fields: &mut Map<String, Value>, faults: &mut Vec<String>) {
    match fields.get("inputs") {
        None => faults.push(missing("inputs")),
        Some(Value::Object(_)) => return,
        Some(Value::String(text)) if text.trim().is_empty() => {}
        Some(other) => faults.push(wrong("inputs", type_word(other), ValueType::Object.as_str())),
    }
    fields.insert("inputs".to_owned(), Value::Object(Map::new()));
}

fn text(fields: &mut Map<String, Value>, field: &str, faults: &mut Vec<String>) {
    match fields.get(field) {
        None => {}
        Some(Value::String(text)) if text.trim().is_empty() => drop(fields.remove(field)),
        Some(Value::String(_)) => {}
        Some(other) => {
            faults.push(wrong(field, type_word(other), ValueType::String.as_str()));
            fields.remove(field);
        }
    }
}

/// Reads a list. A single text counts as a list of one; an element whose children are the list counts as that list.
fn list(fields: &mut Map<String, Value>, field: &str, faults: &mut Vec<String>) {
    let Some(value) = fields.remove(field) else { return };
    let unwrapped = match value {
        Value::Object(map) if map.len() == 1 => map.into_iter().next().map(|(_, value)| value).unwrap_or_default(),
        other => other,
    };
    let found = match unwrapped {
        Value::String(text) if text.trim().is_empty() => return,
        text @ Value::String(_) => Value::Array(vec![text]),
        other => other,
    };
    if ValueType::StringArray.holds(&found) {
        fields.insert(field.to_owned(), found);
    } else {
        faults.push(wrong(field, type_word(&found), ValueType::StringArray.as_str()));
    }
}

fn depth(fields: &mut Map<String, Value>, faults: &mut Vec<String>) {
    let Some(value) = fields.get("max_depth") else { return };
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    match number.and_then(|number| u32::try_from(number).ok()) {
        Some(number) => drop(fields.insert("max_depth".to_owned(), Value::from(number))),
        None => {
            faults.push(wrong("max_depth", &value.to_string(), ValueType::Number.as_str()));
            fields.remove("max_depth");
        }
    }
}

fn settings(fields: &mut Map<String, Value>, faults: &mut Vec<String>) {
    let Some(value) = fields.get_mut("context_management") else { return };
    if serde_json::from_value::<crate::template::PartialContext>(value.clone()).is_err() {
        let found = value.to_string();
        faults.push(wrong("context_management", &found, ValueType::Object.as_str()));
        fields.remove("context_management");
    }
}

/// Tools that the subtask may use, if the request names some.
pub(super) fn wanted_tools(request: &SubtaskRequest) -> Option<Vec<String>> {
    let list = request.other.get("tools")?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
