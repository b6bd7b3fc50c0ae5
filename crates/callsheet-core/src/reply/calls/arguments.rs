//! Arguments against a tool's JSON schema (repair `json-coerced`, issue `tool-arguments`).

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Number, Value};

use crate::reply::words::clause;

/// Problems named in one issue.
const PROBLEMS: usize = 5;

/// Values changed in one call; more means that the call is not nearly right.
const COERCIONS: usize = 16;

/// Places tried for each change; with the cap above it bounds the work on hopeless arguments.
const PLACES: usize = 8;

/// A compiled schema; a schema that does not compile accepts every object, since that is our fault, not the model's.
pub(super) struct Schema {
    validator: Option<Validator>,
    parameters: Value,
}

/// What became of arguments.
pub(super) enum Fitted {
    /// They hold as they stand.
    Valid(Value),
    /// They hold after values were read as the type the schema asks for.
    Coerced {
        /// The arguments to use.
        arguments: Value,
        /// The first values changed.
        before: String,
        /// What they became.
        after: String,
    },
    /// They do not hold; each problem with its place, the schema path and the expected type.
    Refused(String),
}

impl Schema {
    pub(super) fn of(parameters: &Value) -> Self {
        Self { validator: jsonschema::validator_for(parameters).ok(), parameters: parameters.clone() }
    }

    pub(super) fn fit(&self, arguments: Value) -> Fitted {
        let Some(validator) = &self.validator else { return Fitted::Valid(arguments) };
        if validator.is_valid(&arguments) {
            return Fitted::Valid(arguments);
        }
        let mut mended = arguments.clone();
        let mut changes: Vec<(Value, Value)> = Vec::new();
        while changes.len() < COERCIONS {
            let Some(change) = coerce_one(validator, &mut mended) else { break };
            changes.push(change);
            if validator.is_valid(&mended) {
                let list =
                    |values: Vec<&Value>| values.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
                return Fitted::Coerced {
                    before: list(changes.iter().map(|(before, _)| before).collect()),
                    after: list(changes.iter().map(|(_, after)| after).collect()),
                    arguments: mended,
                };
            }
        }
        Fitted::Refused(problems(validator, &self.parameters, &arguments))
    }
}

/// Changes the first value that has exactly one reading of an expected type under which its own problem goes away.
fn coerce_one(validator: &Validator, arguments: &mut Value) -> Option<(Value, Value)> {
    let places: Vec<String> = validator
        .iter_errors(arguments)
        .filter(|error| {
            matches!(
                error.kind(),
                ValidationErrorKind::Type { .. }
                    | ValidationErrorKind::AnyOf { .. }
                    | ValidationErrorKind::OneOfNotValid { .. }
                    | ValidationErrorKind::Enum { .. }
            )
        })
        .take(PLACES)
        .map(|error| error.instance_path().as_str().to_owned())
        .collect();
    for place in places {
        if place.is_empty() {
            continue;
        }
        let Some(before) = arguments.pointer(&place).cloned() else { continue };
        let fits: Vec<Value> = readings(&before)
            .into_iter()
            .filter(|reading| {
                let mut trial = arguments.clone();
                let Some(slot) = trial.pointer_mut(&place) else { return false };
                *slot = reading.clone();
                let prefix = format!("{place}/");
                // A list made of the value may still hold a text where a number is expected: that is the next change.
                !validator.iter_errors(&trial).any(|error| {
                    let at = error.instance_path().as_str();
                    at == place || at.starts_with(&prefix) && readings_at(&trial, at).is_empty()
                })
            })
            .collect();
        if let [reading] = fits.as_slice()
            && let Some(slot) = arguments.pointer_mut(&place)
        {
            *slot = reading.clone();
            return Some((before, reading.clone()));
        }
    }
    None
}

fn readings_at(value: &Value, place: &str) -> Vec<Value> {
    value.pointer(place).map(readings).unwrap_or_default()
}

/// The other readings of a value: the number or truth value that a text spells, and a list of it.
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
    }
    if !matches!(value, Value::Array(_) | Value::Null) {
        readings.push(Value::Array(vec![value.clone()]));
    }
    readings
}

fn problems(validator: &Validator, parameters: &Value, arguments: &Value) -> String {
    let mut problems: Vec<String> = Vec::new();
    let mut more = 0usize;
    for error in validator.iter_errors(arguments).take(100) {
        if problems.len() >= PROBLEMS {
            more += 1;
            continue;
        }
        let place = match error.instance_path().as_str() {
            "" => "/",
            place => place,
        };
        let what = error.masked().to_string();
        let mut what: String = what.chars().take(200).collect();
        if let Some(kind) = missing_type(&error, parameters) {
            what = clause("problem-type", &[("what", &what), ("kind", &kind)]);
        }
        let facts = [("place", place), ("what", &what), ("schema", error.schema_path().as_str())];
        problems.push(clause("problem", &facts));
    }
    if more > 0 {
        problems.push(clause("problem-more", &[("count", &more.to_string())]));
    }
    problems.join("; ")
}

/// The type that the schema gives a missing argument.
fn missing_type(error: &ValidationError<'_>, parameters: &Value) -> Option<String> {
    let ValidationErrorKind::Required { property: Value::String(name) } = error.kind() else { return None };
    let schema = error.schema_path().as_str().strip_suffix("/required")?.to_owned();
    let kind = parameters.pointer(&schema)?.get("properties")?.get(name)?.get("type")?;
    Some(kind.to_string())
}
