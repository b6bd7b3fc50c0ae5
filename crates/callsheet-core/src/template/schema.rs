//! JSON Schema: what is one.

use serde_json::Value;

/// Whether a value is a JSON Schema. References to other documents are never followed.
///
/// # Errors
/// Why it is none.
pub(in crate::template) fn check(schema: &Value) -> Result<(), String> {
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err("an object is expected".to_owned());
    }
    jsonschema::validator_for(schema).map(drop).map_err(|error| error.to_string())
}
