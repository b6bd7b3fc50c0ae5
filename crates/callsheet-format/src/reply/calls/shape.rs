//! Converts the forms in which models write a call to one form (repair `json-shape`). If an object can be read as a
//! call in several ways, all readings are returned, and the schema of the tool decides.

use serde_json::{Map, Value};

use crate::reading::clause;

/// Keys beside the name that say nothing about the call.
const NOISE: &[&str] = &["type", "index", "description", "reason", "reasoning", "thought", "explanation", "comment"];

/// Keys for the name. The first is canonical.
const NAMES: &[&str] = &["name", "tool", "tool_name", "function", "action"];

/// Keys for the arguments. The first is canonical.
const ARGUMENTS: &[&str] = &["arguments", "parameters", "args", "input", "params", "tool_input", "action_input"];

/// A call before its name and arguments are checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shaped {
    /// Name as written.
    pub name: String,
    /// Id as written.
    pub id: Option<Value>,
    /// Arguments as written: an object, a string that contains one, or nothing.
    pub arguments: Option<Value>,
    /// Whether it was not in canonical form.
    pub reshaped: bool,
}

/// Why a value is not a call, for the text of the issue.
pub(super) type Misfit = String;

/// One call in all its possible readings.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Read {
    /// In one way.
    Plain(Shaped),
    /// Counts only if the schema of the tool accepts these arguments. The best reading is used.
    Guessed {
        /// The readings; never empty.
        readings: Vec<Shaped>,
        /// What is wrong with the object if no reading is valid.
        misfit: Misfit,
        /// Whether the object names its tool.
        named: bool,
    },
}

/// What this module must know about the tools.
pub(super) trait Tools {
    /// Whether a key names one of the skill's tools.
    fn is_tool(&self, key: &str) -> bool;
    /// Whether the tool's schema contains all of these arguments.
    fn declares(&self, tool: &str, arguments: &Map<String, Value>) -> bool;
    /// The skill's tools.
    fn names(&self) -> Vec<String>;
}

/// The calls of one value.
pub(super) fn calls_of(value: Value, tools: &dyn Tools) -> Result<Vec<Read>, Misfit> {
    let mut calls = Vec::new();
    collect(value, tools, false, 0, &mut calls)?;
    Ok(calls)
}

fn collect(value: Value, tools: &dyn Tools, nested: bool, depth: usize, calls: &mut Vec<Read>) -> Result<(), Misfit> {
    match value {
        Value::Array(items) if depth < 3 => {
            for item in items {
                collect(item, tools, true, depth + 1, calls)?;
            }
            Ok(())
        }
        Value::Object(mut map) if depth < 3 && map.contains_key("tool_calls") => match map.swap_remove("tool_calls") {
            Some(list @ Value::Array(_)) if only_noise(&map, &["role", "content"]) => {
                collect(list, tools, true, depth + 1, calls)
            }
            _ => Err(clause("call-list", &[])),
        },
        Value::Object(map) if map.len() > 1 && map.keys().all(|key| tools.is_tool(key)) => {
            for (name, arguments) in map {
                let call = Shaped { name, id: None, arguments: Some(arguments), reshaped: true };
                calls.push(Read::Plain(call));
            }
            Ok(())
        }
        Value::Object(map) => {
            let mut call = one(map, tools)?;
            if let Read::Plain(call) = &mut call {
                call.reshaped |= nested;
            }
            calls.push(call);
            Ok(())
        }
        _ => Err(clause("call-object", &[])),
    }
}

fn only_noise(map: &Map<String, Value>, more: &[&str]) -> bool {
    map.keys().all(|key| NOISE.contains(&key.as_str()) || more.contains(&key.as_str()))
}

fn one(mut map: Map<String, Value>, tools: &dyn Tools) -> Result<Read, Misfit> {
    if let Some(Value::Object(_)) = map.get("function")
        && !map.contains_key("name")
    {
        let Some(Value::Object(inner)) = map.shift_remove("function") else { return Err(String::new()) };
        let Read::Plain(mut call) = one(inner, tools)? else { return Err(clause("call-no-name", &[])) };
        call.reshaped = true;
        call.id = map.shift_remove("id").or(call.id);
        return if only_noise(&map, &[]) { Ok(Read::Plain(call)) } else { Err(stray(&map)) };
    }
    let Some(written) = NAMES.iter().copied().find(|key| map.contains_key(*key)) else { return unnamed(map, tools) };
    let name = match map.shift_remove(written) {
        Some(Value::String(name)) => name,
        _ => return Err(clause("call-name", &[("key", written)])),
    };
    named(name, written != "name", map, tools)
}

/// An object with a name. Its arguments are under one key, under one of several keys, or beside the name.
fn named(name: String, reshaped: bool, mut map: Map<String, Value>, tools: &dyn Tools) -> Result<Read, Misfit> {
    let id = map.shift_remove("id");
    let mut given: Vec<(&str, Value)> = Vec::new();
    for key in ARGUMENTS {
        if let Some(value) = map.shift_remove(*key) {
            given.push((key, value));
        }
    }
    if let [(first, _), (second, _), ..] = given.as_slice() {
        let misfit = clause("call-two", &[("first", first), ("second", second)]);
        if !only_noise(&map, &[]) {
            return Err(misfit);
        }
        let reading = |value| Shaped { name: name.clone(), id: id.clone(), arguments: Some(value), reshaped: true };
        let readings = given.into_iter().map(|(_, value)| reading(value)).collect();
        return Ok(Read::Guessed { readings, misfit, named: true });
    }
    let found = given.pop();
    if only_noise(&map, &[]) && (found.is_some() || map.is_empty() || !tools.declares(&name, &map)) {
        let odd = found
            .as_ref()
            .is_some_and(|(key, value)| *key != "arguments" || matches!(value, Value::String(_) | Value::Null));
        let reshaped = reshaped || odd || !map.is_empty();
        return Ok(Read::Plain(Shaped { name, id, arguments: found.map(|(_, value)| value), reshaped }));
    }
    beside(name, id, found.map(|(_, value)| value), map, tools)
}

/// Arguments beside the name, if the schema contains all of them.
fn beside(
    name: String,
    id: Option<Value>,
    inside: Option<Value>,
    mut map: Map<String, Value>,
    tools: &dyn Tools,
) -> Result<Read, Misfit> {
    let misfit = stray(&map);
    map.retain(|key, value| {
        let single = Map::from_iter([(key.clone(), value.clone())]);
        !NOISE.contains(&key.as_str()) || tools.declares(&name, &single)
    });
    let known = !map.is_empty() && tools.declares(&name, &map);
    let mut arguments = match inside {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(misfit),
    };
    if !known || map.keys().any(|key| arguments.contains_key(key)) {
        return Err(misfit);
    }
    arguments.extend(map);
    let reading = Shaped { name, id, arguments: Some(Value::Object(arguments)), reshaped: true };
    Ok(Read::Guessed { readings: vec![reading], misfit, named: true })
}

/// Reads `{"read_file": {…}}`, whose only key is a tool. Otherwise reads the arguments alone, if one tool's schema
/// contains them all.
fn unnamed(mut map: Map<String, Value>, tools: &dyn Tools) -> Result<Read, Misfit> {
    let misfit = clause("call-no-name", &[]);
    let fitting: Vec<String> =
        tools.names().into_iter().filter(|name| !map.is_empty() && tools.declares(name, &map)).collect();
    if !fitting.is_empty() {
        let all = Value::Object(map);
        let reading = |name| Shaped { name, id: None, arguments: Some(all.clone()), reshaped: true };
        let readings = fitting.into_iter().map(reading).collect();
        return Ok(Read::Guessed { readings, misfit, named: false });
    }
    let id = map.shift_remove("id");
    let mut keys = map.into_iter();
    match (keys.next(), keys.next()) {
        (Some((name, arguments)), None) if tools.is_tool(&name) => {
            Ok(Read::Plain(Shaped { name, id, arguments: Some(arguments), reshaped: true }))
        }
        _ => Err(misfit),
    }
}

fn stray(map: &Map<String, Value>) -> Misfit {
    let keys: Vec<String> =
        map.keys().filter(|key| !NOISE.contains(&key.as_str())).take(5).map(|key| format!("\"{key}\"")).collect();
    clause("call-stray", &[("keys", &keys.join(", "))])
}
