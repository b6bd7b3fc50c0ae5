//! Turns findings about names and values into issues (spec 3).

use callsheet_core::fuzzy::near_or;
use callsheet_core::template::names::{Found, Use};
use callsheet_core::template::{Code, Path, Spot, Step, Template};

use crate::template::report::Draft;

use super::kinds;

/// Turns a finding about names into an issue.
pub(super) fn draft_of(template: &Template, found: Found) -> Option<Draft> {
    Some(match found {
        Found::Unknown { how: Use::Input, .. } => return None,
        Found::Unknown { path, at, later: true, how, .. } => has_not_run(template, &path, at, how),
        Found::Unknown { path, at, how: Use::Expression, near, .. } => in_a_condition(template, &path, at, &near),
        Found::Unknown { path, at, near, .. } => unknown(template, &path, at, &near),
        Found::Untrusted { path, at, way, .. } => {
            let way = way.map(|way| format!(" ({way})")).unwrap_or_default();
            let message = format!("a command contains `{path}`, which is a result{way}");
            let advice = "pass it with <stdin> or an <input_file>";
            Draft::new(Code::T053, at.span, message).found(&path.to_string()).advice(advice)
        }
        Found::Literal { text, at, .. } => {
            let message = match callsheet_core::template::is_ident(&text) {
                true => format!("`{text}` is not a variable, so it is used as text"),
                false => format!("`{text}` is a path, so it is used as text; only a single name is looked up"),
            };
            Draft::new(Code::T509, at.span, message)
                .found(&text)
                .advice("write value=\"…\" or from=\"…\" to make it explicit")
        }
        Found::Unused { name, at } => {
            Draft::new(Code::T514, at.span, format!("nothing uses `{name}`")).found(&name).advice("use or remove it")
        }
        Found::Unread { name, at, .. } => {
            let path = format!("steps.{name}");
            let message = format!("nothing reads `{path}`, so this task is done for nothing");
            Draft::new(Code::T514, at.span, message).found(&name).advice("name it in a later task, or remove it")
        }
        Found::Blind { name, at, .. } => {
            let message = format!("nothing uses `{name}` here, so each try asks the same");
            let advice = format!("name it in this task, as {{{{{name}}}}}");
            Draft::new(Code::T514, at.span, message).found(name).advice(advice)
        }
        Found::UnusedElement { name, at, .. } => {
            let message = format!("nothing uses the element `{name}`, so the same is done for each one");
            let advice = format!("name it in the task, as {{{{{name}}}}}");
            Draft::new(Code::T514, at.span, message).found(&name).advice(advice)
        }
        Found::Astray { path, miss, at, .. } => kinds::astray(&path, &miss, at),
        Found::Lacking { path, at, .. } => kinds::lacking(&path, at),
        Found::AlwaysZero { path, at, .. } => kinds::always_zero(&path, at),
        Found::Start { start, joined, at, .. } => kinds::start(&start, &joined, at),
        Found::NeverGood { at, .. } => kinds::never_good(at),
        Found::Untested { path, at, .. } => kinds::untested(&path, at),
        Found::Undeclared { kind, at, .. } => kinds::undeclared(template, kind, at),
        Found::Printed { path, at, .. } => kinds::printed(&path, at),
        Found::Misfit { what, wanted, given, written, at, .. } => {
            kinds::misfit(template, &what, &wanted, &given, written, at)
        }
        Found::Constant { constant, at, .. } => kinds::constant(&constant, at),
        Found::Reached { name, template, way, at, .. } => kinds::reached(&name, &template, &way, at),
    })
}

/// Reports an unknown name outside conditions.
fn unknown(template: &Template, path: &Path, at: Spot, near: &[String]) -> Draft {
    let is_function = template.is_function();
    let caller = if is_function { "" } else { "; a caller must provide it" };
    let (message, otherwise) = match is_step(path) {
        _ if is_of_a_sequence(path) => (format!("no step before this one gives `{path}`{caller}"), BEHIND_A_STEP),
        true => (format!("no step before this one is `{path}`{caller}"), "fix the id, or give a step this id"),
        false if is_function => (
            format!("`{path}` is not a parameter and nothing in the template binds it"),
            "add a parameter, or fix the name",
        ),
        false => (format!("`{path}` is not a declared input; the caller must bind it"), "declare it in <inputs>"),
    };
    let code = if is_function { Code::T052 } else { Code::T508 };
    let params = template.params.iter().flatten().map(|param| param.name.as_str());
    let known: Vec<&str> = if near.is_empty() { params.collect() } else { near.iter().map(String::as_str).collect() };
    let draft = Draft::new(code, at.span, message).found(&head(path)).expected(known);
    draft.advice(near_or(near, otherwise))
}

/// Reports an unknown name in a condition.
fn in_a_condition(template: &Template, path: &Path, at: Spot, near: &[String]) -> Draft {
    let code = if template.is_function() { Code::T052 } else { Code::T515 };
    let message = format!("nothing binds `{path}`, so comparisons with it are false");
    let draft = Draft::new(code, at.span, message).found(&head(path)).expected(near.iter().map(String::as_str));
    let otherwise = match path.steps.is_empty() {
        true => format!("fix the name, or write \"{path}\" in quotes if it is a text"),
        false => "fix the name".to_owned(),
    };
    draft.advice(near_or(near, &otherwise))
}

/// Reports the use of a result of a later step, or of a step that contains the place.
fn has_not_run(template: &Template, path: &Path, at: Spot, how: Use) -> Draft {
    let (code, then) = match (how, template.is_function()) {
        (Use::Expression, _) => (Code::T515, ", so comparisons with it are false"),
        (_, true) => (Code::T052, ""),
        (_, false) => (Code::T508, "; a caller must provide it"),
    };
    let message = format!("`{path}` is used before its task has run{then}");
    Draft::new(code, at.span, message).found(&path.to_string()).advice("use it in a later task")
}

/// The part of a path that something must bind: a name, or a step.
fn head(path: &Path) -> String {
    match path.steps.first() {
        Some(Step::Name(step)) if path.name == "steps" => format!("steps.{step}"),
        _ => path.name.clone(),
    }
}

/// Whether the path names a result that no step gives.
fn is_step(path: &Path) -> bool {
    path.name == "steps" && !path.steps.is_empty()
}

/// The advice if no step precedes.
const BEHIND_A_STEP: &str = "use it in a later step";

/// Whether a sequence binds the name from its second step on.
fn is_of_a_sequence(path: &Path) -> bool {
    matches!(path.name.as_str(), "output" | "previous_result" | "step_results")
}
