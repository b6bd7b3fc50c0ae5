//! `map` and `parallel`: what an element is called, and the array that they give (spec 8).

use serde_json::Value;

use crate::record::Plan;
use crate::run::TaskOp;
use crate::template::{Bound, Details, Kind, OnError, TaskResult, Trust};

use super::Evaluator;

impl Evaluator<'_> {
    /// What a `map` binds for its body.
    pub(super) fn map_names(&self, above: &TaskOp, item: &str, index: u32) -> Vec<(String, Bound)> {
        let element = self.element(above, index).map(|(_, bound)| bound);
        let number = Bound::json(index, Trust::Author);
        let element = element.into_iter().map(|bound| (item.to_owned(), bound));
        element.chain([("item_index".to_owned(), number)]).collect()
    }

    /// An array in input order; what was never started or failed is null.
    pub(super) fn pool_result(&self, op: &TaskOp, on_error: OnError) -> TaskResult {
        let parts: Vec<&TaskOp> = self.children(op).into_iter().filter(|child| !child.place.is_nested()).collect();
        let total = match op.opened.as_ref().map(|opened| &opened.plan) {
            Some(Plan::Items { count }) => usize::try_from(*count).unwrap_or(usize::MAX),
            _ => match self.node(op).map(|node| &node.kind) {
                Some(Kind::Parallel { children, .. }) => children.len(),
                _ => parts.len(),
            },
        };
        let failing: Vec<usize> =
            parts.iter().enumerate().filter(|(_, part)| part.failed()).map(|(index, _)| index).collect();
        let values: Vec<Value> =
            parts.iter().map(|part| if part.failed() { Value::Null } else { self.result(part).value() }).collect();
        let errors: Vec<_> = failing.iter().filter_map(|index| self.item_error(*index, parts.get(*index)?)).collect();
        let all_failed = !parts.is_empty() && failing.len() == parts.len() && parts.len() == total;
        // A spent budget ends the task, whatever would be collected (spec 9).
        let fatal = |part: &&TaskOp| part.closed.as_ref().is_some_and(|closed| closed.fatal);
        let stopped = parts.len() < total || parts.iter().any(fatal);
        if failing.is_empty() && !stopped || (on_error == OnError::Collect && !all_failed && !stopped) {
            let mut result = TaskResult {
                content: serde_json::to_string(&values).unwrap_or_default(),
                parsed_content: Some(Value::Array(values)),
                ..TaskResult::default()
            };
            if !errors.is_empty() {
                result.notes.other.insert("failed_indexes".to_owned(), Value::from(failing));
                let errors = serde_json::to_value(&errors).unwrap_or_default();
                result.notes.other.insert("errors".to_owned(), errors);
            }
            return result;
        }
        let partial = parts.iter().enumerate().filter(|(_, part)| !part.failed() && part.closed.is_some());
        let more = Details {
            total_items: Some(total),
            partial_results: Some(
                partial
                    .map(|(index, part)| crate::template::PartialResult {
                        item_index: Some(index),
                        ..self.partial_result(part)
                    })
                    .collect(),
            ),
            errors: Some(errors),
            failed_indexes: Some(failing.clone()),
            ..Details::default()
        };
        let first = failing.first().and_then(|index| parts.get(*index));
        let mut result = self.with_error(first, more);
        result.content = serde_json::to_string(&values).unwrap_or_default();
        result
    }
}
