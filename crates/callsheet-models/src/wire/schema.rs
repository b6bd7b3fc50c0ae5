//! Schemas of replies in the forms that vendors take. Whoever reads the reply checks it against the schema as it was. Pure.

use serde_json::{Map, Value, json};

/// How a vendor wants the schema of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaForm {
    /// As it is.
    #[default]
    Whole,
    /// Without bounds of lengths and numbers.
    Unbounded,
    /// Also every object closed, and no `oneOf`.
    Closed,
    /// Also every property required, and nothing beside a reference: OpenAI's strict mode.
    Strict,
    /// Not at all: the vendor takes none.
    Unsupported,
}

/// Bounds that vendors refuse.
const BOUNDS: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"];

/// Members that hold schemas by names of their own.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// Members that hold values, whatever these look like.
const VALUES: [&str; 4] = ["const", "enum", "default", "examples"];

impl SchemaForm {
    /// The schema in this form; `None`: none is sent.
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

    /// Vendors know `anyOf`, which takes all that `oneOf` takes.
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
