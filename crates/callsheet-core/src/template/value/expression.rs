//! Expressions of conditions. They always terminate and contain no arithmetic and no call except `len` (spec 8).

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path::Path;
use super::{equal, order_numbers, parse, truth};

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They have the same JSON type and value.
    Equal,
    /// Not equal.
    Unequal,
    /// The left one is less. Both are numbers or both are strings.
    Less,
    /// Less or equal.
    AtMost,
    /// Greater.
    Greater,
    /// Greater or equal.
    AtLeast,
    /// The left one is an element of a list, or a part of a text.
    In,
}

/// An expression as a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A literal.
    Literal(Value),
    /// A variable.
    Path(Path),
    /// `!`
    Not(Box<Term>),
    /// `&&` with two or more terms.
    All(Vec<Term>),
    /// `||` with two or more terms.
    Any(Vec<Term>),
    /// A comparison.
    Compare(Box<Term>, Comparison, Box<Term>),
    /// `len(…)`
    Length(Box<Term>),
}

/// A parsed expression with its text. It is recorded as its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expression {
    text: String,
    root: Term,
}

/// The outcome of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it is true.
    pub holds: bool,
    /// The unknown paths that it uses, in the order of their text.
    pub unknown: BTreeSet<Path>,
}

impl Expression {
    /// Parses an expression. A fault is its byte offset and a description.
    ///
    /// # Errors
    /// The text does not follow the grammar or exceeds its bounds.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        Self::read(text).map(|(expression, _)| expression)
    }

    /// Parses an expression, and says whether a name was written in another way (spec 2.6).
    pub fn read(text: &str) -> Result<(Self, bool), (usize, String)> {
        let (root, canonical) = parse::parse(text)?;
        let alias = canonical != text.trim();
        Ok((Self { text: canonical, root }, alias))
    }

    /// The text as written, with canonical names.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its tree.
    pub fn root(&self) -> &Term {
        &self.root
    }

    /// Evaluates it. `lookup` returns the values of paths.
    pub fn evaluate(&self, lookup: &mut dyn FnMut(&Path) -> Option<Value>) -> Outcome {
        let mut unknown = BTreeSet::new();
        let holds = evaluate(&self.root, lookup, &mut unknown).is_some_and(|value| truth(&value));
        Outcome { holds, unknown }
    }

    /// All paths in it, in the order of their text.
    pub fn paths(&self) -> BTreeSet<&Path> {
        let mut paths = BTreeSet::new();
        let mut open = vec![&self.root];
        while let Some(operand) = open.pop() {
            match operand {
                Term::Literal(_) => {}
                Term::Path(path) => drop(paths.insert(path)),
                Term::Not(inner) | Term::Length(inner) => open.push(inner),
                Term::All(all) | Term::Any(all) => open.extend(all),
                Term::Compare(left, _, right) => open.extend([&**left, &**right]),
            }
        }
        paths
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Expression> for String {
    fn from(expression: Expression) -> Self {
        expression.text
    }
}

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).map_err(|(_, message)| message)
    }
}

/// The value of a term. `None` if a name is unknown. The parser limits the depth.
fn evaluate(
    operand: &Term,
    lookup: &mut dyn FnMut(&Path) -> Option<Value>,
    unknown: &mut BTreeSet<Path>,
) -> Option<Value> {
    let mut holds = |operand: &Term| evaluate(operand, lookup, unknown).is_some_and(|value| truth(&value));
    match operand {
        Term::Literal(value) => Some(value.clone()),
        Term::Path(path) => {
            let value = lookup(path);
            if value.is_none() {
                unknown.insert(path.clone());
            }
            value
        }
        Term::Not(inner) => Some(Value::Bool(!holds(inner))),
        Term::All(all) => Some(Value::Bool(all.iter().all(holds))),
        Term::Any(any) => Some(Value::Bool(any.iter().any(holds))),
        Term::Compare(left, comparison, right) => {
            let left = evaluate(left, lookup, unknown);
            let right = evaluate(right, lookup, unknown);
            let holds = left.zip(right).is_some_and(|(left, right)| compare(&left, *comparison, &right));
            Some(Value::Bool(holds))
        }
        Term::Length(inner) => length(&evaluate(inner, lookup, unknown)?).map(Value::from),
    }
}

/// The number of elements of a list, fields of a map, or characters of a text. Other values have no length.
fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Array(list) => Some(list.len()),
        Value::Object(map) => Some(map.len()),
        Value::String(text) => Some(text.chars().count()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn is_in(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (_, Value::Array(list)) => list.iter().any(|element| equal(part, element)),
        (Value::String(part), Value::String(whole)) => whole.contains(part.as_str()),
        _ => false,
    }
}

fn compare(left: &Value, comparison: Comparison, right: &Value) -> bool {
    let order = match (left, right) {
        (Value::Number(left), Value::Number(right)) => order_numbers(left, right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    };
    match comparison {
        Comparison::Equal => equal(left, right),
        Comparison::Unequal => !equal(left, right),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::AtMost => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::AtLeast => order.is_some_and(Ordering::is_ge),
        Comparison::In => is_in(left, right),
    }
}
