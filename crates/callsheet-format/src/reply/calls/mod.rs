//! Tool calls in replies (spec 3.7, 4.4): finds them in fences, tags and bare JSON, converts them to one form, and
//! checks names, arguments and ids. Used for calls of a plan, refinements and loop turns.

mod align;
mod arguments;
mod check;
mod notation;
mod shape;
mod source;

pub use check::{CallRules, check_native, resolve_tool};
pub(crate) use notation::may_hold;
pub use source::{BlockForm, CallBlock};

use callsheet_core::issue::{IssueCode, RAW, Severity};
use callsheet_core::nouns::ToolCall;
use serde_json::Value;

use crate::markdown::{Part, Tracker};
use crate::reading::Diagnostics;

/// Reads all calls of some blocks, in order. Returns only valid calls. Everything else is noted, each issue with the
/// raw block that it concerns.
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

/// Reads the calls that a text contains in the notation of a chat template, at the start of a line outside fences.
pub(crate) fn read_marked(text: &str, rules: &CallRules<'_>, notes: &mut Diagnostics) -> Vec<ToolCall> {
    let mut checker = check::Checker::new(rules);
    let tools = check::KnownTools::of(rules);
    let block = CallBlock { text: text.to_owned(), form: BlockForm::Bare, line: 1, lenient: false };
    let found = source::marked_calls(&block, &tools, notes);
    let calls: Vec<_> = found.into_iter().filter_map(|raw| checker.check(raw, notes)).collect();
    check::settle(calls, rules.taken_ids, notes)
}

/// Whether a text consists only of calls in the notation of a chat template.
pub(crate) fn is_only_calls(text: &str) -> bool {
    let text = text.trim();
    if !notation::opens(text) {
        return false;
    }
    let (found, end) = notation::read(text, 0, &|_| false);
    !found.is_empty() && text.get(end..).is_none_or(|rest| rest.trim().is_empty())
}

/// The number and text of a line that, as a whole, calls an offered tool in an unknown notation.
pub(crate) fn unread_call<'a>(text: &'a str, rules: &CallRules<'_>) -> Option<(u32, &'a str)> {
    let tools = check::KnownTools::of(rules).arguments();
    let mut tracker = Tracker::default();
    let lines = text.lines().enumerate().filter(|(_, line)| tracker.next(line) == Part::Outside);
    let mut lines = lines.map(|(at, line)| (u32::try_from(at + 1).unwrap_or(u32::MAX), line.trim()));
    lines.find(|(_, line)| {
        line.len() <= RAW
            && tools.iter().any(|(tool, arguments)| {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                notation::is_call_of(line, tool, &arguments)
            })
    })
}

/// Reads the calls that a plan contains for a task. A bad call costs only a refinement: it becomes the warning
/// `call-dropped`, and none of the task's calls is kept, so the task is refined (spec 3.4). If a person calls a tool
/// that does not exist, that is an error.
pub fn read_plan_calls(blocks: &[CallBlock], rules: &CallRules<'_>, notes: &mut Diagnostics) -> Vec<ToolCall> {
    if blocks.is_empty() {
        return Vec::new();
    }
    let mut inner = Diagnostics::new(notes.phase(), false).by_hand(notes.is_by_hand());
    let calls = read_calls(blocks, rules, &mut inner);
    notes.repeat(&inner, |_| true);
    let dropped = inner.errors() > 0;
    for issue in inner.issues().iter().filter(|issue| issue.severity == Severity::Error) {
        if notes.is_by_hand() && issue.code == IssueCode::ToolUnknown {
            notes.push(issue.clone());
            continue;
        }
        let facts = [("reason", issue.what.as_str())];
        let mut warning = notes.issue(IssueCode::CallDropped, "", issue.place.span, &facts).warning();
        warning.place.item.clone_from(&issue.place.item);
        warning.raw.clone_from(&issue.raw);
        notes.push(warning);
    }
    if dropped { Vec::new() } else { calls }
}

/// Name and arguments in a form that is equal for equal calls, whatever the order of keys (spec 10.7).
pub fn canonical(call: &ToolCall) -> String {
    let mut text = String::with_capacity(call.name.len() + 64);
    text.push_str(&call.name);
    text.push(' ');
    write_sorted(&call.arguments, &mut text);
    text
}

/// JSON with sorted keys. The value was read, so its depth is limited.
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

/// A JSON string. Most strings need no escapes.
fn write_text(text: &str, out: &mut String) {
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        out.push_str(&Value::from(text).to_string());
        return;
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}
