//! Arguments and inputs (spec 4).

use std::sync::Arc;

use serde_json::Value;

use crate::template::result::{InputFaultDetails, Missing, TaskResult};
use crate::template::tree::{
    Argument, ArgumentValue, InputSource, Node, Origin, Param, PathUse, Template, ValueType, type_word,
};
use crate::template::value::{Filled, is_ident};

use super::environment::{Bound, Datum, Environment, Trust};
use super::resolve::resolve_text;

/// Why inputs cannot be bound: all names without a value and all values of wrong types.
pub type InputFault = InputFaultDetails;

/// An argument, evaluated in the environment of its caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// The parameter. `None` if the argument is positional.
    pub name: Option<String>,
    /// Its value.
    pub bound: Bound,
    /// Whether it was written as a text, which a typed parameter converts.
    pub literal: bool,
}

/// Evaluates an argument. `nested` is the result if the value is an operator.
///
/// # Errors
/// A name has no value.
pub fn argument_value(
    argument: &Argument,
    environment: &Environment,
    task: &str,
    nested: Option<(&TaskResult, Trust)>,
) -> Result<Evaluated, Vec<Missing>> {
    let mut missing = Vec::new();
    let origin = &argument.origin;
    let (bound, literal) = match &argument.value {
        ArgumentValue::Value(text) => text_value(text, environment, "arg", origin, task, &mut missing),
        ArgumentValue::From(from) => (from_value(from, environment, "arg", origin, task, &mut missing), false),
        ArgumentValue::Operator(_) | ArgumentValue::Unread => {
            let (value, trust) = nested.map_or((Value::Null, Trust::Author), |(result, trust)| (result.value(), trust));
            (Bound::json(value, trust), false)
        }
        ArgumentValue::Bare(text) => {
            let (bound, literal) = text_value(text, environment, "arg", origin, task, &mut missing);
            // A text filled by a model, a tool or a file never chooses a variable.
            let trusted = literal && bound.trust <= Trust::Caller;
            let value = bound.value();
            let named = value.as_str().filter(|_| trusted).map(str::trim).filter(|text| is_ident(text));
            match named.and_then(|name| environment.name(name)) {
                Some(variable) => (variable.clone(), false),
                None => (bound, literal),
            }
        }
    };
    if missing.is_empty() { Ok(Evaluated { name: argument.name.clone(), bound, literal }) } else { Err(missing) }
}

/// Fills a text. If the text is a single placeholder, its value keeps its type.
fn text_value(
    text: &Filled,
    environment: &Environment,
    field: &str,
    origin: &Origin,
    task: &str,
    missing: &mut Vec<Missing>,
) -> (Bound, bool) {
    if let Some(bound) = text.single().and_then(|path| environment.find(path)) {
        return (bound, false);
    }
    let filled = resolve_text(text, environment, field, origin, task, missing);
    (Bound::json(filled.as_str(), filled.trust()), true)
}

fn from_value(
    from: &PathUse,
    environment: &Environment,
    field: &str,
    origin: &Origin,
    task: &str,
    missing: &mut Vec<Missing>,
) -> Bound {
    environment.find(&from.path).unwrap_or_else(|| {
        missing.push(Missing {
            name: from.path.to_string(),
            field: field.to_owned(),
            task: task.to_owned(),
            file: origin.file.clone(),
            line: from.at.place.line,
            column: from.at.place.column,
            record: environment.record_of(&from.path),
            fields: environment.fields_of(&from.path),
        });
        Bound::json(Value::Null, Trust::Author)
    })
}

/// The environment of the body of a called template. A function template has a new root. A standard template has the
/// chain of its caller with the arguments inside.
///
/// # Errors
/// A parameter has no value, a value has a wrong type, or no parameter takes an argument.
pub fn bind_call(
    template: &Template,
    arguments: Vec<Evaluated>,
    caller: &Arc<Environment>,
    origin: &Origin,
    task: &str,
) -> Result<Environment, InputFault> {
    let Some(params) = &template.params else {
        let (mut fault, mut names) = (InputFault::default(), Vec::new());
        for argument in arguments {
            match argument.name {
                Some(name) => names.push((name, written(argument.bound, argument.literal))),
                None => fault.refuse("(positional)", "a named argument", "a positional argument"),
            }
        }
        return if fault.is_empty() { Ok(caller.inner(names)) } else { Err(fault) };
    };
    let given = arguments.into_iter().map(|one| (one.name, Some((one.bound, one.literal))));
    let names = bind_params(params, given.collect(), origin, task)?;
    Ok(Environment::root(names.into_iter().filter_map(|(name, bound)| Some((name, bound?)))))
}

/// A value, and whether it was written as a text. `None` if the value comes later.
pub(super) type Given = Option<(Bound, bool)>;

/// The values of parameters. Values that come later are not checked.
///
/// # Errors
/// A parameter has no value, a value has a wrong type, or no parameter takes an argument.
pub(super) fn bind_params(
    params: &[Param],
    arguments: Vec<(Option<String>, Given)>,
    origin: &Origin,
    task: &str,
) -> Result<Vec<(String, Option<Bound>)>, InputFault> {
    let mut fault = InputFault::default();
    let mut names: Vec<(String, Option<Bound>)> = Vec::new();
    let mut position = 0;
    for (name, given) in arguments {
        let param = match &name {
            Some(name) => params.iter().find(|param| param.name == *name),
            None => {
                position += 1;
                params.get(position - 1)
            }
        };
        let Some(param) = param else {
            fault.refuse(name.as_deref().unwrap_or("(positional)"), "a parameter", "none of that name");
            continue;
        };
        if given.as_ref().is_some_and(|(bound, _)| is_not_given(bound, param)) {
            continue;
        }
        match given.map(|(bound, literal)| typed(bound, param.kind, literal)).transpose() {
            Ok(bound) => names.push((param.name.clone(), bound)),
            Err(actual) => fault.refuse(&param.name, param.kind.as_str(), &actual),
        }
    }
    for param in params {
        let refused = fault.invalid.iter().any(|invalid| invalid.name == param.name);
        if refused || names.iter().any(|(name, _)| *name == param.name) {
            continue;
        }
        match &param.default {
            Some(default) => match typed(Bound::json(default.as_str(), Trust::Author), param.kind, true) {
                Ok(bound) => names.push((param.name.clone(), Some(bound))),
                Err(actual) => fault.refuse(&param.name, param.kind.as_str(), &actual),
            },
            None if param.required => fault.missing.push(Missing {
                name: param.name.clone(),
                field: "params".to_owned(),
                task: task.to_owned(),
                file: origin.file.clone(),
                line: origin.spot.place.line,
                column: origin.spot.place.column,
                record: None,
                fields: Vec::new(),
            }),
            None => names.push((param.name.clone(), Some(Bound::json(Value::Null, Trust::Author)))),
        }
    }
    if fault.is_empty() { Ok(names) } else { Err(fault) }
}

/// Whether an argument counts as not given. This is so for the null of an optional input without a value, if the
/// parameter is optional and does not take null.
fn is_not_given(bound: &Bound, param: &Param) -> bool {
    let null = bound.value().is_null();
    null && (param.default.is_some() || !param.required)
        && param.kind != ValueType::Any
        && !param.kind.holds(&Value::Null)
}

/// Turns a list or an object that an author wrote as text into a value (spec 4).
pub(super) fn written(bound: Bound, literal: bool) -> Bound {
    let text = match &bound.datum {
        Datum::Json(Value::String(text)) if literal && bound.trust == Trust::Author => text.trim(),
        _ => return bound,
    };
    if !text.starts_with(['[', '{']) {
        return bound;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Bound::json(value, bound.trust),
        Err(_) => bound,
    }
}

/// Converts a value for a typed parameter. A literal is parsed. A result becomes its text if the parameter is a
/// string.
fn typed(bound: Bound, kind: ValueType, literal: bool) -> Result<Bound, String> {
    if kind == ValueType::Any {
        return Ok(written(bound, literal));
    }
    if kind == ValueType::String && matches!(bound.datum, Datum::Result(_)) {
        return Ok(Bound::json(bound.text(), bound.trust));
    }
    let value = bound.value();
    if kind.holds(&value) {
        return Ok(bound);
    }
    let converted = value.as_str().filter(|_| literal).and_then(|text| kind.convert(text));
    converted.map(|value| Bound::json(value, bound.trust)).ok_or_else(|| type_word(&value).to_owned())
}

/// The names and values of a task's inputs. `nested` contains the results of inputs that are operators.
///
/// # Errors
/// A required input has no value, or a name in an input has none.
pub fn bind_inputs(
    node: &Node,
    environment: &Environment,
    task: &str,
    nested: &dyn Fn(&str) -> Option<(Value, Trust)>,
) -> Result<Vec<(String, Bound)>, Vec<Missing>> {
    let mut missing = Vec::new();
    let mut out = Vec::new();
    for input in &node.inputs {
        let before = missing.len();
        let origin = &input.origin;
        let own = match &input.source {
            InputSource::From(from) => environment.find(&from.path),
            InputSource::Operator(_) => nested(&input.name).map(|(value, trust)| Bound::json(value, trust)),
            InputSource::Text(text) => {
                let (bound, literal) = text_value(text, environment, "inputs", origin, task, &mut missing);
                (missing.len() == before).then(|| written(bound, literal))
            }
            InputSource::Caller => None,
        };
        let default = input.default.as_deref().map(|text| written(Bound::json(text, Trust::Author), true));
        let found = own.or_else(|| environment.name(&input.name).cloned()).or(default);
        match found {
            Some(bound) => {
                missing.truncate(before);
                out.push((input.name.clone(), bound));
            }
            None if !input.required => {
                missing.truncate(before);
                out.push((input.name.clone(), Bound::json(Value::Null, Trust::Author)));
            }
            None if missing.len() == before => missing.push(Missing {
                name: input.name.clone(),
                field: "inputs".to_owned(),
                task: task.to_owned(),
                file: origin.file.clone(),
                line: origin.spot.place.line,
                column: origin.spot.place.column,
                record: None,
                fields: Vec::new(),
            }),
            None => {}
        }
    }
    if missing.is_empty() { Ok(out) } else { Err(missing) }
}
