//! Outputs of earlier tasks that reach a later one (spec 5): which, how much of them, and which of their notes say
//! something.

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

impl Evaluator<'_> {
    /// Outputs of earlier children that reach a task, outer ones first.
    pub(super) fn earlier_entries(&self, op: &NodeInstance) -> Vec<Entry> {
        let refuses =
            |op: &NodeInstance| self.node(op).is_some_and(|node| node.context.explicit.accumulate_data == Some(false));
        if refuses(op) {
            return Vec::new();
        }
        let mut inner = op;
        let mut found = Vec::new();
        while let Some(above) = self.parent(inner) {
            if above.place.is_subtask() {
                inner = above;
                continue;
            }
            let Some(node) = self.node(above) else { break };
            if !node.kind.facts().transparent {
                let settings = node.context.settings;
                if settings.accumulate_data {
                    let own = self.accumulated(above, node, inner.place, settings.accumulation_format);
                    found.splice(0..0, own);
                }
                if settings.inherit_context != InheritContext::Full {
                    break;
                }
            }
            inner = above;
        }
        found
    }

    /// The entries of `earlier_entries` within their caps, without entries that say nothing.
    pub(super) fn told_entries(&self, op: &NodeInstance) -> (Vec<Entry>, usize) {
        let (mut entries, dropped) = capped(self.earlier_entries(op));
        entries.retain(|entry| !entry.parts().is_empty());
        (entries, dropped)
    }

    fn accumulated(
        &self,
        above: &NodeInstance,
        node: &Node,
        place: ChildSlot,
        format: AccumulationFormat,
    ) -> Vec<Entry> {
        let before = self.children(above).into_iter().filter(|child| child.closed.is_some() && child.place != place);
        let chosen = before.filter(|child| node.kind.operator().tells(child.place, place));
        let entries = (1..).zip(chosen).map(|(step, child)| {
            let id = self.node(child).and_then(|node| node.id.clone());
            let result = self.result(child);
            entry(step, id.unwrap_or_else(|| child.id.as_str().to_owned()), &result, words(&result), format)
        });
        entries.collect()
    }

    /// Entries of the steps of a sequence, for its own notes.
    pub(super) fn step_entries(&self, op: &NodeInstance, format: AccumulationFormat) -> Vec<Entry> {
        let steps = self.children(op).into_iter().filter(|child| matches!(child.place, ChildSlot::Child { .. }));
        let entries = (1..).zip(steps.filter(|child| child.closed.is_some())).map(|(step, child)| {
            let id = self.node(child).and_then(|node| node.id.clone()).unwrap_or_default();
            let result = self.result(child);
            entry(step, id, &result, said(&result), format)
        });
        capped(entries.collect()).0
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

/// Over the total limit, the oldest entries lose their content, then are dropped. Returns how many were dropped.
fn capped(mut entries: Vec<Entry>) -> (Vec<Entry>, usize) {
    let size = |entry: &Entry| serde_json::to_string(entry).map_or(0, |text| text.len());
    let mut total: usize = entries.iter().map(size).sum();
    for entry in &mut entries {
        if total <= ENTRIES {
            break;
        }
        let before = size(entry);
        if let Some(content) = entry.content.take() {
            entry.truncated = true;
            entry.original_bytes.get_or_insert(content.len());
        }
        total = total.saturating_sub(before).saturating_add(size(entry));
    }
    let mut dropped = 0;
    while total > ENTRIES && !entries.is_empty() {
        total = total.saturating_sub(size(&entries.remove(0)));
        dropped += 1;
    }
    (entries, dropped)
}
