//! Validates arguments with a tool's JSON schema (repair `json-coerced`, issue `tool-arguments`).

use callsheet_core::nouns::{ToolEffect, ToolSpec};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use crate::reading::clause;

use super::align::Aligner;

/// The maximum number of problems named in one issue.
const PROBLEMS: usize = 5;

/// A compiled schema. A schema that does not compile accepts every object, because that is our fault, not the model's.
pub(super) struct Schema {
    validator: Option<Validator>,
    parameters: Value,
    /// Whether the tool only reads.
    reads: bool,
}

/// The result of validating arguments.
pub(super) enum Fitted {
    /// They are valid unchanged.
    Valid(Value),
    /// They are valid after some values were converted.
    Coerced {
        /// The arguments to use.
        arguments: Value,
        /// The values changed.
        before: String,
        /// What they became.
        after: String,
        /// How many.
        count: usize,
    },
    /// They are invalid. Lists each problem with its place, the schema path and the expected type.
    Refused(String),
}

impl Schema {
    pub(super) fn of(tool: &ToolSpec) -> Self {
        let parameters = &tool.parameters;
        let reads = tool.effect == ToolEffect::Read;
        Self { validator: jsonschema::validator_for(parameters).ok(), parameters: parameters.clone(), reads }
    }

    /// Validates arguments. Words for problems are built only if somebody reads them (`told`).
    pub(super) fn fit(&self, arguments: Value, told: bool) -> Fitted {
        let Some(validator) = &self.validator else { return Fitted::Valid(arguments) };
        if validator.is_valid(&arguments) {
            return Fitted::Valid(arguments);
        }
        let mut aligner = Aligner::new(&self.parameters, self.reads);
        let aligned = aligner.align(arguments.clone(), &self.parameters);
        let changes = aligner.changes;
        if changes.is_empty() || !validator.is_valid(&aligned) {
            let words = || problems(validator, &self.parameters, &arguments);
            return Fitted::Refused(told.then(words).unwrap_or_default());
        }
        let join = |texts: Vec<&str>| texts.into_iter().take(16).collect::<Vec<_>>().join(", ");
        Fitted::Coerced {
            arguments: aligned,
            before: join(changes.iter().map(|change| change.before.as_str()).collect()),
            after: join(changes.iter().map(|change| change.after.as_str()).collect()),
            count: changes.len(),
        }
    }
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

/// The type of a missing argument according to the schema.
fn missing_type(error: &ValidationError<'_>, parameters: &Value) -> Option<String> {
    let ValidationErrorKind::Required { property: Value::String(name) } = error.kind() else { return None };
    let schema = error.schema_path().as_str().strip_suffix("/required")?.to_owned();
    let kind = parameters.pointer(&schema)?.get("properties")?.get(name)?.get("type")?;
    Some(kind.to_string())
}
