//! Tool calls in replies (spec 3.7, 4.4): finding them in fences, tags and bare JSON, bringing them into one shape, and
//! checking names, arguments and ids. Used for calls carried by a plan, refinements and loop turns.

mod align;
mod arguments;
mod check;
mod shape;
mod source;

pub use check::{CallRules, check_native, resolve_tool};
pub use source::{BlockForm, CallBlock};

use callsheet_core::issue::{IssueCode, Severity};
use callsheet_core::spec::ToolCall;
use serde_json::Value;

use crate::reading::Diagnostics;

/// Reads all calls of some blocks, in order. Only valid calls are returned; everything else is noted, each issue with
/// the raw block it concerns.
pub fn read_calls(blocks: &[CallBlock], rules: &CallRules<'_>, notes: &mut Diagnostics) -> Vec<ToolCall> {
    let mut checker = check::Checker::new(rules);
    let tools = check::KnownTools::of(rules);
    let mut calls = Vec::new();
    for block in blocks {
        let mut inner = notes.fork();
        let found = source::raw_calls(block, &tools, &mut inner);
        let count = found.calls.len();
        let checked: Vec<_> = found.calls.into_iter().filter_map(|raw| checker.check(raw, &mut inner)).collect();
        match found.unless {
            Some(issue) if checked.is_empty() || checked.len() < count => notes.push(issue),
            _ => {
                notes.absorb(inner);
                calls.extend(checked);
            }
        }
    }
    check::settle(calls, rules.taken_ids, notes)
}

/// Reads the calls that a plan carries for a task. A bad call costs nothing but a refinement: it becomes the warning
/// `call-dropped`, and none of the task's calls is kept, so that the task is refined (spec 3.4).
pub fn read_plan_calls(blocks: &[CallBlock], rules: &CallRules<'_>, notes: &mut Diagnostics) -> Vec<ToolCall> {
    if blocks.is_empty() {
        return Vec::new();
    }
    let mut inner = Diagnostics::new(notes.phase(), false);
    let calls = read_calls(blocks, rules, &mut inner);
    notes.repeat(&inner, |_| true);
    let dropped = inner.errors() > 0;
    for issue in inner.issues().iter().filter(|issue| issue.severity == Severity::Error) {
        let facts = [("reason", issue.what.as_str())];
        let mut warning = notes.issue(IssueCode::CallDropped, "", issue.place.span, &facts).warning();
        warning.place.item.clone_from(&issue.place.item);
        warning.raw.clone_from(&issue.raw);
        notes.push(warning);
    }
    if dropped { Vec::new() } else { calls }
}

/// Name and arguments in a form that is equal for equal calls whatever the order of keys (spec 10.7).
pub fn canonical(call: &ToolCall) -> String {
    let mut text = String::with_capacity(call.name.len() + 64);
    text.push_str(&call.name);
    text.push(' ');
    write_sorted(&call.arguments, &mut text);
    text
}

/// JSON with sorted keys. The depth is that of a value that was read, so it is capped.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            out.push('{');
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                if let Some(item) = map.get(key) {
                    write_sorted(item, out);
                }
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_sorted(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        other => out.push_str(&other.to_string()),
    }
}

/// A JSON string; most need no escapes.
fn write_text(text: &str, out: &mut String) {
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        out.push_str(&Value::from(text).to_string());
        return;
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}
