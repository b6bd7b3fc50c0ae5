//! JSON Schemas of the front matter of skills, for editors and other programs. They accept `_` for `-`, like the
//! reader, which accepts more (spec 7.3).

use callsheet_core::nouns::SkillForm;
use serde_json::{Map, Value, json};

use super::read::{MAX_DESCRIPTION, MAX_NAME};
use super::table::{FOLDER_KEYS, KEYS, KeyKind, LIMITS, SkillKey};

/// Words with one space between them.
const NAME: &str = "^[A-Za-z0-9_-]+( [A-Za-z0-9_-]+)*$";
const MODEL: &str = "^([^/]+/.+|embedded:.*|scripted:.*)$";

/// The JSON Schema of the front matter of this form (spec 7.1, 7.3).
pub fn front_matter_schema(form: SkillForm) -> Value {
    let (title, keys) = match form {
        SkillForm::SingleFile => ("Front matter of a Callsheet skill, NAME.md", KEYS),
        SkillForm::Folder => ("Front matter of a skill in folder form, NAME/SKILL.md", FOLDER_KEYS),
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "required": ["description"],
        "properties": properties(keys, "", false),
        "additionalProperties": false,
    })
}

fn properties(keys: &[SkillKey], prefix: &str, quoted: bool) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut schema = of_kind(key.kind, quoted);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), key.about.into());
        }
        for name in key.names.iter().flat_map(|name| spellings(name)) {
            properties.insert(format!("{prefix}{name}"), schema.clone());
        }
    }
    properties.into()
}

/// A key with `-` between its words, and with `_`.
fn spellings(name: &str) -> [String; 2] {
    [name.replace('_', "-"), name.replace('-', "_")]
}

/// `quoted` means that values may be texts, because other programs write all metadata as texts.
fn of_kind(kind: KeyKind, quoted: bool) -> Value {
    match kind {
        KeyKind::Text => json!({ "type": ["string", "number", "boolean"] }),
        KeyKind::Name => json!({ "type": "string", "maxLength": MAX_NAME, "pattern": NAME }),
        KeyKind::Description => json!({ "type": "string", "minLength": 1, "maxLength": MAX_DESCRIPTION }),
        KeyKind::Lines => json!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" } },
        ] }),
        KeyKind::Flag if quoted => json!({ "enum": [true, false, "true", "false", "yes", "no", "on", "off"] }),
        KeyKind::Flag => json!({ "type": "boolean" }),
        KeyKind::Word(words) => json!({ "enum": words }),
        KeyKind::Tools => json!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" } },
        ] }),
        KeyKind::Model => json!({ "type": "string", "pattern": MODEL }),
        KeyKind::Limits => limits(quoted),
        KeyKind::Metadata => metadata(),
        KeyKind::Other => json!({}),
    }
}

fn limits(quoted: bool) -> Value {
    let mut properties = Map::new();
    for limit in LIMITS {
        let mut schema = json!({ "type": "integer", "minimum": 1, "maximum": limit.most });
        if quoted {
            schema = json!({ "anyOf": [schema, { "type": "string", "pattern": "^0*[1-9][0-9]*$" }] });
        }
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), limit.about.into());
        }
        for name in limit.names.iter().flat_map(|name| spellings(name)) {
            properties.insert(name, schema.clone());
        }
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Callsheet's keys with their prefix. Keys of other programs are unrestricted.
fn metadata() -> Value {
    let own: Vec<SkillKey> = KEYS.iter().filter(|key| !matches!(key.id, "name" | "description")).copied().collect();
    let properties = properties(&own, "callsheet-", true);
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let known = json!({ "anyOf": [{ "enum": names }, { "not": { "pattern": "^callsheet-" } }] });
    json!({ "type": "object", "properties": properties, "propertyNames": known })
}
