//! Checks calls: the tool's name against the allow-list (spec 7.10), arguments against its schema, and ids and
//! duplicates.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::{Issue, IssueCode, RepairCode, Span};
use callsheet_core::nouns::{ToolCall, ToolEffect, ToolSpec, canonical_tools};
use serde_json::{Map, Value};

use crate::reading::{Answer, Diagnostics, Lookup, ReadContext, clause};
use crate::reply::json::{JsonRepair, read_document};

use super::arguments::{Fitted, Schema};
use super::shape::{Read, Shaped, Tools};
use super::source::RawCall;

/// The longest id.
const ID: usize = 64;

/// What calls are checked against.
#[derive(Clone, Copy, Debug)]
pub struct CallRules<'a> {
    /// The skill's tools, canonical names.
    pub allowed: &'a [String],
    /// Registered but disabled tools.
    pub context: &'a ReadContext,
    /// Ids of earlier calls of the task.
    pub taken_ids: &'a BTreeSet<String>,
    /// Whether a call that cannot start is rejected. In a conversation it is not: the model reads the reason as the
    /// output.
    pub must_start: bool,
}

impl CallRules<'_> {
    pub(super) fn is_allowed(&self, name: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == name)
    }

    fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.context.tools.iter().find(|tool| tool.name == name).map(Arc::as_ref)
    }
}

impl Tools for CallRules<'_> {
    fn is_tool(&self, key: &str) -> bool {
        resolve_tool(key, self).is_ok()
    }

    fn declares(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let Ok(tool) = resolve_tool(tool, self) else { return false };
        let known = tool.parameters.get("properties").and_then(Value::as_object);
        known.is_some_and(|known| arguments.keys().all(|key| known.contains_key(key)))
    }

    fn names(&self) -> Vec<String> {
        self.allowed.iter().filter(|name| self.spec(name).is_some()).cloned().collect()
    }
}

/// The tools of some rules. It caches keys that were looked up, because the same keys occur in every call.
pub(super) struct KnownTools<'a> {
    rules: &'a CallRules<'a>,
    keys: RefCell<BTreeMap<String, bool>>,
}

impl<'a> KnownTools<'a> {
    pub(super) fn of(rules: &'a CallRules<'a>) -> Self {
        Self { rules, keys: RefCell::default() }
    }

    /// The tools that are offered, with the names of their arguments.
    pub(super) fn arguments(&self) -> Vec<(String, Vec<String>)> {
        let offered = self.rules.allowed.iter().filter_map(|name| self.rules.spec(name));
        let arguments = |spec: &ToolSpec| {
            let known = spec.parameters.get("properties").and_then(Value::as_object);
            known.map(|known| known.keys().cloned().collect()).unwrap_or_default()
        };
        offered.map(|spec| (spec.name.clone(), arguments(spec))).collect()
    }
}

impl Tools for KnownTools<'_> {
    fn is_tool(&self, key: &str) -> bool {
        if let Some(known) = self.keys.borrow().get(key) {
            return *known;
        }
        let is_tool = self.rules.is_tool(key);
        self.keys.borrow_mut().insert(key.to_owned(), is_tool);
        is_tool
    }

    fn declares(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        self.rules.declares(tool, arguments)
    }

    fn names(&self) -> Vec<String> {
        self.rules.names()
    }
}

/// The tool for a written name, or the issue code that rejects the name. An existing name outside the allow-list is
/// never repaired to another one (spec 4.6).
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
    // An alias means the allowed tools among its tools, if there is exactly one (spec of templates, 14).
    let meant = canonical_tools(written, rules.context.tools.iter().map(Arc::as_ref));
    if meant.iter().any(|name| name != written && rules.spec(name).is_some()) {
        match meant.iter().filter(|name| rules.is_allowed(name)).collect::<Vec<_>>().as_slice() {
            [] => return Err(IssueCode::ToolNotAllowed),
            [name] if rules.context.disabled_tools.contains(*name) => return Err(IssueCode::ToolDisabled),
            [name] => return rules.spec(name).ok_or(IssueCode::ToolUnknown),
            _ => {}
        }
    }
    // Chat templates and models add text before and after a name: `functions.read_file:0`.
    let pieces = written.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')));
    let named: BTreeSet<&str> = pieces.filter(|piece| *piece != written && rules.spec(piece).is_some()).collect();
    if let [only] = named.into_iter().collect::<Vec<_>>().as_slice() {
        return resolve_tool(only, rules);
    }
    let wanted = normalize(written);
    let exists = || {
        let others = rules.context.tools.iter().filter(|tool| !rules.is_allowed(&tool.name));
        others.into_iter().any(|tool| normalize(&tool.name) == wanted)
    };
    let fits: Vec<&String> = rules.allowed.iter().filter(|name| normalize(name) == wanted).collect();
    match fits.as_slice() {
        [name] if rules.context.disabled_tools.contains(*name) => Err(IssueCode::ToolDisabled),
        [name] => rules.spec(name).ok_or(IssueCode::ToolUnknown),
        [] if exists() => Err(IssueCode::ToolNotAllowed),
        _ => Err(IssueCode::ToolUnknown),
    }
}

/// A valid call, before ids are assigned.
pub(super) struct Checked {
    name: String,
    id: Option<Value>,
    arguments: Value,
    span: Span,
}

/// One reading of a call that fits its tool, with its corrections.
struct Fit {
    tool: String,
    id: Option<Value>,
    arguments: Value,
    repairs: Vec<JsonRepair>,
    coerced: Option<(String, String, usize)>,
}

impl Fit {
    /// Number of corrections of the name, of values and of syntax. Fewer are better.
    fn liberties(&self, written: &str) -> (bool, usize, usize) {
        let values = self.coerced.as_ref().map_or(0, |(_, _, count)| *count);
        (self.tool != written, values, self.repairs.len())
    }
}

/// Why a reading does not fit.
enum Refusal {
    Tool(IssueCode),
    Object(IssueCode, String, String),
    Schema(String, String),
    /// It cannot start.
    Stuck(String, String),
}

/// Checks calls one by one and keeps the compiled schemas.
pub(super) struct Checker<'a> {
    rules: &'a CallRules<'a>,
    schemas: BTreeMap<String, Schema>,
    /// Tools by written name, because the same names occur repeatedly.
    tools: BTreeMap<String, Result<&'a ToolSpec, IssueCode>>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(rules: &'a CallRules<'a>) -> Self {
        Self { rules, schemas: BTreeMap::new(), tools: BTreeMap::new() }
    }

    pub(super) fn check(&mut self, raw: RawCall, notes: &mut Diagnostics) -> Option<Checked> {
        let RawCall { call, span, raw } = raw;
        match call {
            Read::Plain(mut call) => match self.fit(&mut call, notes) {
                Ok(fit) => Some(accept(fit, &call.name, span, notes)),
                Err(refusal) => {
                    let issue = self.refused(refusal, &call, span, notes);
                    notes.push(issue.item(item(&call)).raw(&raw));
                    None
                }
            },
            Read::Guessed { readings, misfit, .. } => self.best(readings, &misfit, span, &raw, notes),
        }
    }

    /// The only reading that fits with the fewest corrections. No such reading, and a tie, are issues.
    fn best(
        &mut self,
        readings: Vec<Shaped>,
        misfit: &str,
        span: Span,
        raw: &str,
        notes: &mut Diagnostics,
    ) -> Option<Checked> {
        let fitting =
            readings.into_iter().filter_map(|mut reading| Some((self.fit(&mut reading, notes).ok()?, reading)));
        let mut fits: Vec<(Fit, Shaped)> = fitting.collect();
        fits.sort_by_key(|(fit, reading)| fit.liberties(&reading.name));
        let tie = match fits.as_slice() {
            [(first, a), (second, b), ..] => {
                first.liberties(&a.name) == second.liberties(&b.name)
                    && (&first.tool, &first.arguments) != (&second.tool, &second.arguments)
            }
            _ => false,
        };
        if tie || fits.is_empty() {
            let names: Vec<&str> = fits.iter().map(|(fit, _)| fit.tool.as_str()).collect();
            let names = names.join(", ");
            let two = fits.iter().any(|(fit, _)| Some(&fit.tool) != fits.first().map(|(fit, _)| &fit.tool));
            let variant = if tie && two { "tie" } else { "shape" };
            let facts = [("why", misfit), ("tools", names.as_str())];
            let issue = notes.issue(IssueCode::JsonInvalid, variant, span, &facts).raw(raw);
            notes.push(issue);
            return None;
        }
        let (fit, reading) = fits.into_iter().next()?;
        notes.repair(RepairCode::JsonShape, span, raw, &fit.tool);
        Some(accept(fit, &reading.name, span, notes))
    }

    fn tool(&mut self, written: &str) -> Result<&'a ToolSpec, IssueCode> {
        if let Some(known) = self.tools.get(written) {
            return *known;
        }
        let tool = resolve_tool(written, self.rules);
        self.tools.insert(written.to_owned(), tool);
        tool
    }

    /// Whether tool and arguments of a reading are valid. Takes the arguments out of the call.
    fn fit(&mut self, call: &mut Shaped, notes: &mut Diagnostics) -> Result<Fit, Refusal> {
        let tool = self.tool(&call.name).map_err(Refusal::Tool)?;
        if notes.is_by_hand() && tool.name != call.name {
            return Err(Refusal::Tool(IssueCode::ToolUnknown));
        }
        let (arguments, repairs) =
            object(call.arguments.take()).map_err(|(code, why)| Refusal::Object(code, tool.name.clone(), why))?;
        if !self.schemas.contains_key(&tool.name) {
            self.schemas.insert(tool.name.clone(), Schema::of(tool));
        }
        let Some(schema) = self.schemas.get(&tool.name) else { return Err(Refusal::Tool(IssueCode::ToolUnknown)) };
        let (arguments, coerced) = match schema.fit(arguments, !notes.is_counted(IssueCode::ToolArguments)) {
            Fitted::Valid(arguments) => (arguments, None),
            Fitted::Coerced { arguments, before, after, count } => (arguments, Some((before, after, count))),
            Fitted::Refused(problems) => return Err(Refusal::Schema(tool.name.clone(), problems)),
        };
        if self.rules.must_start && tool.effect == ToolEffect::Execute {
            let lookup = Lookup::Call { tool: tool.name.clone(), arguments: arguments.to_string() };
            if let Some(Answer::Stuck(why)) = notes.answer(self.rules.context, lookup) {
                return Err(Refusal::Stuck(tool.name.clone(), why.clone()));
            }
        }
        Ok(Fit { tool: tool.name.clone(), id: call.id.clone(), arguments, repairs, coerced })
    }

    fn refused(&self, refusal: Refusal, call: &Shaped, span: Span, notes: &Diagnostics) -> Issue {
        match refusal {
            Refusal::Tool(code) => {
                let issue = notes.issue(code, "", span, &[("tool", &call.name)]);
                let offered = self.rules.allowed.iter().filter(|name| self.rules.spec(name).is_some());
                if notes.may_compare(self.rules.allowed.len()) {
                    issue.allowed(&call.name, offered.map(String::as_str))
                } else {
                    issue
                }
            }
            Refusal::Object(code, tool, why) => notes.issue(code, "arguments", span, &[("tool", &tool), ("why", &why)]),
            Refusal::Schema(tool, problems) => {
                notes.issue(IssueCode::ToolArguments, "", span, &[("tool", &tool), ("problems", &problems)])
            }
            Refusal::Stuck(tool, why) => {
                notes.issue(IssueCode::ToolArguments, "start", span, &[("tool", &tool), ("why", &why)])
            }
        }
    }
}

/// How an issue names a call: by its id if that is usable, else by its tool.
fn item(call: &Shaped) -> &str {
    call.id.as_ref().and_then(Value::as_str).filter(|id| well_formed(id)).unwrap_or(&call.name)
}

/// Notes the corrections of the chosen reading.
fn accept(fit: Fit, written: &str, span: Span, notes: &mut Diagnostics) -> Checked {
    if fit.tool != written {
        notes.repair(RepairCode::ToolNear, span, written, &fit.tool);
    }
    for repair in &fit.repairs {
        notes.repair(repair.code, span, &repair.before, &repair.after);
    }
    if let Some((before, after, _)) = &fit.coerced {
        notes.repair(RepairCode::JsonCoerced, span, before, after);
    }
    Checked { name: fit.tool, id: fit.id, arguments: fit.arguments, span }
}

/// Arguments as an object, with the repairs. A string must contain an object.
fn object(arguments: Option<Value>) -> Result<(Value, Vec<JsonRepair>), (IssueCode, String)> {
    let empty = || Ok((Value::Object(Map::new()), Vec::new()));
    match arguments {
        None | Some(Value::Null) => empty(),
        Some(Value::String(text)) if text.trim().is_empty() => empty(),
        Some(Value::String(text)) => match read_document(&text) {
            Ok(mut document) if document.values.len() == 1 => match document.values.pop().map(|one| one.value) {
                Some(object @ Value::Object(_)) => Ok((object, document.repairs)),
                _ => Err((IssueCode::JsonInvalid, clause("arguments-object", &[]))),
            },
            Ok(_) => Err((IssueCode::JsonInvalid, clause("arguments-one", &[]))),
            Err(fault) if fault.truncated => Err((IssueCode::JsonTruncated, fault.what)),
            Err(fault) => Err((IssueCode::JsonInvalid, fault.what)),
        },
        Some(object @ Value::Object(_)) => Ok((object, Vec::new())),
        Some(_) => Err((IssueCode::JsonInvalid, clause("arguments-object", &[]))),
    }
}

/// Removes duplicates and assigns ids (repairs `call-deduplicated`, `call-id-set`).
pub(super) fn settle(checked: Vec<Checked>, taken: &BTreeSet<String>, notes: &mut Diagnostics) -> Vec<ToolCall> {
    let mut seen = BTreeSet::new();
    let mut given: BTreeSet<String> = taken.clone();
    let mut unique = Vec::new();
    for call in checked {
        let id = call.id.as_ref().and_then(Value::as_str).unwrap_or("").to_owned();
        let spec = ToolCall { name: call.name, id, arguments: call.arguments };
        let canonical = super::canonical(&spec);
        if seen.contains(&canonical) {
            notes.repair(RepairCode::CallDeduplicated, call.span, &canonical, "");
        } else {
            seen.insert(canonical);
            unique.push((spec, call.span));
        }
    }
    // Ids that can stay are reserved first, so that a generated id never displaces a written one.
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

/// Checks calls from a provider's own tool calling (spec 10.7).
pub fn check_native(calls: &[ToolCall], rules: &CallRules<'_>, notes: &mut Diagnostics) -> Vec<ToolCall> {
    let mut checker = Checker::new(rules);
    let span = Span { first: 1, last: 1 };
    let mut checked = Vec::new();
    for call in calls {
        let raw = serde_json::to_string_pretty(call).unwrap_or_default().into();
        let shaped = Shaped {
            name: call.name.clone(),
            id: Some(Value::from(call.id.as_str())),
            arguments: Some(call.arguments.clone()),
            reshaped: false,
        };
        checked.extend(checker.check(RawCall { call: Read::Plain(shaped), span, raw }, notes));
    }
    settle(checked, rules.taken_ids, notes)
}
