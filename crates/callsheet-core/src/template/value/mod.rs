//! Paths into values, expressions over values, and texts with placeholders (spec 4, 8). Readers accept every input.

mod expression;
mod parse;
mod path;
mod text;

pub use expression::{Comparison, Expression, Outcome, Term};
pub use path::{Path, Step, is_ident, is_template_name};
pub use text::{Filled, Piece, Written};

use serde_json::{Number, Value};

/// Whether two JSON values have the same type and value. Numbers are compared by value, and objects without regard to
/// the order of keys.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order_numbers(a, b) == Some(std::cmp::Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => a == b,
    }
}

/// The order of two numbers. Whole numbers are compared exactly, others as floating point.
pub fn order_numbers(a: &Number, b: &Number) -> Option<std::cmp::Ordering> {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// The truth of a value in a condition: `false null 0 ""` are false, all other values are true (spec 8).
pub fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// The text of a value inside another text: strings as they are, null as nothing, all other values as compact JSON
/// with the keys in their order (spec 4).
pub fn render(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text up to `most` bytes, cut at a character boundary, and whether it was cut.
pub(crate) fn cut(text: &str, most: usize) -> (&str, bool) {
    if text.len() <= most {
        return (text, false);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), true)
}
