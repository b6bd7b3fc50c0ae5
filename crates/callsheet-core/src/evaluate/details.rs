//! What is told of a failure of an operator with children (spec 6).

use crate::run::TaskOp;
use crate::template::{Details, ErrorKind, ItemError, PartialResult, TaskError};

use super::Evaluator;

impl Evaluator<'_> {
    pub(super) fn partial_result(&self, child: &TaskOp) -> PartialResult {
        let result = self.result(child);
        let notes = serde_json::to_value(&result.notes).unwrap_or_default();
        PartialResult { content: result.content.clone(), notes, ..PartialResult::default() }
    }

    pub(super) fn item_error(&self, item_index: usize, child: &TaskOp) -> Option<ItemError> {
        let error = super::open::failed(&self.result(child))?;
        Some(ItemError { item_index, error })
    }
}

/// Lays what an operator knows over the details of the error that ended it. An error without details keeps its type.
pub(super) fn add(error: &mut TaskError, more: Details) {
    let ErrorKind::TaskFailure { details, .. } = &mut error.kind else { return };
    let details = details.get_or_insert_default();
    let known = serde_json::to_value(&**details).unwrap_or_default();
    let mut merged = serde_json::to_value(more).unwrap_or_default();
    if let (Some(merged), serde_json::Value::Object(known)) = (merged.as_object_mut(), known) {
        for (key, value) in known {
            merged.entry(key).or_insert(value);
        }
    }
    if let Ok(whole) = serde_json::from_value(merged) {
        **details = whole;
    }
}
