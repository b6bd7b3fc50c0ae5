//! Checking calls: the tool's name against the allow-list (spec 7.10), arguments against its schema, ids and repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::reply::json::read_document;
use crate::reply::near::{folded, within};
use crate::reply::words::clause;
use crate::reply::{Issue, IssueCode, Notes, ReadContext, RepairCode, Span};
use crate::spec::{ToolCall, ToolSpec};

use super::arguments::{Fitted, Schema};
use super::source::RawCall;

/// Longest id.
const ID: usize = 64;

/// What calls are compared with.
#[derive(Clone, Copy, Debug)]
pub struct CallRules<'a> {
    /// The skill's tools, canonical names.
    pub allowed: &'a [String],
    /// Tools registered and switched off.
    pub context: &'a ReadContext,
    /// Ids that earlier calls of the task have.
    pub taken_ids: &'a BTreeSet<String>,
}

impl CallRules<'_> {
    pub(super) fn is_allowed(&self, name: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == name)
    }

    fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.context.tools.iter().find(|tool| tool.name == name).map(Arc::as_ref)
    }
}

/// The tool that a written name means, or the issue code that refuses it. A name outside the allow-list that exists
/// is never mended into another one (spec 4.6).
pub fn resolve_tool<'a>(written: &str, rules: &'a CallRules<'_>) -> Result<&'a ToolSpec, IssueCode> {
    if rules.context.disabled_tools.contains(written) {
        return Err(IssueCode::ToolDisabled);
    }
    if rules.is_allowed(written) {
        return rules.spec(written).ok_or(IssueCode::ToolUnknown);
    }
    if rules.spec(written).is_some() {
        return Err(IssueCode::ToolNotAllowed);
    }
    let wanted = folded(written);
    let same = |name: &&String| folded(name) == wanted;
    let near = |name: &&String| {
        // Two edits make any two-letter name out of any other: more than half of the name must stay.
        let name = folded(name);
        let letters = name.chars().count().max(wanted.chars().count());
        within(&name, &wanted, 2.min(letters.saturating_sub(1) / 2))
    };
    let exists = rules.context.tools.iter().any(|tool| folded(&tool.name) == wanted && !rules.is_allowed(&tool.name));
    for rule in [&same as &dyn Fn(&&String) -> bool, &near] {
        let fits: Vec<&String> = rules.allowed.iter().filter(|name| rule(name)).collect();
        match fits.as_slice() {
            [name] if rules.context.disabled_tools.contains(*name) => return Err(IssueCode::ToolDisabled),
            [name] => return rules.spec(name).ok_or(IssueCode::ToolUnknown),
            [] if exists => return Err(IssueCode::ToolNotAllowed),
            [] => {}
            _ => break,
        }
    }
    Err(IssueCode::ToolUnknown)
}

/// A call that holds, before ids are settled.
pub(super) struct Checked {
    name: String,
    id: Option<Value>,
    arguments: Value,
    span: Span,
}

/// Checks calls one by one and keeps the compiled schemas.
pub(super) struct Checker<'a> {
    rules: &'a CallRules<'a>,
    schemas: BTreeMap<String, Schema>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(rules: &'a CallRules<'a>) -> Self {
        Self { rules, schemas: BTreeMap::new() }
    }

    pub(super) fn check(&mut self, raw: RawCall, notes: &mut Notes) -> Option<Checked> {
        let RawCall { call, span, raw } = raw;
        let item =
            call.id.as_ref().and_then(Value::as_str).filter(|id| well_formed(id)).unwrap_or(&call.name).to_owned();
        let refuse = |issue: Issue, notes: &mut Notes| {
            notes.push(issue.item(&item).raw(&raw));
            None
        };
        let tool = match resolve_tool(&call.name, self.rules) {
            Ok(tool) => tool,
            Err(code) => {
                let offered =
                    self.rules.allowed.iter().filter(|name| self.rules.spec(name).is_some()).map(String::as_str);
                let issue = notes.issue(code, "", span, &[("tool", &call.name)]).allowed(&call.name, offered);
                return refuse(issue, notes);
            }
        };
        if tool.name != call.name {
            notes.repair(RepairCode::ToolNear, span, &call.name, &tool.name);
        }
        let arguments = match object(call.arguments, span, notes) {
            Ok(arguments) => arguments,
            Err((code, why)) => {
                let issue = notes.issue(code, "arguments", span, &[("tool", &tool.name), ("why", &why)]);
                return refuse(issue, notes);
            }
        };
        let schema = self.schemas.entry(tool.name.clone()).or_insert_with(|| Schema::of(&tool.parameters));
        let arguments = match schema.fit(arguments) {
            Fitted::Valid(arguments) => arguments,
            Fitted::Coerced { arguments, before, after } => {
                notes.repair(RepairCode::JsonCoerced, span, &before, &after);
                arguments
            }
            Fitted::Refused(problems) => {
                let facts = [("tool", tool.name.as_str()), ("problems", problems.as_str())];
                let issue = notes.issue(IssueCode::ToolArguments, "", span, &facts);
                return refuse(issue, notes);
            }
        };
        Some(Checked { name: tool.name.clone(), id: call.id, arguments, span })
    }
}

/// Arguments as an object; a string must hold one.
fn object(arguments: Option<Value>, span: Span, notes: &mut Notes) -> Result<Value, (IssueCode, String)> {
    match arguments {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Value::Object(Map::new())),
        Some(Value::String(text)) => match read_document(&text) {
            Ok(mut document) if document.values.len() == 1 => match document.values.pop().map(|one| one.value) {
                Some(object @ Value::Object(_)) => {
                    for mend in &document.mends {
                        notes.repair(mend.code, span, &mend.before, &mend.after);
                    }
                    Ok(object)
                }
                _ => Err((IssueCode::JsonInvalid, clause("arguments-object", &[]))),
            },
            Ok(_) => Err((IssueCode::JsonInvalid, clause("arguments-one", &[]))),
            Err(fault) if fault.truncated => Err((IssueCode::JsonTruncated, fault.what)),
            Err(fault) => Err((IssueCode::JsonInvalid, fault.what)),
        },
        Some(object @ Value::Object(_)) => Ok(object),
        Some(_) => Err((IssueCode::JsonInvalid, clause("arguments-object", &[]))),
    }
}

/// Drops repeats and settles ids (repairs `call-deduplicated`, `call-id-set`).
pub(super) fn settle(checked: Vec<Checked>, taken: &BTreeSet<String>, notes: &mut Notes) -> Vec<ToolCall> {
    let mut seen = BTreeSet::new();
    let mut given: BTreeSet<String> = taken.clone();
    let mut unique = Vec::new();
    for call in checked {
        let id = call.id.as_ref().and_then(Value::as_str).unwrap_or("").to_owned();
        let spec = ToolCall { name: call.name, id, arguments: call.arguments };
        if seen.insert(super::canonical(&spec)) {
            unique.push((spec, call.span));
        } else {
            notes.repair(RepairCode::CallDeduplicated, call.span, &super::canonical(&spec), "");
        }
    }
    // Ids that may stay are taken first, so that a filled one never displaces a written one.
    let keep: Vec<bool> =
        unique.iter().map(|(call, _)| well_formed(&call.id) && given.insert(call.id.clone())).collect();
    let mut counters: BTreeMap<String, u32> = BTreeMap::new();
    let mut calls = Vec::with_capacity(unique.len());
    for ((mut call, span), keep) in unique.into_iter().zip(keep) {
        if !keep {
            let counter = counters.entry(call.name.clone()).or_insert(0);
            let id = loop {
                *counter = counter.saturating_add(1);
                let id = format!("{}-{counter}", call.name);
                if given.insert(id.clone()) || *counter == u32::MAX {
                    break id;
                }
            };
            notes.repair(RepairCode::CallIdSet, span, &call.id, &id);
            call.id = id;
        }
        calls.push(call);
    }
    calls
}

/// 1 to 64 characters that are safe in a heading and a file name.
fn well_formed(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= ID
        && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'))
}

/// Checks calls that came through a provider's own tool calling (spec 10.7).
pub fn check_native(calls: &[ToolCall], rules: &CallRules<'_>, notes: &mut Notes) -> Vec<ToolCall> {
    use super::shape::Shaped;
    let mut checker = Checker::new(rules);
    let span = Span { first: 1, last: 1 };
    let mut checked = Vec::new();
    for call in calls {
        let raw = serde_json::to_string_pretty(call).unwrap_or_default();
        let shaped = Shaped {
            name: call.name.clone(),
            id: Some(Value::from(call.id.as_str())),
            arguments: Some(call.arguments.clone()),
            reshaped: false,
        };
        checked.extend(checker.check(RawCall { call: shaped, span, raw }, notes));
    }
    settle(checked, rules.taken_ids, notes)
}
