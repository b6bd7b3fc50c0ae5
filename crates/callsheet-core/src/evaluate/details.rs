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

/// The details of an error; one of a document that was given to us has none.
pub(super) fn of(error: &mut TaskError) -> Option<&mut Option<Box<Details>>> {
    match &mut error.kind {
        ErrorKind::TaskFailure { details, .. }
        | ErrorKind::ResourceExhaustion { details, .. }
        | ErrorKind::InvalidOutput { details, .. } => Some(details),
        _ => None,
    }
}

/// Lays what an operator knows over the details of the error that ended it. What the failed part knew under the same
/// names stays as `inner`.
pub(super) fn add(error: &mut TaskError, more: Details) {
    let Some(details) = of(error) else { return };
    let details = details.get_or_insert_default();
    let known = serde_json::to_value(&**details).unwrap_or_default();
    let mut merged = serde_json::to_value(more).unwrap_or_default();
    if let (Some(merged), serde_json::Value::Object(known)) = (merged.as_object_mut(), known) {
        let mut inner = serde_json::Map::new();
        for (key, value) in known {
            let empty = value.as_array().is_some_and(Vec::is_empty);
            match merged.get(&key) {
                None => drop(merged.insert(key, value)),
                Some(_) if empty => {}
                Some(_) => drop(inner.insert(key, value)),
            }
        }
        if !inner.is_empty() {
            // Of several levels the innermost stands deepest.
            inner.extend(merged.remove("inner").map(|deeper| ("inner".to_owned(), deeper)));
            merged.insert("inner".to_owned(), serde_json::Value::Object(inner));
        }
    }
    if let Ok(whole) = serde_json::from_value(merged) {
        **details = whole;
    }
}
