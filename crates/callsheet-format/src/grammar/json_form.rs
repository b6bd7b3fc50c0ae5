//! Prints a form as the JSON schema of its JSON form, and as an outline for prompts.
//!
//! The schema uses only what all providers support: every member is required, an optional one may be null, there are no
//! further members, and limits are set only where engines can count that far.

use serde_json::{Map, Value as Json, json};

use super::form::{Form, Member, Part, Sections, Value, new_link};
use super::sections::{MAX_EXPECTED, MAX_LINKS, MAX_NAME, MAX_NEED, sections_of, tasks_of};

/// How many characters of a text llama.cpp's own engine can count. A longer text has no limit except that of the reply.
const MAX_COUNTED: u32 = 2_000;
/// The maximum number of calls in one reply.
const MAX_CALLS: u32 = 3;

impl Form {
    /// The JSON schema of its JSON form.
    pub fn schema(&self) -> Json {
        object(&self.parts)
    }

    /// The JSON form with words instead of its values, for a prompt.
    pub fn outline(&self) -> Json {
        outline(&self.schema())
    }

    /// Names of the members of its JSON form.
    pub fn names(&self) -> Vec<&str> {
        names(&self.parts)
    }
}

impl Part {
    /// The name of its member in the JSON form.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Member(Member { name, .. })
            | Self::Flag { name, .. }
            | Self::List { name, .. }
            | Self::OneOf { name, .. } => Some(name.as_str()).filter(|name| !name.is_empty()),
            Self::Calls { .. } => Some("tool_calls"),
            Self::Sections(_) => Some("sections"),
        }
    }
}

/// Names of the members of a group, including those beside an empty list.
pub(crate) fn names(parts: &[Part]) -> Vec<&str> {
    let mut all = Vec::new();
    for part in parts {
        all.extend(part.name());
        if let Part::List { empty, .. } = part {
            all.extend(names(empty));
        }
    }
    all
}

/// The members of a group with their schemas. Members beside an empty list may be null.
fn named(parts: &[Part]) -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for part in parts {
        all.extend(part.name().map(|name| (name.to_owned(), schema(part))));
        if let Part::List { empty, .. } = part {
            all.extend(named(empty).into_iter().map(|(name, schema)| (name, or_null(schema))));
        }
    }
    all
}

fn or_null(schema: Json) -> Json {
    any_of(vec![schema, json!({"type": "null"})])
}

/// The object for a group. One of several if the group consists only of a choice.
fn object(parts: &[Part]) -> Json {
    if let [Part::OneOf { name, ways }] = parts
        && name.is_empty()
    {
        return one_of(ways);
    }
    members(named(parts).into_iter())
}

fn members(members: impl Iterator<Item = (String, Json)>) -> Json {
    let properties: Map<String, Json> = members.collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn one_of(ways: &[(String, Vec<Part>)]) -> Json {
    let ways = ways.iter().map(|(kind, parts)| {
        let kind = ("kind".to_owned(), json!({"type": "string", "enum": [kind]}));
        members(std::iter::once(kind).chain(named(parts)))
    });
    any_of(ways.collect())
}

fn any_of(mut ways: Vec<Json>) -> Json {
    if ways.len() == 1 { ways.remove(0) } else { json!({ "anyOf": ways }) }
}

fn list(items: Json, min: u32, max: u32) -> Json {
    json!({"type": "array", "items": items, "minItems": min, "maxItems": max})
}

fn schema(part: &Part) -> Json {
    match part {
        Part::Text(_) => Json::Bool(true),
        Part::Flag { .. } => json!({"type": "boolean"}),
        Part::Member(member) => match (&member.value, member.needed) {
            (Value::Links { links, max, .. }, needed) => list(choice(links), u32::from(needed), *max),
            (value, true) => of_value(value),
            (value, false) => or_null(of_value(value)),
        },
        Part::List { item, min, max, .. } => list(object(item), *min, *max),
        Part::OneOf { ways, .. } => one_of(ways),
        Part::Calls { tools, needed, .. } => {
            let call = |(name, parameters): &(String, Json)| {
                let name = ("name".to_owned(), json!({"type": "string", "enum": [name]}));
                members([name, ("arguments".to_owned(), parameters.clone())].into_iter())
            };
            list(any_of(tools.iter().map(call).collect()), u32::from(*needed), MAX_CALLS)
        }
        Part::Sections(sections) => of_sections(sections),
    }
}

fn of_value(value: &Value) -> Json {
    match value {
        Value::Line { min, max } | Value::Sentence { min, max } => text(*min, *max),
        Value::Block { lines, line } => text(1, lines.saturating_mul(*line)),
        Value::Document | Value::NewPath | Value::FileName | Value::Symbol => text(1, u32::MAX),
        Value::Fence { .. } => text(0, u32::MAX),
        Value::Choice(texts) | Value::Path(texts) => choice(texts),
        Value::Links { links, max, .. } => list(choice(links), 0, *max),
        Value::Number => json!({"type": "integer", "minimum": 1, "maximum": 99_999}),
    }
}

fn choice(texts: &[String]) -> Json {
    json!({"type": "string", "enum": texts})
}

fn text(min: u32, max: u32) -> Json {
    let mut text = json!({"type": "string"});
    if let Some(text) = text.as_object_mut() {
        if min > 0 {
            text.insert("minLength".into(), min.into());
        }
        if max <= MAX_COUNTED {
            text.insert("maxLength".into(), max.into());
        }
    }
    text
}

/// In the JSON form, names of new tasks have no numbers: they are numbered consecutively, as in the grammar. A schema
/// cannot tell which output comes from an earlier section; the reader can.
fn of_sections(sections: &Sections) -> Json {
    let (most, tasks) = (sections_of(sections), tasks_of(sections));
    let outputs = (0..(most - 1).saturating_mul(tasks)).map(|n| new_link(sections.first_number.saturating_add(n)));
    let outputs: Vec<String> = outputs.collect();
    let of = |links: &[String]| links.iter().chain(&outputs).cloned().collect::<Vec<String>>();
    let (links, lists) = (of(&sections.references), of(&sections.folders));
    let mut task = vec![("name".to_owned(), text(3, MAX_NAME)), ("need".to_owned(), text(8, MAX_NEED))];
    if !lists.is_empty() {
        task.push(("for_each_in".to_owned(), or_null(choice(&lists))));
    }
    if !links.is_empty() {
        task.push(("references".to_owned(), list(choice(&links), 0, MAX_LINKS)));
    }
    task.push(("expected".to_owned(), text(8, MAX_EXPECTED)));
    let section = members(std::iter::once(("tasks".to_owned(), list(members(task.into_iter()), 1, tasks))));
    list(section, u32::from(sections.needed), most)
}

/// Words instead of values. The prompt itself lists the choices: the catalog, the references, the tools.
fn outline(schema: &Json) -> Json {
    if let Some(ways) = schema.get("anyOf").and_then(Json::as_array) {
        let shown: Vec<Json> = ways.iter().map(outline).filter(|way| !way.is_null()).collect();
        return match <[Json; 1]>::try_from(shown) {
            Ok([only]) => only,
            Err(shown) => shown.into_iter().next().unwrap_or_default(),
        };
    }
    match schema.get("type").and_then(Json::as_str) {
        Some("object") => {
            let properties = schema.get("properties").and_then(Json::as_object);
            let shown = properties.into_iter().flatten().map(|(name, schema)| (name.clone(), outline(schema)));
            Json::Object(shown.collect())
        }
        Some("array") => {
            let items = schema.get("items").cloned().unwrap_or_default();
            match items.get("anyOf").and_then(Json::as_array) {
                Some(ways) => Json::Array(ways.iter().map(outline).collect()),
                None => Json::Array(vec![outline(&items)]),
            }
        }
        Some("boolean") => Json::Bool(false),
        Some("integer") => Json::from(1),
        Some("null") => Json::Null,
        _ => match schema.get("enum").and_then(Json::as_array).map(Vec::as_slice) {
            Some([only]) => only.clone(),
            _ => Json::from("\u{2026}"),
        },
    }
}
