//! Converts reply schemas to the forms that vendors accept. The reader of the reply checks it against the original
//! schema. Pure.

use serde_json::{Map, Value, json};

/// The form of reply schema that a vendor accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaForm {
    /// Unchanged.
    #[default]
    Whole,
    /// Without bounds of lengths and numbers.
    Unbounded,
    /// Also with every object closed, and without `oneOf`.
    Closed,
    /// Also with every property required, and nothing beside a reference: OpenAI's strict mode.
    Strict,
    /// None: the vendor accepts no schema.
    Unsupported,
}

/// Bounds that vendors refuse.
const BOUNDS: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"];

/// Members that contain schemas by name.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// Members that contain values, whatever the values look like.
const VALUES: [&str; 4] = ["const", "enum", "default", "examples"];

impl SchemaForm {
    /// The schema in this form. `None` if none is sent.
    pub fn of(self, schema: &Value) -> Option<Value> {
        match self {
            Self::Unsupported => None,
            Self::Whole => Some(schema.clone()),
            Self::Unbounded | Self::Closed | Self::Strict => Some(self.reduced(schema)),
        }
    }

    fn reduced(self, schema: &Value) -> Value {
        match schema {
            Value::Object(members) if self == Self::Strict && members.contains_key("$ref") => {
                let kept = ["$ref", "$defs", "definitions"].into_iter().filter_map(|name| members.get_key_value(name));
                Value::Object(kept.map(|(name, value)| (name.clone(), self.member(name, value))).collect())
            }
            Value::Object(members) => Value::Object(self.object(members)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.reduced(item)).collect()),
            other => other.clone(),
        }
    }

    fn object(self, members: &Map<String, Value>) -> Map<String, Value> {
        let kept = members.iter().filter(|(name, value)| !(BOUNDS.contains(&name.as_str()) && value.is_number()));
        let mut reduced: Map<String, Value> =
            kept.map(|(name, value)| (self.member_name(name, members), self.member(name, value))).collect();
        if self == Self::Unbounded {
            return reduced;
        }
        let properties = reduced.get("properties").and_then(Value::as_object);
        let names: Option<Vec<String>> = properties.map(|properties| properties.keys().cloned().collect());
        if names.is_some() || reduced.get("type") == Some(&json!("object")) {
            reduced.entry("additionalProperties").or_insert(json!(false));
        }
        if let Some(names) = names.filter(|_| self == Self::Strict) {
            reduced.insert("required".to_owned(), json!(names));
        }
        reduced
    }

    /// Vendors know `anyOf`, which accepts everything that `oneOf` accepts.
    fn member_name(self, name: &str, members: &Map<String, Value>) -> String {
        let closes = matches!(self, Self::Closed | Self::Strict);
        if closes && name == "oneOf" && !members.contains_key("anyOf") { "anyOf".to_owned() } else { name.to_owned() }
    }

    fn member(self, name: &str, value: &Value) -> Value {
        match value {
            Value::Object(schemas) if NAMED.contains(&name) => {
                Value::Object(schemas.iter().map(|(name, schema)| (name.clone(), self.reduced(schema))).collect())
            }
            value if VALUES.contains(&name) => value.clone(),
            value => self.reduced(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_keeps_what_its_vendors_take() {
        let schema = json!({
            "type": "object", "properties": {"oneOf": {"type": "string", "minLength": 1}, "minimum": {"type": "integer"}},
        });
        let bare = json!({"oneOf": {"type": "string"}, "minimum": {"type": "integer"}});
        for (form, expected) in [
            (SchemaForm::Unsupported, None),
            (SchemaForm::Whole, Some(schema.clone())),
            (SchemaForm::Unbounded, Some(json!({"type": "object", "properties": bare}))),
            (SchemaForm::Closed, Some(json!({"type": "object", "properties": bare, "additionalProperties": false}))),
            (
                SchemaForm::Strict,
                Some(json!({
                    "type": "object", "properties": bare, "additionalProperties": false, "required": ["oneOf", "minimum"],
                })),
            ),
        ] {
            assert_eq!(form.of(&schema), expected, "{form:?}");
        }
    }

    #[test]
    fn values_of_a_schema_are_no_schemas() {
        let schema = json!({"const": {"oneOf": [1], "type": "object"}, "default": {"properties": {}}});
        assert_eq!(SchemaForm::Strict.of(&schema), Some(schema));
    }
}
