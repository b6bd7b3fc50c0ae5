//! The shapes in which models write a call, brought into one (repair `json-shape`).

use serde_json::{Map, Value};

use crate::reply::words::clause;

/// Keys that say nothing about the call and may stand beside its name.
const NOISE: &[&str] = &["type", "index", "description", "reason", "reasoning", "thought", "explanation", "comment"];

/// Names under which arguments are found; the first is canonical.
const ARGUMENTS: &[&str] = &["arguments", "parameters", "args", "input"];

/// A call whose name and arguments are not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shaped {
    /// Name as written.
    pub name: String,
    /// Id as written.
    pub id: Option<Value>,
    /// Arguments as written: an object, a string that holds one, or nothing.
    pub arguments: Option<Value>,
    /// It was not in canonical form.
    pub reshaped: bool,
}

/// Why a value is no call, for the issue text.
pub(super) type Misfit = String;

/// The calls of one value. `is_tool` says whether a single key is a call of the tool with that name.
pub(super) fn calls_of(value: Value, is_tool: &dyn Fn(&str) -> bool) -> Result<Vec<Shaped>, Misfit> {
    let mut calls = Vec::new();
    collect(value, is_tool, false, 0, &mut calls)?;
    Ok(calls)
}

fn collect(
    value: Value,
    is_tool: &dyn Fn(&str) -> bool,
    nested: bool,
    depth: usize,
    calls: &mut Vec<Shaped>,
) -> Result<(), Misfit> {
    match value {
        Value::Array(items) if depth < 3 => {
            for item in items {
                collect(item, is_tool, true, depth + 1, calls)?;
            }
            Ok(())
        }
        Value::Object(mut map) if depth < 3 && map.contains_key("tool_calls") => match map.swap_remove("tool_calls") {
            Some(list @ Value::Array(_)) if only_noise(&map, &["role", "content"]) => {
                collect(list, is_tool, true, depth + 1, calls)
            }
            _ => Err(clause("call-list", &[])),
        },
        Value::Object(map) => {
            let mut call = one(map, is_tool)?;
            call.reshaped |= nested;
            calls.push(call);
            Ok(())
        }
        _ => Err(clause("call-object", &[])),
    }
}

fn only_noise(map: &Map<String, Value>, more: &[&str]) -> bool {
    map.keys().all(|key| NOISE.contains(&key.as_str()) || more.contains(&key.as_str()))
}

fn one(mut map: Map<String, Value>, is_tool: &dyn Fn(&str) -> bool) -> Result<Shaped, Misfit> {
    if let Some(Value::Object(_)) = map.get("function")
        && !map.contains_key("name")
    {
        let Some(Value::Object(inner)) = map.shift_remove("function") else { return Err(String::new()) };
        let mut call = one(inner, is_tool)?;
        call.reshaped = true;
        call.id = map.shift_remove("id").or(call.id);
        return if only_noise(&map, &[]) { Ok(call) } else { Err(stray(&map)) };
    }
    let written = if map.contains_key("name") { "name" } else { "tool" };
    let Some(name) = map.shift_remove(written) else { return keyed(map, is_tool) };
    let Value::String(name) = name else { return Err(clause("call-name", &[("key", written)])) };
    let mut reshaped = written != "name";
    let id = map.shift_remove("id");
    let present: Vec<&str> = ARGUMENTS.iter().copied().filter(|key| map.contains_key(*key)).collect();
    let arguments = match present.as_slice() {
        [] => None,
        [key] => {
            reshaped |= *key != "arguments";
            map.shift_remove(*key)
        }
        [first, second, ..] => return Err(clause("call-two", &[("first", first), ("second", second)])),
    };
    reshaped |= matches!(arguments, Some(Value::String(_) | Value::Null)) || !map.is_empty();
    if !only_noise(&map, &[]) {
        return Err(stray(&map));
    }
    Ok(Shaped { name, id, arguments, reshaped })
}

/// `{"read_file": {…}}`: one key that is a tool.
fn keyed(mut map: Map<String, Value>, is_tool: &dyn Fn(&str) -> bool) -> Result<Shaped, Misfit> {
    let id = map.shift_remove("id");
    let mut keys = map.into_iter();
    match (keys.next(), keys.next()) {
        (Some((name, arguments)), None) if is_tool(&name) => {
            Ok(Shaped { name, id, arguments: Some(arguments), reshaped: true })
        }
        _ => Err(clause("call-no-name", &[])),
    }
}

fn stray(map: &Map<String, Value>) -> Misfit {
    let keys: Vec<String> =
        map.keys().filter(|key| !NOISE.contains(&key.as_str())).take(5).map(|key| format!("\"{key}\"")).collect();
    clause("call-stray", &[("keys", &keys.join(", "))])
}
