//! Shows where two requests differ, so that a person finds the place.

use serde_json::Value;

/// How many characters of each side are shown.
const SHOWN: usize = 60;

/// The first difference, or `None` if there is none.
pub(super) fn first_difference(recorded: &Value, asked: &Value) -> Option<String> {
    walk("", recorded, asked)
}

fn walk(path: &str, recorded: &Value, asked: &Value) -> Option<String> {
    match (recorded, asked) {
        (Value::Object(left), Value::Object(right)) => {
            let missing = right.keys().filter(|key| !left.contains_key(*key));
            left.keys().chain(missing).find_map(|key| {
                let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                either(&place, left.get(key), right.get(key))
            })
        }
        (Value::Array(left), Value::Array(right)) => (0..left.len().max(right.len()))
            .find_map(|position| either(&format!("{path}[{position}]"), left.get(position), right.get(position))),
        (Value::String(left), Value::String(right)) => in_text(path, left, right),
        _ if recorded == asked => None,
        _ => Some(format!("at {path}: recorded {}, asked {}", cut(&recorded.to_string()), cut(&asked.to_string()))),
    }
}

fn either(place: &str, recorded: Option<&Value>, asked: Option<&Value>) -> Option<String> {
    match (recorded, asked) {
        (Some(left), Some(right)) => walk(place, left, right),
        (Some(_), None) => Some(format!("at {place}: it was recorded, but the request lacks it")),
        (None, Some(_)) => Some(format!("at {place}: the request contains it, but it was not recorded")),
        (None, None) => None,
    }
}

fn in_text(path: &str, recorded: &str, asked: &str) -> Option<String> {
    if recorded == asked {
        return None;
    }
    let mut left = recorded.split('\n');
    let mut right = asked.split('\n');
    let mut line = 0_usize;
    loop {
        line = line.saturating_add(1);
        let (a, b) = (left.next(), right.next());
        if a != b {
            let show =
                |text: Option<&str>| text.map_or_else(|| "the end".to_owned(), |text| format!("{:?}", cut(text)));
            return Some(format!("at {path}, line {line}: recorded {}, asked {}", show(a), show(b)));
        }
        a?;
    }
}

/// How similar two requests are: the number of bytes that their texts share at the start and at the end.
pub(super) fn likeness(recorded: &Value, asked: &Value) -> usize {
    let (left, right) = (recorded.to_string(), asked.to_string());
    let same = |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(a, b)| a == b).count();
    same(&mut left.bytes().zip(right.bytes())) + same(&mut left.bytes().rev().zip(right.bytes().rev()))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
