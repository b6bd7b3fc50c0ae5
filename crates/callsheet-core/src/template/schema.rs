//! JSON Schema: compiling and checking, with the violations as plain text.

use serde_json::Value;

/// Most violations that are listed.
const MOST: usize = 50;

/// A schema ready to check values.
#[derive(Debug)]
pub struct Schema(jsonschema::Validator);

/// What a value breaks, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer into the value.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

/// Compiles a schema. References to other documents are never followed.
///
/// # Errors
/// It is no JSON Schema.
pub fn compile(schema: &Value) -> Result<Schema, String> {
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err("an object is expected".to_owned());
    }
    jsonschema::validator_for(schema).map(Schema).map_err(|error| match elsewhere(schema) {
        Some(reference) => {
            format!("`{reference}` is in another document, which Callsheet never reads; copy it into this one")
        }
        None => error.to_string(),
    })
}

/// The first reference to another document.
fn elsewhere(schema: &Value) -> Option<&str> {
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                let reference = map.get("$ref").and_then(Value::as_str).filter(|text| !text.starts_with('#'));
                if reference.is_some() {
                    return reference;
                }
                open.extend(map.values());
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    None
}

/// Compiles the text of a schema.
///
/// # Errors
/// It is no JSON, or no JSON Schema.
pub fn read(text: &str) -> Result<Schema, String> {
    let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    compile(&schema)
}

impl Schema {
    /// Every violation, up to fifty.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        self.0
            .iter_errors(value)
            .take(MOST)
            .map(|error| Violation { path: error.instance_path().to_string(), message: error.to_string() })
            .collect()
    }
}
