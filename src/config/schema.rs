//! The JSON Schema of `config.toml`, for editors and other programs. It is generated from the key table.

use callsheet_core::nouns::Settings;
use serde_json::{Map, Value, json};

use super::keys::{KEYS, Key, Kind, STANDING_HEADLESS, SetBy};

/// The JSON Schema of `config.toml`, with built-in values as `default`.
pub fn config_schema() -> Value {
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let mut root = table();
    for key in KEYS {
        let mut schema = of_key(key);
        let default = key.name.split('.').try_fold(&defaults, |tree, part| tree.get(part));
        if let (Some(object), Some(default)) = (schema.as_object_mut(), default)
            && (default.is_number() || default.is_boolean() || default.is_string())
        {
            object.insert("default".to_owned(), default.clone());
        }
        let parts: Vec<&str> = key.name.split('.').collect();
        lay(&mut root, &parts, schema);
    }
    let mut whole = Map::new();
    whole.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    whole.insert("title".to_owned(), "Configuration of Callsheet, config.toml".into());
    whole.extend(root);
    whole.into()
}

fn table() -> Map<String, Value> {
    let mut table = Map::new();
    table.insert("type".to_owned(), "object".into());
    table.insert("properties".to_owned(), json!({}));
    table.insert("additionalProperties".to_owned(), false.into());
    table
}

/// Puts a schema at the place of a dotted name. `*` stands for any name.
fn lay(table_schema: &mut Map<String, Value>, parts: &[&str], schema: Value) {
    let Some((first, rest)) = parts.split_first() else { return };
    let slot = if *first == "*" {
        table_schema.entry("additionalProperties").or_insert(Value::Null)
    } else {
        match table_schema.get_mut("properties").and_then(Value::as_object_mut) {
            Some(properties) => properties.entry(*first).or_insert(Value::Null),
            None => return,
        }
    };
    if rest.is_empty() {
        *slot = schema;
        return;
    }
    if !slot.is_object() {
        *slot = table().into();
    }
    if let Some(inner) = slot.as_object_mut() {
        lay(inner, rest, schema);
    }
}

fn of_key(key: &Key) -> Value {
    let mut schema = match key.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Count => json!({ "type": "integer", "minimum": 0 }),
        Kind::AtLeastOne => json!({ "type": "integer", "minimum": 1 }),
        Kind::Share => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        Kind::Number => json!({ "type": "number", "minimum": 0 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::List => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Command => json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] }),
        // A file never gives an approval itself (spec 11.8).
        Kind::Headless => json!({ "enum": STANDING_HEADLESS }),
    };
    if let Some(object) = schema.as_object_mut() {
        let trust = match key.set_by {
            SetBy::AnyProject => "",
            SetBy::TrustedProject => "; in a project's file only after `callsheet trust`",
            SetBy::User => "; only in your own configuration",
        };
        object.insert("description".to_owned(), format!("{}{trust}", key.about).into());
    }
    schema
}
