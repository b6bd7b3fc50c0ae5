//! A turn of a handler: tool calls, or a final reply (spec 11, 12, 14).

use callsheet_core::evaluate::{ASK_USER, EVALUATION_REQUEST};
use callsheet_core::nouns::{BlobId, ToolCall};
use callsheet_core::run::SUBTASK_REQUEST;
use callsheet_core::template::ReturnStatus;
use serde_json::{Map, Value};

use crate::template::read_reply;

/// What a turn says.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// It asks for calls. The hash is that of its text and calls without their ids. It is used to detect a lack of
    /// progress.
    Calls(Vec<ToolCall>, BlobId),
    /// It is final.
    Final,
}

/// The requests of an envelope that says `CONTINUATION`: one, or a list. If there is none, an empty request, which is
/// then refused with a list of what it lacks.
fn requests(notes: &Map<String, Value>) -> Vec<Value> {
    let found = notes.get("subtask_requests").or_else(|| notes.get("subtask_request"));
    if let (None, Some(evaluation)) = (found, notes.get(EVALUATION_REQUEST)) {
        return vec![serde_json::json!({ EVALUATION_REQUEST: evaluation })];
    }
    let found = match found {
        // In XML, a list is an element with children of one name.
        Some(Value::Object(map)) if map.len() == 1 => map.values().next().filter(|value| !value.is_string()).or(found),
        _ => found,
    };
    match found {
        Some(Value::Array(list)) if !list.is_empty() => list.clone(),
        Some(request @ Value::Object(_)) => vec![request.clone()],
        _ => vec![Value::Object(Map::new())],
    }
}

/// Reads a turn. `native` are calls by the provider's tool calling, with arguments that were already read. An
/// envelope that says `WAITING` becomes a call that asks a person. An envelope that says `CONTINUATION` becomes calls
/// for subtasks.
pub fn read_turn(text: &str, native: &[ToolCall], taken: &std::collections::BTreeSet<String>, manual: bool) -> Said {
    let mut calls: Vec<ToolCall> = native.to_vec();
    if calls.is_empty() && !manual {
        let reading = read_reply(text, false);
        if reading.envelope && reading.status == ReturnStatus::Continuation {
            calls.extend(requests(&reading.notes).into_iter().map(|arguments| ToolCall {
                name: SUBTASK_REQUEST.to_owned(),
                id: String::new(),
                arguments,
            }));
        }
        if reading.envelope && reading.status == ReturnStatus::Waiting {
            let question = if reading.content.trim().is_empty() { text } else { reading.content.trim() };
            let arguments = serde_json::json!({ "prompt": question });
            calls.push(ToolCall { name: ASK_USER.to_owned(), id: String::new(), arguments });
        }
    }
    if calls.is_empty() {
        return Said::Final;
    }
    let plain: Vec<(&str, &Value)> = calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
    let said = BlobId::of(&serde_json::to_vec(&(text.trim(), plain)).unwrap_or_default());
    let mut used = taken.clone();
    let mut numbers = std::collections::BTreeMap::new();
    for call in &mut calls {
        if call.id.is_empty() || used.contains(&call.id) {
            let number = numbers.entry(call.name.clone()).or_insert(1_u32);
            let ids = (*number..).map(|next| (next, format!("{}-{next}", call.name)));
            let (found, id) = ids.into_iter().find(|(_, id)| !used.contains(id)).unwrap_or_default();
            (*number, call.id) = (found, id);
        }
        used.insert(call.id.clone());
    }
    Said::Calls(calls, said)
}
