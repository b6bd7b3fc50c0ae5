//! Looks up what a task needs before it is opened (spec 5, assembly; 13). Only the evaluator asks for context, so a
//! lookup never causes another one.

use serde_json::{Value, json};

use crate::file_index::{ContextItem, ContextQuery, Found, SeekRequest};
use crate::record::{Retrieval, Step};
use crate::run::NodeInstance;
use crate::template::{
    Details, Environment, FileSource, InheritContext, InputFaultDetails, Node, Reason, ResolvedTask, TaskError,
    TaskResult, resolve_command, resolve_task,
};

use super::context::Item;
use super::open::input_fault;
use super::{Evaluator, failure};

/// A matching task never looks anything up (spec 5, recursion guard).
const MATCHING: &str = "associative_matching";

/// Words for a person.
const EMPTY_INDEX: &str = "the index of this project is empty; `callsheet index` builds it";
const NO_LOOKUP: &str = "a matching task looks nothing up";

impl Evaluator<'_> {
    /// What must be found first. `None` if nothing is needed, or it was already found.
    ///
    /// # Errors
    /// Names without a value, a lookup that failed twice.
    pub(super) fn seek(
        &self,
        op: &NodeInstance,
        node: &Node,
        own: &Environment,
    ) -> Result<Option<Step>, Box<TaskError>> {
        match &op.retrieval {
            Some(Retrieval::Found(_)) => {
                self.check_choice(op)?;
                return Ok(self.wants_choice(op).then_some(Step::Matches));
            }
            Some(Retrieval::Failed { message, partial }) => return Err(self.retrieval_failure(op, message, partial)),
            None => {}
        }
        if !looks_up(node) {
            return Ok(None);
        }
        let resolved = match resolve_task(node, own, op.id.as_str()) {
            Ok(resolved) => resolved,
            Err(missing) if node.kind.is_atomic() => return Err(input_fault(missing)),
            // Its children report themselves what they lack.
            Err(_) => ResolvedTask::default(),
        };
        let mut request = SeekRequest::default();
        // A default only allows a lookup: an index changes no prompt that did not ask for it.
        let fresh = node.context.settings.fresh_context && node.context.explicit.fresh_context.is_some();
        let chooses = node.context.settings.inherit_context == InheritContext::Subset && node.refs.is_none();
        let offered = if chooses { self.offered(op) } else { Vec::new() };
        if fresh || !offered.is_empty() {
            let items = offered.iter().map(context_item).collect();
            request.related = Some(self.query(op, node, own, &resolved, items, fresh));
        }
        if let Some(refs) = node.refs.as_ref().filter(|_| self.is_spawned(op) || self.tree.files.is_empty()) {
            match refs.source {
                FileSource::Literal => {}
                FileSource::Command => {
                    let words = resolve_command(&refs.command, own, &node.origin, op.id.as_str());
                    let words = words.map_err(|fault: InputFaultDetails| Box::new(fault.into_error()))?;
                    request.command = words.iter().map(|word| word.as_str().to_owned()).collect();
                }
                FileSource::Description | FileSource::ContextDescription => {
                    let query = self.query(op, node, own, &resolved, Vec::new(), true);
                    let description = Some(resolved.query.as_str().to_owned());
                    request.described = Some(ContextQuery { description, ..query });
                }
            }
        }
        let wanted = request != SeekRequest::default();
        request.about = wanted && self.tree.matcher.is_some();
        Ok(wanted.then(|| Step::Seeks { request: self.keep(&request) }))
    }

    fn query(
        &self,
        op: &NodeInstance,
        node: &Node,
        own: &Environment,
        resolved: &ResolvedTask,
        inherited_context: Vec<ContextItem>,
        search_index: bool,
    ) -> ContextQuery {
        let (description, instructions) = (resolved.description.as_str(), resolved.instructions.as_str());
        let more = if instructions == description { "" } else { instructions };
        let inputs = node.inputs.iter().filter(|input| input.matched).filter_map(|input| {
            let bound = own.name(&input.name)?;
            (!bound.value().is_null()).then(|| (input.name.clone(), bound.text()))
        });
        let outputs = self.earlier_entries(op).into_iter().map(|entry| {
            let summary = entry.notes.get("summary").and_then(Value::as_str).map(str::to_owned);
            entry.content.or(summary).unwrap_or_default()
        });
        ContextQuery {
            task_text: format!("{description}\n{more}").trim().to_owned(),
            inherited_context,
            previous_outputs: outputs.filter(|output| !output.is_empty()).collect(),
            inputs: inputs.collect(),
            description: None,
            search_index,
        }
    }

    /// The failure of a lookup, with the available context: inherited parts, and results of other lookups.
    fn retrieval_failure(&self, op: &NodeInstance, message: &str, partial: &crate::nouns::BlobId) -> Box<TaskError> {
        let partial = self.with_frame(op, self.value::<Value>(partial).unwrap_or_default());
        let details = Details { partial_context: Some(partial), ..Details::default() };
        Box::new(failure::failure(Reason::ContextRetrievalFailure, message, details))
    }

    /// The available context of a task whose lookup failed.
    pub(super) fn with_frame(&self, op: &NodeInstance, found: Value) -> Value {
        let request = op.seeks.as_ref().and_then(|request| self.value::<SeekRequest>(request)).unwrap_or_default();
        let items = request.related.unwrap_or_default().inherited_context;
        json!({
            "found": found,
            "inherited": items.into_iter().map(|item| item.name).collect::<Vec<_>>(),
            "previous_outputs": self.earlier_names(op),
        })
    }

    /// What was looked for.
    pub(super) fn sought(&self, op: &NodeInstance) -> Option<ContextQuery> {
        let request = self.value::<SeekRequest>(op.seeks.as_ref()?)?;
        request.described.or(request.related)
    }

    /// Everything that was found for a task.
    pub(super) fn everything_found(&self, op: &NodeInstance) -> Found {
        match &op.retrieval {
            Some(Retrieval::Found(found)) => self.value(found).unwrap_or_default(),
            _ => Found::default(),
        }
    }

    /// What its lookup has to tell.
    pub(super) fn lookup_warnings(&self, op: &NodeInstance, node: &Node) -> Vec<String> {
        let mut warnings = self.found(op).warnings;
        if op.tells_empty_index {
            warnings.push(EMPTY_INDEX.to_owned());
        }
        let described = node.refs.as_ref().is_some_and(|refs| is_lookup(refs.source));
        // For a handler, this is reported together with its files.
        let error = self.found(op).command_error.filter(|_| !node.kind.is_atomic());
        warnings.extend(error.map(|why| format!("the command of file_paths returned nothing: {why}")));
        if node.subtype == MATCHING && described {
            warnings.push(NO_LOOKUP.to_owned());
        }
        warnings
    }

    /// Adds notes to an operator with children. For a handler, they come with what it was told.
    pub(super) fn note_lookup(&self, op: &NodeInstance, result: &mut TaskResult) {
        if let Some(node) = self.node(op).filter(|node| !node.kind.is_atomic()) {
            for warning in self.lookup_warnings(op, node) {
                result.notes.warn("context", warning);
            }
        }
    }
}

fn is_lookup(source: FileSource) -> bool {
    matches!(source, FileSource::Description | FileSource::ContextDescription)
}

fn looks_up(node: &Node) -> bool {
    node.kind.facts().looks_up && node.subtype != MATCHING
}

fn context_item(item: &Item) -> ContextItem {
    match item {
        Item::Text { title, text } => ContextItem { name: title.clone(), text: text.clone() },
        Item::File(path) => ContextItem { name: path.clone(), text: String::new() },
        Item::Looked { context, matches } => {
            let paths = matches.iter().map(|found| found.0.as_str()).collect::<Vec<_>>().join(" ");
            ContextItem { name: String::new(), text: format!("{context} {paths}") }
        }
    }
}
