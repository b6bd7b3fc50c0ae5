//! Converts values to the types that a schema requires (repair `json-coerced`). One walk visits value and schema
//! together. A value of a wrong type is replaced if exactly one of its other readings fits, and otherwise kept. The
//! validator decides whether the whole is then valid.

use serde_json::{Map, Number, Value};

use crate::reply::json::whole;

/// Deeper schemas and values are left alone.
const DEPTH: usize = 32;

/// One converted value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    /// As written.
    pub before: String,
    /// The value as read. Empty if it was left out.
    pub after: String,
}

/// Walks values along a schema.
pub(super) struct Aligner<'a> {
    root: &'a Value,
    /// The conversions so far, in order.
    pub changes: Vec<Change>,
    /// Whether whole numbers beyond the limits of the schema are set to the limits. Only if the call changes nothing.
    clamps: bool,
    depth: usize,
}

impl<'a> Aligner<'a> {
    pub(super) fn new(root: &'a Value, clamps: bool) -> Self {
        Self { root, changes: Vec::new(), clamps, depth: 0 }
    }

    /// The value, converted to the schema as far as possible.
    pub(super) fn align(&mut self, value: Value, schema: &'a Value) -> Value {
        if self.depth >= DEPTH {
            return value;
        }
        self.depth += 1;
        let schema = self.branch(&value, self.resolved(schema));
        let aligned = if self.accepts(&value, schema) {
            self.inside(value, schema)
        } else {
            let mut fitting = readings(&value).into_iter().filter(|reading| self.fits(reading, schema, self.depth));
            match (fitting.next(), fitting.next()) {
                (Some(reading), None) => {
                    self.changes.push(Change { before: value.to_string(), after: reading.to_string() });
                    self.inside(reading, schema)
                }
                _ => value,
            }
        };
        self.depth -= 1;
        aligned
    }

    /// Converts members and items of a value that has the right type.
    fn inside(&mut self, value: Value, schema: &'a Value) -> Value {
        match value {
            Value::Object(map) => Value::Object(self.members(map, schema)),
            Value::Array(items) => match schema.get("items") {
                Some(kind @ Value::Object(_)) => {
                    Value::Array(items.into_iter().map(|item| self.align(item, kind)).collect())
                }
                _ => Value::Array(items),
            },
            Value::Number(number) if self.clamps => Value::Number(self.clamped(number, schema)),
            other => other,
        }
    }

    /// A whole number limited to the range of its schema. A negative number often means "all".
    fn clamped(&mut self, number: Number, schema: &'a Value) -> Number {
        let Some(written) = number.as_u64().filter(|_| schema.get("multipleOf").is_none()) else { return number };
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        let (least, most) = (bound("minimum").unwrap_or(0), bound("maximum").unwrap_or(u64::MAX));
        let read = written.max(least).min(most);
        if read == written || least > most {
            return number;
        }
        self.changes.push(Change { before: written.to_string(), after: read.to_string() });
        read.into()
    }

    fn members(&mut self, map: Map<String, Value>, schema: &'a Value) -> Map<String, Value> {
        let mut aligned = Map::new();
        for (key, value) in self.renamed(map, schema) {
            let Some(kind) = schema.get("properties").and_then(|kinds| kinds.get(&key)) else {
                aligned.insert(key, value);
                continue;
            };
            let optional = !schema
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|keys| keys.iter().any(|required| required.as_str() == Some(key.as_str())));
            // `null` for an optional argument means that the argument is absent.
            if value.is_null() && optional && !self.accepts(&value, self.resolved(kind)) {
                self.changes.push(Change { before: format!("\"{key}\": null"), after: String::new() });
                continue;
            }
            let value = self.align(value, kind);
            aligned.insert(key, value);
        }
        aligned
    }

    /// If there is one unknown name and one missing required argument, the value belongs to that argument, provided it
    /// has the right type.
    fn renamed(&mut self, map: Map<String, Value>, schema: &'a Value) -> Map<String, Value> {
        let Some(kinds) = schema.get("properties").and_then(Value::as_object) else { return map };
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<&str> = required.filter(|name| !map.contains_key(*name)).collect();
        let unknown: Vec<(&String, &Value)> = map.iter().filter(|(key, _)| !kinds.contains_key(*key)).collect();
        let ([name], [(written, value)]) = (missing.as_slice(), unknown.as_slice()) else { return map };
        if !kinds.get(*name).is_some_and(|kind| self.accepts(value, self.resolved(kind))) {
            return map;
        }
        let (name, written) = ((*name).to_owned(), (*written).clone());
        self.changes.push(Change { before: format!("\"{written}\""), after: format!("\"{name}\"") });
        map.into_iter().map(|(key, value)| (if key == written { name.clone() } else { key }, value)).collect()
    }

    /// The schema to which a reference inside the schema leads.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..8 {
            let Some(path) = schema.get("$ref").and_then(Value::as_str) else { break };
            let Some(target) = path.strip_prefix('#').and_then(|path| self.root.pointer(path)) else { break };
            schema = target;
        }
        schema
    }

    /// The only alternative of a schema that accepts the value, or that one of its other readings fits. Otherwise the
    /// schema itself.
    fn branch(&self, value: &Value, schema: &'a Value) -> &'a Value {
        let Some(branches) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)).and_then(Value::as_array) else {
            return schema;
        };
        let branches: Vec<&'a Value> = branches.iter().map(|branch| self.resolved(branch)).collect();
        for accepted in [true, false] {
            let mut fitting = branches.iter().filter(|branch| {
                if accepted { self.accepts(value, branch) } else { self.fits(value, branch, self.depth) }
            });
            match (fitting.next(), fitting.next()) {
                (Some(branch), None) => return branch,
                (Some(_), Some(_)) => return schema,
                _ => {}
            }
        }
        schema
    }

    /// Whether the schema accepts a value of this type, regardless of members and items.
    fn accepts(&self, value: &Value, schema: &'a Value) -> bool {
        let named = match schema.get("type") {
            Some(Value::String(kind)) => is_kind(value, kind),
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(|kind| is_kind(value, kind)),
            _ => true,
        };
        let listed = schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(value))
            && schema.get("const").is_none_or(|constant| constant == value);
        let branched = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)?.as_array()).all(|branches| {
            branches.iter().any(|branch| {
                let branch = self.resolved(branch);
                // One level of alternatives. Deeper ones are left to the validator.
                !["anyOf", "oneOf"].iter().any(|key| branch.get(key).is_some()) && self.accepts(value, branch)
            })
        });
        named && listed && branched
    }

    /// Whether a value can satisfy the schema: unchanged, or with other readings of its items.
    fn fits(&self, value: &Value, schema: &'a Value, depth: usize) -> bool {
        if depth >= DEPTH {
            return false;
        }
        let schema = self.resolved(schema);
        if !self.accepts(value, schema) {
            let readings = readings(value);
            return readings.iter().filter(|reading| self.fits(reading, schema, DEPTH - 1)).count() == 1;
        }
        match (value, schema.get("items")) {
            (Value::Array(items), Some(kind @ Value::Object(_))) => {
                items.iter().all(|item| self.fits(item, kind, depth + 1))
            }
            _ => true,
        }
    }
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// The other readings of a value: the number, boolean, list or object that a text spells, and a list that contains only
/// the value.
fn readings(value: &Value) -> Vec<Value> {
    let mut readings = Vec::new();
    if let Value::String(text) = value {
        let text = text.trim();
        if let Ok(number) = text.parse::<Number>() {
            readings.push(Value::Number(number));
        }
        match text.to_ascii_lowercase().as_str() {
            "true" => readings.push(Value::Bool(true)),
            "false" => readings.push(Value::Bool(false)),
            _ => {}
        }
        if text.starts_with(['[', '{'])
            && let Some(inner) = whole(text)
        {
            readings.push(inner);
        }
    }
    if !matches!(value, Value::Array(_) | Value::Null) {
        readings.push(Value::Array(vec![value.clone()]));
    }
    readings
}
