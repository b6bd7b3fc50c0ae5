//! Outputs of earlier tasks that reach a later one (spec 5): which, how much of them, and which of their notes say
//! something.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::run::{ChildSlot, NodeInstance};
use crate::template::{AccumulationFormat, InheritContext, Node, TaskResult, cut, render};

use super::Evaluator;

/// The maximum number of bytes of an accumulated entry, and of all of them (spec 5).
const ENTRY: usize = 32_768;
const ENTRIES: usize = 262_144;

/// Status of a complete entry.
const COMPLETE: &str = "COMPLETE";

/// An output of an earlier child.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// From 1.
    pub step: u32,
    /// The child's id.
    pub id: String,
    /// Its status on return.
    pub status: String,
    /// Its notes.
    pub notes: Map<String, Value>,
    /// Its content, if `full_output` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Whether the content was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Its bytes before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_bytes: Option<usize>,
}

impl Entry {
    /// What a model sees of it: parts with labels. Empty parts are left out.
    pub fn parts(&self) -> Vec<(String, String)> {
        // A model may choose any names for its notes, but a label is one line.
        let label = |name: &str| format!("{} {}", self.id, name.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut parts = Vec::new();
        if self.status != COMPLETE {
            parts.push((label("status"), self.status.clone()));
        }
        if let Some(bytes) = self.original_bytes {
            parts.push((label("truncated, original_bytes"), bytes.to_string()));
        }
        let content = self.content.as_deref().map(str::trim).filter(|content| !content.is_empty());
        parts.extend(content.map(|content| (self.id.clone(), content.to_owned())));
        parts.extend(self.notes.iter().map(|(name, value)| (label(name), render(value).trim().to_owned())));
        parts
    }
}

/// An entry with its size, whole and without its content.
#[derive(Debug)]
pub(super) struct Told {
    entry: Entry,
    size: usize,
    bare: Option<usize>,
}

impl Told {
    pub fn of(entry: Entry) -> Self {
        let bare = entry.content.is_some().then(|| size(&without_content(&entry)));
        Self { size: size(&entry), bare, entry }
    }
}

impl<'a> Evaluator<'a> {
    /// The tasks above one whose other children tell it of their outputs, outer ones first, each with its node and the
    /// place below it.
    fn tellers(&self, op: &NodeInstance) -> Vec<(&'a NodeInstance, &'a Node, ChildSlot)> {
        let refuses =
            |op: &NodeInstance| self.node(op).is_some_and(|node| node.context.explicit.accumulate_data == Some(false));
        let mut found = Vec::new();
        if refuses(op) {
            return found;
        }
        let (mut place, mut above) = (op.place, self.parent(op));
        while let Some(teller) = above {
            let inner = std::mem::replace(&mut place, teller.place);
            above = self.parent(teller);
            if teller.place.is_subtask() {
                continue;
            }
            let Some(node) = self.node(teller) else { break };
            if !node.kind.facts().transparent {
                let settings = node.context.settings;
                if settings.accumulate_data {
                    found.push((teller, node, inner));
                }
                if settings.inherit_context != InheritContext::Full {
                    break;
                }
            }
        }
        found.reverse();
        found
    }

    /// Outputs of earlier children that reach a task and say something, outer ones first.
    fn earlier(&self, op: &NodeInstance) -> Vec<Arc<Told>> {
        let tellers = self.tellers(op).into_iter();
        tellers.flat_map(|(teller, node, place)| self.told_by(teller, node, place)).collect()
    }

    /// Names of the earlier children, whether they say something or not.
    pub(super) fn earlier_names(&self, op: &NodeInstance) -> Vec<String> {
        let named = |(teller, node, place): (&'a NodeInstance, &'a Node, ChildSlot)| {
            let tells = move |child: &&NodeInstance| {
                child.is_closed() && child.place != place && node.kind.operator().tells(child.place, place)
            };
            self.children(teller).into_iter().filter(tells).map(|child| self.name_of(child))
        };
        self.tellers(op).into_iter().flat_map(named).collect()
    }

    fn name_of(&self, child: &NodeInstance) -> String {
        let id = self.node(child).and_then(|node| node.id.clone());
        id.unwrap_or_else(|| child.id.as_str().to_owned())
    }

    /// The same as entries.
    pub(super) fn earlier_entries(&self, op: &NodeInstance) -> Vec<Entry> {
        self.earlier(op).iter().map(|told| told.entry.clone()).collect()
    }

    /// The same within their caps, and how many were dropped.
    pub(super) fn told_entries(&self, op: &NodeInstance) -> (Vec<Entry>, usize) {
        capped(&self.earlier(op))
    }

    /// The entry of a child for a later one.
    pub(super) fn entry_of(&self, child: &NodeInstance, format: AccumulationFormat) -> Entry {
        let result = self.result(child);
        entry(child.place.number(), self.name_of(child), &result, words(&result), format)
    }

    /// Entries of the steps of a sequence, for its own notes.
    pub(super) fn step_entries(&self, op: &NodeInstance, format: AccumulationFormat) -> Vec<Entry> {
        let steps = self.children(op).into_iter().filter(|child| matches!(child.place, ChildSlot::Child { .. }));
        let entries = steps.filter(|child| child.is_closed()).map(|child| {
            let id = self.node(child).and_then(|node| node.id.clone()).unwrap_or_default();
            let result = self.result(child);
            Arc::new(Told::of(entry(child.place.number(), id, &result, said(&result), format)))
        });
        capped(&entries.collect::<Vec<_>>()).0
    }
}

fn entry(step: u32, id: String, result: &TaskResult, notes: Map<String, Value>, format: AccumulationFormat) -> Entry {
    let status = serde_json::to_value(result.status).ok().and_then(|word| word.as_str().map(str::to_owned));
    let mut entry = Entry { step, id, status: status.unwrap_or_default(), notes, ..Entry::default() };
    if format == AccumulationFormat::FullOutput {
        let whole = result.words();
        let (content, truncated) = cut(&whole, ENTRY);
        entry.original_bytes = truncated.then_some(whole.len());
        entry.truncated = truncated;
        entry.content = Some(content.to_owned());
    }
    entry
}

/// Removes what notes must not contain (spec 5, 6): content, and what differs between runs.
fn without_contents(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for key in ["content", "parsed_content", "output", "partial_output", "partial_results", "metrics"] {
                map.remove(key);
            }
            map.iter_mut().for_each(|(_, value)| without_contents(value));
        }
        Value::Array(list) => list.iter_mut().for_each(without_contents),
        _ => {}
    }
}

/// The notes for another model (spec 5): about the outputs of other tasks, they say only how these went.
fn words(result: &TaskResult) -> Map<String, Value> {
    let mut notes = result.notes.said();
    if let Some(Value::Array(errors)) = notes.get_mut("errors") {
        for one in errors {
            let message = one.get_mut("error").and_then(|error| error.get_mut("message")).map(Value::take);
            if let (Some(message), Value::Object(one)) = (message, one) {
                one.insert("error".to_owned(), message);
            }
        }
    }
    if let Some(Value::Array(history)) = notes.get_mut("iteration_history") {
        for one in history.iter_mut().filter_map(Value::as_object_mut) {
            one.retain(|key, _| !matches!(key.as_str(), "output" | "script"));
        }
    }
    notes
}

/// The notes that have content, without the measurements and sources, which do not concern other tasks.
fn said(result: &TaskResult) -> Map<String, Value> {
    let notes = serde_json::to_value(&result.notes).unwrap_or_default();
    let Value::Object(mut notes) = notes else { return Map::new() };
    for key in ["metrics", "data_sources", "context_source", "context_files_count", "step_results"] {
        notes.remove(key);
    }
    // About the outputs of other tasks, it says how they went, not what they were.
    for key in ["iteration_history", "final_evaluation", "errors"] {
        notes.get_mut(key).into_iter().for_each(without_contents);
    }
    notes.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    });
    notes
}

fn size(entry: &Entry) -> usize {
    serde_json::to_string(entry).map_or(0, |text| text.len())
}

fn without_content(entry: &Entry) -> Entry {
    let mut bare = entry.clone();
    if let Some(content) = bare.content.take() {
        bare.truncated = true;
        bare.original_bytes.get_or_insert(content.len());
    }
    bare
}

/// Over the total limit, the oldest entries lose their content, then are dropped. Returns how many were dropped.
fn capped(told: &[Arc<Told>]) -> (Vec<Entry>, usize) {
    let mut total: usize = told.iter().map(|told| told.size).sum();
    let mut bare = 0;
    while total > ENTRIES
        && let Some(oldest) = told.get(bare)
    {
        total = total.saturating_sub(oldest.size).saturating_add(oldest.bare.unwrap_or(oldest.size));
        bare += 1;
    }
    let mut dropped = 0;
    while total > ENTRIES
        && let Some(oldest) = told.get(dropped)
    {
        total = total.saturating_sub(oldest.bare.unwrap_or(oldest.size));
        dropped += 1;
    }
    let kept = told.iter().enumerate().skip(dropped);
    let kept = kept.map(|(at, told)| if at < bare { without_content(&told.entry) } else { told.entry.clone() });
    (kept.collect(), dropped)
}
