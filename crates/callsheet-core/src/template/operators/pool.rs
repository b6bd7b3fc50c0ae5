//! What `map` and `parallel` share: a limited number of children runs at the same time, they end in any order, and
//! their results form an array (spec 8).

use serde_json::Value;

use crate::template::result::details::{item_error, partial_result};
use crate::template::result::{Details, PartialResult, TaskResult};
use crate::template::shape::{Shape, Source};

use super::{ChildSlot, EvalPhase, Known, Move, OnError, Part, Parts, Tally, with_error};

pub(super) fn next(
    at: &dyn Parts,
    count: usize,
    max_parallel: u32,
    on_error: OnError,
    place: impl Fn(u32) -> ChildSlot,
) -> Move {
    let Tally { opened, closed, failed, fatal } = at.tally();
    let running = opened.saturating_sub(closed);
    let stops = fatal > 0 || on_error == OnError::Fail && failed > 0;
    if !stops && opened < count {
        let room = size(max_parallel).max(1).saturating_sub(running);
        let last = count.min(opened.saturating_add(room));
        let places: Vec<ChildSlot> = (opened..last).filter_map(|index| u32::try_from(index).ok().map(&place)).collect();
        return if places.is_empty() { Move::Wait } else { Move::Open(places) };
    }
    // Running siblings finish, and their results are kept.
    if running > 0 { Move::Wait } else { Move::Owe(EvalPhase::Close) }
}

/// The shape of the array. With `collect`, the element of a failed child is null.
pub(super) fn shape(children: impl IntoIterator<Item = Shape>, on_error: OnError) -> Shape {
    let element = children.into_iter().map(Shape::value).reduce(|all, one| all.or(&one)).unwrap_or_else(Shape::any);
    let element = if on_error == OnError::Collect { element.or_null() } else { element };
    Shape::list(element).from(Source::Task)
}

pub(super) fn size(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The array in input order. The elements of children that failed, never started or were removed are null.
pub(super) fn result(at: &dyn Known, total: usize, on_error: OnError) -> TaskResult {
    let parts: Vec<Part> = at.parts();
    let failing: Vec<usize> =
        parts.iter().enumerate().filter(|(_, part)| part.failed).map(|(index, _)| index).collect();
    let value = |part: &Part| if part.failed || part.removed { Value::Null } else { at.result(part).value() };
    let values: Vec<Value> = parts.iter().map(value).collect();
    let errors: Vec<_> =
        failing.iter().filter_map(|index| item_error(*index, &at.result(parts.get(*index)?))).collect();
    let all_failed = !parts.is_empty() && failing.len() == parts.len() && parts.len() == total;
    // A used-up budget ends the task even if failures are collected (spec 9).
    let stopped = parts.len() < total || parts.iter().any(|part| part.fatal);
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
    let partial = parts.iter().enumerate().filter(|(_, part)| !part.failed && !part.removed && part.closed);
    let more = Details {
        total_items: Some(total),
        partial_results: Some(
            partial
                .map(|(index, part)| PartialResult { item_index: Some(index), ..partial_result(&at.result(part)) })
                .collect(),
        ),
        errors: Some(errors),
        failed_indexes: Some(failing.clone()),
        ..Details::default()
    };
    let first = failing.first().and_then(|index| parts.get(*index));
    let mut result = with_error(at, first, more);
    result.content = serde_json::to_string(&values).unwrap_or_default();
    result
}
