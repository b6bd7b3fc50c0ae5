//! JSON schemas as grammars: the keywords that our tools use, with limits on every text, list and depth. Properties
//! have the order of the schema; properties that the schema does not name are not written.

use serde_json::{Map, Value};

use super::pattern::{DIGIT, DIGIT_FIRST, JSON_ESCAPED, JSON_PLAIN, Node, Pattern};

/// The maximum number of characters of a text.
const MAX_TEXT: u64 = 400;
/// The maximum number of items of a list.
const MAX_ITEMS: u64 = 8;
/// The maximum number of levels of nesting. Deeper values are scalars.
const MAX_DEPTH: u32 = 6;
/// Ranges of whole numbers up to this size are listed one by one.
const MAX_LISTED: i64 = 64;

/// The grammar of values of `schema`.
pub(super) fn lower(schema: &Value) -> Node {
    value(schema, schema, 0)
}

fn value(schema: &Value, root: &Value, depth: u32) -> Node {
    let Some(object) = schema.as_object() else { return any(depth) };
    if depth > MAX_DEPTH {
        return any(depth);
    }
    if let Some(target) = object.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.map_or_else(|| any(depth), |schema| value(schema, root, depth + 1));
    }
    if let Some(constant) = object.get("const") {
        return Node::Text(constant.to_string());
    }
    if let Some(values) = object.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty()) {
        return Node::Choice(values.iter().map(|value| Node::Text(value.to_string())).collect());
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(branches) = object.get(key).and_then(Value::as_array).filter(|branches| !branches.is_empty()) {
            return Node::Choice(branches.iter().map(|branch| value(branch, root, depth + 1)).collect());
        }
    }
    match object.get("type") {
        Some(Value::String(kind)) => typed(kind, object, root, depth),
        Some(Value::Array(kinds)) if kinds.iter().any(Value::is_string) => {
            Node::Choice(kinds.iter().filter_map(Value::as_str).map(|kind| typed(kind, object, root, depth)).collect())
        }
        _ if object.contains_key("properties") => typed("object", object, root, depth),
        _ => any(depth),
    }
}

fn typed(kind: &str, schema: &Map<String, Value>, root: &Value, depth: u32) -> Node {
    match kind {
        "object" => members(schema, root, depth),
        "array" => array(schema, root, depth),
        "string" => string(number_of(schema, "minLength").unwrap_or(0), number_of(schema, "maxLength")),
        "integer" => integer(schema.get("minimum"), schema.get("maximum")),
        "number" => number(),
        "boolean" => boolean(),
        "null" => Node::Text("null".into()),
        _ => any(depth),
    }
}

fn number_of(schema: &Map<String, Value>, key: &str) -> Option<u64> {
    schema.get(key).and_then(Value::as_u64)
}

fn members(schema: &Map<String, Value>, root: &Value, depth: u32) -> Node {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return open_object(depth) };
    let required = |name: &str| {
        let listed = schema.get("required").and_then(Value::as_array);
        listed.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
    };
    let pairs: Vec<(bool, Node)> = properties
        .iter()
        .map(|(name, schema)| {
            let key = Node::Text(format!("{}: ", Value::from(name.as_str())));
            (required(name), Node::Seq(vec![key, value(schema, root, depth + 1)]))
        })
        .collect();
    match first_of(&pairs) {
        Some(members) => Node::Seq(vec![Node::Text("{".into()), members, Node::Text("}".into())]),
        None => Node::Text("{}".into()),
    }
}

/// Members from this one on if none was written yet, so the next one gets no comma.
fn first_of(pairs: &[(bool, Node)]) -> Option<Node> {
    let ((required, pair), rest) = pairs.split_first()?;
    let mut with = vec![pair.clone()];
    for (required, pair) in rest {
        let more = Node::Seq(vec![Node::Text(", ".into()), pair.clone()]);
        with.push(if *required { more } else { Node::Repeat(Box::new(more), 0, 1) });
    }
    let with = Node::Seq(with);
    Some(match first_of(rest) {
        _ if *required => with,
        Some(without) => Node::Choice(vec![with, without]),
        None => Node::Repeat(Box::new(with), 0, 1),
    })
}

fn array(schema: &Map<String, Value>, root: &Value, depth: u32) -> Node {
    let item = schema.get("items").map_or_else(|| any(depth + 1), |items| value(items, root, depth + 1));
    let min = number_of(schema, "minItems").unwrap_or(0).min(MAX_ITEMS);
    let max = number_of(schema, "maxItems").unwrap_or(MAX_ITEMS).clamp(min, MAX_ITEMS);
    list("[", item, "]", min, max)
}

fn list(open: &str, item: Node, close: &str, min: u64, max: u64) -> Node {
    let (min, max) = (u32::try_from(min).unwrap_or(0), u32::try_from(max).unwrap_or(0));
    let (open, close) = (Node::Text(open.into()), Node::Text(close.into()));
    if max == 0 {
        return Node::Seq(vec![open, close]);
    }
    let more = Node::Seq(vec![Node::Text(", ".into()), item.clone()]);
    let items = Node::Seq(vec![item, Node::Repeat(Box::new(more), min.saturating_sub(1), max - 1)]);
    let items = if min == 0 { Node::Repeat(Box::new(items), 0, 1) } else { items };
    Node::Seq(vec![open, items, close])
}

fn string(min: u64, max: Option<u64>) -> Node {
    let min = min.min(MAX_TEXT);
    let max = max.unwrap_or(MAX_TEXT).clamp(min, MAX_TEXT);
    let escaped = Pattern::Seq(vec![Pattern::Text("\\".into()), Pattern::Class(JSON_ESCAPED)]);
    let character = Pattern::Choice(vec![Pattern::Class(JSON_PLAIN), escaped]);
    let (min, max) = (u32::try_from(min).unwrap_or(0), u32::try_from(max).unwrap_or(0));
    Node::Pattern(Pattern::Seq(vec![
        Pattern::Text("\"".into()),
        Pattern::Repeat(Box::new(character), min, max),
        Pattern::Text("\"".into()),
    ]))
}

fn minus() -> Pattern {
    Pattern::Repeat(Box::new(Pattern::Text("-".into())), 0, 1)
}

fn digits(max: u32) -> Pattern {
    let rest = Pattern::Repeat(Box::new(Pattern::Class(DIGIT)), 0, max.saturating_sub(1));
    let many = Pattern::Seq(vec![Pattern::Class(DIGIT_FIRST), rest]);
    Pattern::Choice(vec![Pattern::Text("0".into()), many])
}

fn integer(minimum: Option<&Value>, maximum: Option<&Value>) -> Node {
    let (low, high) = (minimum.and_then(Value::as_i64), maximum.and_then(Value::as_i64));
    if let (Some(low), Some(high)) = (low, high)
        && high.checked_sub(low).is_some_and(|span| (0..=MAX_LISTED).contains(&span))
    {
        return Node::Choice((low..=high).map(|n| Node::Text(n.to_string())).collect());
    }
    let places = |n: i64| n.unsigned_abs().max(1).ilog10() + 1;
    // Wider ranges are limited by their number of digits. Validation checks the rest.
    let max = high.map_or(9, |high| places(high).max(low.map_or(1, places)));
    let many =
        |class| Pattern::Seq(vec![Pattern::Class(class), Pattern::Repeat(Box::new(Pattern::Class(DIGIT)), 0, max - 1)]);
    Node::Pattern(match low {
        Some(low) if low > 0 => many(DIGIT_FIRST),
        Some(0) => digits(max),
        _ => Pattern::Seq(vec![minus(), digits(max)]),
    })
}

fn number() -> Node {
    let places = Pattern::Repeat(Box::new(Pattern::Class(DIGIT)), 1, 6);
    let fraction = Pattern::Seq(vec![Pattern::Text(".".into()), places]);
    Node::Pattern(Pattern::Seq(vec![minus(), digits(9), Pattern::Repeat(Box::new(fraction), 0, 1)]))
}

fn boolean() -> Node {
    Node::Choice(vec![Node::Text("true".into()), Node::Text("false".into())])
}

/// Any value: scalars, and near the root also a flat list or object of scalars.
fn any(depth: u32) -> Node {
    let mut kinds = vec![string(0, None), number(), boolean(), Node::Text("null".into())];
    if depth < 2 {
        kinds.push(list("[", any(2), "]", 0, MAX_ITEMS));
        kinds.push(open_object(1));
    }
    Node::Choice(kinds)
}

fn open_object(depth: u32) -> Node {
    let pair = Node::Seq(vec![string(1, Some(40)), Node::Text(": ".into()), any(depth + 1)]);
    list("{", pair, "}", 0, MAX_ITEMS)
}
