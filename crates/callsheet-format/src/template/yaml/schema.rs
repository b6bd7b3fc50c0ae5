//! The short form as a JSON Schema for editors, generated from the table of keys. Only the reader decides what is
//! valid, because a schema cannot explain which keys go together.

use callsheet_core::nouns::LimitRange;
use serde_json::{Map, Value, json};

use super::keys::{KEYS, Key, Kinds, To};
use crate::template::grammar::{Element, Kind, all_rows, operator_row, template};

/// The schema of one document.
pub fn short_schema() -> Value {
    let of_level = |outermost: bool| -> Map<String, Value> {
        let keys = KEYS.iter().filter(|key| outermost || !key.of.has(Kinds::TEMPLATE));
        keys.map(|key| (key.name.to_owned(), property(key))).collect()
    };
    let marks: Vec<Value> = ["ask", "run", "call", "tasks", "each", "fold", "make", "if", "choose"]
        .iter()
        .map(|name| json!({"required": [name]}))
        .collect();
    let named = json!({
        "type": "object", "minProperties": 1, "maxProperties": 1,
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"},
        "additionalProperties": {"$ref": "#/$defs/task"},
    });
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A Callsheet template in the short form",
        "type": "object",
        "properties": of_level(true),
        "required": ["template"],
        "additionalProperties": false,
        "$defs": {
            "task": {"type": "object", "properties": of_level(false), "additionalProperties": false, "anyOf": marks},
            "step": {"anyOf": [named, {"$ref": "#/$defs/task"}]},
        },
    })
}

fn property(key: &Key) -> Value {
    let mut out = value(key);
    out["description"] = json!(key.about);
    out
}

fn value(key: &Key) -> Value {
    let task = json!({"$ref": "#/$defs/task"});
    let words = json!({"type": ["string", "array"], "items": {"type": ["string", "number"]}});
    match key.to {
        To::Attribute("max_parallel") => {
            json!({"anyOf": [{"const": true}, {"type": "integer", "minimum": 1, "maximum": 64}]})
        }
        To::Attribute("items") => json!({"type": ["string", "null"]}),
        To::Attribute("tags") | To::List(_) => words,
        To::Attribute(name) => attribute_of(row(if key.of.has(Kinds::TEMPLATE) { "template" } else { "task" }), name),
        To::Word(name) => of_kind(content(name)),
        To::Text("initial_value") => json!({}),
        To::Text(_) => json!({"type": ["string", "number"]}),
        To::In(block, name) => attribute_of(row(block), name),
        To::Block(name) => {
            let attributes = row(name).into_iter().flat_map(|row| row.attributes);
            let known: Map<String, Value> =
                attributes.map(|attribute| (attribute.name.to_owned(), of_kind(attribute.kind))).collect();
            json!({"type": "object", "properties": known, "additionalProperties": false})
        }
        To::Slot(_) => json!({"allOf": [task]}),
        To::Own(_) => match key.name {
            "tasks" => json!({"type": "array", "items": {"$ref": "#/$defs/step"}}),
            "choose" => json!({"type": "array", "items": {
                "type": "object", "anyOf": [{"required": ["if"]}, {"required": ["else"]}],
                "properties": {"else": task},
            }}),
            "do" => json!({"allOf": [task]}),
            "inputs" | "input_files" | "env" => json!({"type": ["object", "null"]}),
            "schema" => json!({"type": "object"}),
            "with" => json!({"type": ["object", "array"]}),
            "run" | "tools" => words,
            "files" | "test" => json!({"type": ["string", "array", "object"]}),
            "gives" => json!({"type": ["string", "array", "object"]}),
            "stdin" => json!({"type": ["string", "object"]}),
            _ => json!({"type": "string"}),
        },
    }
}

fn row(name: &str) -> Option<&'static Element> {
    match name {
        "template" => Some(template()),
        "task" => operator_row("task"),
        other => all_rows().into_iter().find(|row| row.name == other),
    }
}

fn attribute_of(row: Option<&'static Element>, name: &str) -> Value {
    let known = row.into_iter().flat_map(|row| row.attributes).find(|attribute| attribute.name == name);
    known.map_or(json!({"type": "string"}), |known| of_kind(known.kind))
}

/// The kind of value that an element contains.
fn content(name: &str) -> Kind {
    use crate::template::grammar::Content;
    match row(name).map(|row| row.content) {
        Some(Content::Value(kind) | Content::Optional(kind) | Content::Either(kind)) => kind,
        _ => Kind::Text,
    }
}

fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::OneOf(words) => json!({"enum": words}),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Int(least, most) | Kind::Limit(LimitRange::Count { least, most }) => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Kind::Limit(LimitRange::Share) => json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        Kind::Limit(LimitRange::Amount) => json!({"type": "number", "exclusiveMinimum": 0}),
        _ => json!({"type": "string"}),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read fixtures")]

    use super::super::build::Builder;
    use super::short_schema;
    use crate::yaml::parse_all;

    /// covers: 2.8. What the reader accepts the schema accepts, and it knows unknown keys.
    #[test]
    fn templates_fit_the_schema_and_slips_do_not() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders =
            ["fixtures/templates/short", "../../templates", "../callsheet-core/src/template/operators/examples"];
        let schema = jsonschema::validator_for(&short_schema()).unwrap();
        let mut count = 0;
        for path in folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap()) {
            let path = path.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "yaml") {
                let text = std::fs::read_to_string(&path).unwrap();
                for node in parse_all(&text, 1, 64).0 {
                    let value = Builder::new(&text).json(&node);
                    let fault = schema.validate(&value).err().map(|fault| fault.to_string());
                    assert_eq!(fault, None, "{}", path.display());
                    count += 1;
                }
            }
        }
        assert!(count > 20, "{count}");
        for slip in ["template: a\naks: b", "ask: b", "template: a\ntasks: [{b: {ask: c, limit: 3}}]"] {
            let value = Builder::new(slip).json(&parse_all(slip, 1, 64).0[0]);
            assert!(!schema.is_valid(&value), "{slip}");
        }
    }
}
