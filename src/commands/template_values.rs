//! The input values of `template run`.

use callsheet_core::evaluate::input_fault;
use callsheet_core::record::Tree;
use callsheet_core::template::names::astray_in;
use callsheet_core::template::{Environment, Path, Step, Template, ValueType, missing_before_run, names_asked};
use callsheet_format::values::ValueForm;
use serde_json::Value;

use crate::cli::Failure;
use crate::setup::{Setup, shell_word};
use crate::term::one_line;

use super::run::request_text;

/// Adds a value: `k=v`, `k=@file`, `k:=json`, `k:=@file`. Anything else is text for the task, and `-` is the text
/// from stdin.
pub(super) fn take_value(setup: &Setup, tree: &mut Tree, given: &str) -> Result<(), Failure> {
    let Some((key, value)) = given.split_once('=').filter(|(key, _)| is_name(key)) else {
        let text = request_text(given)?;
        let joint = if tree.text.is_empty() { "" } else { " " };
        tree.text = format!("{}{joint}{text}", tree.text);
        return Ok(());
    };
    let (key, value) = match key.strip_suffix(':') {
        Some(key) => (key, json_value(key, value)?),
        None => match value.strip_prefix('@') {
            Some(path) if wants_list(tree, key) => {
                let advice = format!("give the list in the file: {}", shell_word(&format!("{key}:=@{path}")));
                return Err(Failure::usage(format!("{key} is a list, and {key}=@FILE gives a text"), advice));
            }
            Some(path) => {
                let value = file_value(setup, tree, key, path);
                let value = value.map_err(|error| Failure::usage(format!("{key}: {path}: {error}"), ""))?;
                (key, Value::String(value))
            }
            None => (key, Value::String(value.to_owned())),
        },
    };
    match tree.variables.insert(key.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(Failure::usage(format!("{key} occurs twice"), "give each value once")),
    }
}

/// Whether the template takes a list under this name, or goes through its elements.
fn wants_list(tree: &Tree, key: &str) -> bool {
    let Some(entry) = tree.templates.get(&tree.entry) else { return false };
    let is_list = |kind| matches!(kind, ValueType::Array | ValueType::StringArray);
    let wanted = Path::variable(key);
    let goes_through = || {
        entry.body.walk().into_iter().filter_map(|node| node.kind.operator().items()).any(|list| list.path == wanted)
    };
    entry.takes().iter().any(|one| one.name == key && is_list(one.kind)) || goes_through()
}

/// Parses JSON, or with `@` the content of a file: JSON, JSON Lines, a table or lines, depending on its extension.
fn json_value(key: &str, given: &str) -> Result<Value, Failure> {
    let Some(path) = given.strip_prefix('@') else {
        let advice =
            format!("after := write valid JSON, such as {key}:='[\"a.md\"]', or @FILE for the value in a file");
        let what = |error| format!("{key}: `{}` is not valid JSON: {error}", one_line(given, 100));
        return serde_json::from_str(given).map_err(|error| Failure::usage(what(error), advice));
    };
    let wrong = |what: String, advice| Failure::usage(format!("{key}: {path}: {what}"), advice);
    let text = read_text(path).map_err(|error| wrong(error, ""))?;
    let advice =
        "a name that ends in .json, .jsonl, .csv or .tsv is read as that, any other file as a list of its lines";
    ValueForm::of(path).read(&text).map_err(|fault| wrong(fault.to_string(), advice))
}

/// The text of a file.
///
/// # Errors
/// Why it cannot be read, with the first line that is not UTF-8.
fn read_text(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8; save the file as UTF-8")
    })
}

/// A file as a value. If the template reads the files of this input, the value is the path within the project,
/// otherwise the text.
fn file_value(setup: &Setup, tree: &Tree, key: &str, path: &str) -> Result<String, String> {
    let entry = tree.templates.get(&tree.entry);
    let paths = entry.into_iter().flat_map(|entry| entry.body.walk()).filter_map(|node| node.refs.as_ref());
    let wanted = Path::variable(key);
    if !paths.flat_map(|refs| &refs.paths).any(|path| path.single() == Some(&wanted)) {
        return read_text(path);
    }
    let real = std::fs::canonicalize(path).map_err(|error| error.to_string())?;
    Ok(real.strip_prefix(&setup.project).unwrap_or(&real).display().to_string())
}

fn is_name(key: &str) -> bool {
    let key = key.strip_suffix(':').unwrap_or(key);
    callsheet_core::template::is_ident(key)
}

/// Refuses a value that nothing in the tree asks for, because its name must be misspelt.
pub(super) fn check_names(tree: &Tree) -> Result<(), Failure> {
    let Some(entry) = tree.templates.get(&tree.entry) else { return Ok(()) };
    let asked = names_asked(entry, &|name| tree.templates.get(name));
    let unknown: Vec<&str> =
        tree.variables.keys().map(String::as_str).filter(|name| *name != "request" && !asked.contains(*name)).collect();
    let Some(first) = unknown.first() else { return Ok(()) };
    let near = callsheet_core::fuzzy::did_you_mean(first, asked.iter().map(String::as_str));
    let takes = match asked.is_empty() {
        true => "it takes no values".to_owned(),
        false => format!("it takes: {}", asked.iter().cloned().collect::<Vec<_>>().join(", ")),
    };
    let advice = if near.is_empty() { takes } else { format!("{near} {takes}") };
    Err(Failure::usage(format!("{} takes no value `{}`", tree.entry, unknown.join("`, `")), one_line(&advice, 600)))
}

/// Binds a text without a name to the only missing input. If there is no such input, the text goes to the frame of
/// the task.
pub(super) fn bind_text(tree: &mut Tree) {
    if tree.text.trim().is_empty() {
        return;
    }
    let missing = {
        let Some(entry) = tree.templates.get(&tree.entry) else { return };
        missing_of(tree, entry)
    };
    if let [only] = missing.as_slice()
        && is_name(only)
    {
        let text = std::mem::take(&mut tree.text);
        tree.variables.insert(only.clone(), Value::String(text));
    }
}

/// Reports missing inputs and wrong types before a run is created, with the inputs of the template.
pub(super) fn check_inputs(setup: &Setup, tree: &Tree) -> Result<(), Failure> {
    let Some(entry) = tree.templates.get(&tree.entry) else { return Ok(()) };
    let what = match input_fault(tree) {
        Some(fault) => fault.message(),
        None if entry.is_function() => return Ok(()),
        None => {
            let missing: Vec<String> = missing_of(tree, entry).into_iter().filter(|name| is_name(name)).collect();
            if missing.is_empty() {
                return Ok(());
            }
            format!("Missing required input: {}", missing.join(", "))
        }
    };
    Err(Failure::usage(format!("{}: {what}", tree.entry), usage(setup, entry, &missing_of(tree, entry))))
}

/// Tells of paths that lead nowhere in the given values, such as a column that a table does not have.
pub(super) fn tell_astray(tree: &Tree) {
    let Some(entry) = tree.templates.get(&tree.entry) else { return };
    for (path, miss, at) in astray_in(entry, &tree.variables) {
        let Step::Name(name) = &miss.step else { continue };
        let near = callsheet_core::fuzzy::did_you_mean(name, miss.known.iter().map(String::as_str));
        let known = if miss.known.is_empty() { miss.from.in_words() } else { miss.known.join(", ") };
        let (file, place) = (&entry.origin.file, at.place);
        let what = format!("`{path}`: the given values have no {name}, but {known}. {near}");
        tell!("warning: {file}:{}:{}: {}", place.line, place.column, one_line(&what, 600));
    }
}

/// The usage of a template: its values, with optional ones in brackets.
fn usage(setup: &Setup, entry: &Template, missing: &[String]) -> String {
    let taken = entry.takes();
    let word = |name: &str, kind: ValueType| match kind {
        ValueType::Any | ValueType::String => format!("{name}=TEXT"),
        ValueType::Array | ValueType::StringArray => format!("{name}:=@FILE"),
        other => format!("{name}:={}", other.as_str().to_uppercase()),
    };
    let declared = taken.iter().map(|one| match one.required {
        true => word(one.name, one.kind),
        false => format!("[{}]", word(one.name, one.kind)),
    });
    // A standard template may use names that it does not declare.
    let others = missing.iter().filter(|name| is_name(name) && taken.iter().all(|one| one.name != name.as_str()));
    let words: Vec<String> = declared.chain(others.map(|name| word(name, ValueType::Any))).collect();
    format!("usage: {} template run {} {}", setup.command, entry.name, words.join(" "))
}

/// The values that the caller must give and did not.
fn missing_of(tree: &Tree, entry: &Template) -> Vec<String> {
    if let Some(params) = &entry.params {
        let lacks = params.iter().filter(|param| param.required && !tree.variables.contains_key(&param.name));
        return lacks.map(|param| param.name.clone()).collect();
    }
    let known = ["request"].into_iter().chain(tree.variables.keys().map(String::as_str));
    let null = || callsheet_core::template::Bound::json(Value::Null, callsheet_core::template::Trust::Caller);
    let environment = Environment::root(known.map(|name| (name.to_owned(), null())));
    let missing = missing_before_run(entry, &environment, &|name| tree.templates.get(name));
    let mut names: Vec<String> = missing.into_iter().map(|one| one.name).collect();
    names.sort();
    names.dedup();
    names
}
