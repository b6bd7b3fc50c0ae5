//! Derives shapes from declarations: a type, a JSON Schema, an `output_format` (spec 2.5, 7).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::template::tree::{OnParseFailure, OutputFormat, OutputType, SchemaChoice};

use super::{Fields, Kinds, Shape};

/// The largest depth to which references and nested schemas are followed.
const DEEPEST: usize = 32;

/// The keywords that allow fields beside the `properties` of a map.
const OPENING: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "dependentSchemas",
    "unevaluatedProperties",
];

/// The shape of a declared output, if its declaration says enough. `named` returns the text of `schemas/NAME.json`.
pub fn declared(output: &OutputFormat, named: &dyn Fn(&str) -> Option<String>) -> Option<Shape> {
    if output.form == OutputType::Text {
        return None;
    }
    let shape = match output.schema.as_ref()? {
        SchemaChoice::Type(kind) => Shape::of_type(*kind),
        SchemaChoice::Inline(schema) => of_schema(schema),
        SchemaChoice::Named(name) => of_schema(&serde_json::from_str(&named(name)?).ok()?),
    };
    // An output that is not JSON stays a text.
    Some(if output.on_parse_failure == OnParseFailure::Fallback { shape.or_text() } else { shape })
}

/// The shape of all values that a JSON Schema allows.
pub fn of_schema(schema: &Value) -> Shape {
    within(schema, schema, 0)
}

fn within(schema: &Value, root: &Value, depth: usize) -> Shape {
    let Some(map) = schema.as_object().filter(|_| depth < DEEPEST) else { return Shape::any() };
    let inner = |schema: &Value| within(schema, root, depth + 1);
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(Shape::any, inner);
    }
    let kinds = kinds_of(map);
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|key| map.get(*key)?.as_array());
    if let Some(alternatives) = alternatives {
        let all = alternatives.iter().map(inner).fold(Shape::of(Kinds::NONE), |all, one| all.or(&one));
        let kinds = all.kinds.and(kinds);
        let says_more = ["properties", "items", "enum", "const", "allOf"].iter().any(|key| map.contains_key(*key));
        return if says_more { Shape::of(kinds) } else { Shape { kinds, ..all } };
    }
    let words = map.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let words = words.or_else(|| map.get("const").map(std::slice::from_ref));
    let words = words.map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let items = map.get("items").filter(|_| !map.contains_key("prefixItems"));
    Shape {
        words: words.filter(|_| kinds.meets(Kinds::TEXT)),
        element: items.filter(|items| items.is_object()).map(|items| Arc::new(inner(items))),
        fields: fields_of(map, &inner).map(Arc::new),
        ..Shape::of(kinds)
    }
}

fn kinds_of(map: &Map<String, Value>) -> Kinds {
    let word = |word: &Value| word.as_str().and_then(Kinds::of_word).unwrap_or(Kinds::ALL);
    let typed = match map.get("type") {
        Some(Value::Array(words)) => words.iter().map(word).fold(Kinds::NONE, Kinds::or),
        Some(one) => word(one),
        None => Kinds::ALL,
    };
    let values = map.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let values = values.or_else(|| map.get("const").map(std::slice::from_ref));
    let listed = values.map(|list| list.iter().map(Kinds::of_value).fold(Kinds::NONE, Kinds::or));
    typed.and(listed.unwrap_or(Kinds::ALL))
}

/// The fields of a schema with `properties`. The map has no other fields, unless the schema allows them.
fn fields_of(map: &Map<String, Value>, inner: &dyn Fn(&Value) -> Shape) -> Option<Fields> {
    let properties = map.get("properties")?.as_object()?;
    let required: Vec<&str> =
        map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let named = properties.iter().map(|(name, schema)| {
        let absent = !required.contains(&name.as_str());
        (name.clone(), Arc::new(inner(schema).missing(absent)))
    });
    let more = map.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    let open = more || OPENING.iter().any(|key| map.contains_key(*key));
    Some(Fields { named: named.collect::<BTreeMap<_, _>>(), open })
}
