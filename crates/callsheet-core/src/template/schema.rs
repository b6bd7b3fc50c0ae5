//! Compiles JSON Schemas and checks values against them. Violations are plain text.

use serde_json::Value;

/// The largest number of violations that are listed.
const MOST: usize = 50;

/// A compiled schema that checks values.
#[derive(Debug)]
pub struct Schema(jsonschema::Validator);

/// A violation of a schema and its place in the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The JSON pointer into the value.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

/// Compiles a schema. References to other documents are never followed.
///
/// # Errors
/// The value is not a JSON Schema.
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

/// The first reference to another document, if there is one.
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
/// The text is not JSON, or not a JSON Schema.
pub fn read(text: &str) -> Result<Schema, String> {
    let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    compile(&schema)
}

impl Schema {
    /// All violations, up to fifty.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        self.0
            .iter_errors(value)
            .take(MOST)
            .map(|error| Violation { path: error.instance_path().to_string(), message: error.to_string() })
            .collect()
    }
}
