//! Shapes: the value of `gives`, and the JSON Schema for it (spec 2.8).

use callsheet_core::template::Code;
use serde_json::{Map, Value, json};

use crate::template::report::Draft;
use crate::yaml::{Node, Value as Yaml};

/// The words for types.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// The form of a result.
#[derive(Debug)]
pub(super) enum Shape {
    /// A type, a type followed by `[]`, several types, or several words of which one is expected.
    Word(String),
    /// A list whose elements have one shape.
    List(Box<Self>),
    /// A map. A field with `?` may be missing.
    Fields(Vec<(String, Self)>),
}

impl Shape {
    /// The shape as an author wrote it.
    pub(super) fn of_node(node: &Node) -> Result<Self, Box<Draft>> {
        match &node.value {
            Yaml::Scalar { text, .. } if word(text).is_some() => Ok(Self::Word(text.clone())),
            Yaml::Scalar { text, .. } => Err(unknown(node, text)),
            Yaml::Null => Err(unknown(node, "")),
            Yaml::List(items) => match items.as_slice() {
                [one] => Ok(Self::List(Box::new(Self::of_node(one)?))),
                _ => {
                    let message = "a list in a shape has exactly one element: the shape of all elements";
                    let draft = Draft::new(Code::T034, node.span, message);
                    Err(Box::new(draft.advice("write [string], or a map of fields")))
                }
            },
            Yaml::Map(entries) => {
                let mut fields: Vec<(String, Self)> = Vec::new();
                for (key, value) in entries {
                    let Yaml::Scalar { text, .. } = &key.value else { return Err(unknown(key, "")) };
                    if fields.iter().any(|(known, _)| bare(known) == bare(text)) {
                        let message = format!("the field `{}` occurs twice here", bare(text));
                        return Err(Box::new(Draft::new(Code::T013, key.span, message).found(text).advice("keep one")));
                    }
                    fields.push((text.clone(), Self::of_node(value)?));
                }
                Ok(Self::Fields(fields))
            }
        }
    }

    /// The shape for a JSON Schema, if the schema says no more than a shape can say.
    pub(super) fn of_schema(schema: &Value) -> Option<Self> {
        let shape = read(schema)?;
        // Compares byte by byte, because models see the schema, including the order of its keys.
        let text = |value: &Value| value.to_string();
        (text(&shape.schema()) == text(schema)).then_some(shape)
    }

    /// The JSON Schema for the shape.
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Word(text) => word(text).unwrap_or_default(),
            Self::List(inner) => json!({"type": "array", "items": inner.schema()}),
            Self::Fields(fields) => {
                let required: Vec<&str> =
                    fields.iter().map(|(name, _)| name.as_str()).filter(|name| bare(name) == *name).collect();
                let properties: Map<String, Value> =
                    fields.iter().map(|(name, shape)| (bare(name).to_owned(), shape.schema())).collect();
                match required.is_empty() {
                    true => json!({"type": "object", "properties": properties}),
                    false => json!({"type": "object", "required": required, "properties": properties}),
                }
            }
        }
    }
}

/// The name of a field without its mark.
fn bare(name: &str) -> &str {
    name.strip_suffix('?').unwrap_or(name)
}

fn word(text: &str) -> Option<Value> {
    if let Some(inner) = text.strip_suffix("[]").filter(|inner| !inner.contains('|')) {
        return Some(json!({"type": "array", "items": word(inner)?}));
    }
    if text == "any" {
        return Some(json!({}));
    }
    if TYPES.contains(&text) {
        return Some(json!({"type": text}));
    }
    let parts: Vec<&str> = text.split('|').map(str::trim).collect();
    if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) {
        return None;
    }
    let types = parts.iter().all(|part| TYPES.contains(part));
    Some(if types { json!({"type": parts}) } else { json!({"enum": parts}) })
}

fn unknown(node: &Node, text: &str) -> Box<Draft> {
    let message = if text.is_empty() { "a shape is missing".to_owned() } else { format!("`{text}` is no shape") };
    let draft = Draft::new(Code::T034, node.span, message).found(text);
    let advice = "write a type, `a | b` for one of several words, [SHAPE] or a map of fields, or use `schema`";
    Box::new(draft.expected(TYPES.iter().copied().chain(["any"])).advice(advice))
}

fn read(schema: &Value) -> Option<Shape> {
    let object = schema.as_object()?;
    if object.is_empty() {
        return Some(Shape::Word("any".to_owned()));
    }
    let words = |list: &Value| -> Option<String> {
        let words = list.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<&str>>>()?;
        Some(words.join(" | "))
    };
    if let Some(list) = object.get("enum") {
        return Some(Shape::Word(words(list)?));
    }
    let kind = object.get("type")?;
    if kind.is_array() {
        return Some(Shape::Word(words(kind)?));
    }
    if let Some(items) = object.get("items") {
        return Some(Shape::List(Box::new(read(items)?)));
    }
    let Some(properties) = object.get("properties") else { return Some(Shape::Word(kind.as_str()?.to_owned())) };
    let required = object.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let field = |(name, value): (&String, &Value)| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        Some((format!("{name}{mark}"), read(value)?))
    };
    properties.as_object()?.iter().map(field).collect::<Option<Vec<_>>>().map(Shape::Fields)
}
