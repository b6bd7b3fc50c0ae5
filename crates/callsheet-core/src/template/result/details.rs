//! The details about the failure of an operator with children (spec 6).

use super::{Details, ErrorKind, ItemError, PartialResult, TaskError, TaskResult};

/// How many violations of a declared form a message mentions. The details contain all of them.
const TOLD_VIOLATIONS: usize = 5;

/// The result of a part before another part failed.
pub(crate) fn partial_result(result: &TaskResult) -> PartialResult {
    let notes = serde_json::to_value(&result.notes).unwrap_or_default();
    PartialResult { content: result.content.clone(), notes, ..PartialResult::default() }
}

/// The error of an element.
pub(crate) fn item_error(item_index: usize, result: &TaskResult) -> Option<ItemError> {
    Some(ItemError { item_index, error: result.failed()? })
}

/// The details of an error. An error of a document that was given to Callsheet has none.
pub(crate) fn of(error: &mut TaskError) -> Option<&mut Option<Box<Details>>> {
    match &mut error.kind {
        ErrorKind::TaskFailure { details, .. }
        | ErrorKind::ResourceExhaustion { details, .. }
        | ErrorKind::InvalidOutput { details, .. } => Some(details),
        _ => None,
    }
}

/// Merges what an operator knows into the details of the error that ended it. Values of the failed part under the
/// same names are kept as `inner`.
pub(crate) fn add(error: &mut TaskError, more: Details) {
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
            // With several levels, the innermost is nested deepest.
            inner.extend(merged.remove("inner").map(|deeper| ("inner".to_owned(), deeper)));
            merged.insert("inner".to_owned(), serde_json::Value::Object(inner));
        }
    }
    if let Ok(whole) = serde_json::from_value(merged) {
        **details = whole;
    }
}

/// The misfit of an output in words, with its place in the value.
pub(crate) fn misfit(details: &Details) -> String {
    let violations = || details.violations.iter().flatten();
    let mut listed = violations().take(TOLD_VIOLATIONS).cloned().collect::<Vec<_>>().join("; ");
    let more = violations().count().saturating_sub(TOLD_VIOLATIONS);
    if more > 0 {
        listed.push_str(&format!("; and {more} more"));
    }
    let typed = match (&details.expected_type, &details.actual_type) {
        (Some(expected), Some(actual)) => format!("{actual} instead of {expected}"),
        _ => String::new(),
    };
    match (listed.is_empty(), &details.path) {
        (true, _) => typed,
        // The output is not JSON, so there is no place in a value.
        (false, None) => format!("{typed} ({listed})"),
        (false, Some(_)) => listed,
    }
}
