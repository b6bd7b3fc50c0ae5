//! A summary that only says once more what the task is (spec 3.8 `summary-missing`).

use crate::reply::ReadContext;
use crate::reply::list::{TASK_LABELS, label};
use crate::reply::markdown::{Document, Label, label_line};
use crate::reply::near::folded;

use super::announced::says_no_more;
use super::asked::Asked;

/// Words of the shortest need of which a copy is no answer.
const SHORTEST: usize = 4;

/// Whether a summary is the need of the task, word for word, or holds nothing but items under the keys of a task that have
/// mostly words of the task and no fact besides; and no other section says anything.
pub(super) fn is_restated(summary: &str, document: &Document<'_>, context: &ReadContext) -> bool {
    // What stands in a fence is more, also where it is a file to hand over.
    document.fences.is_empty()
        && (copies_need(summary, context) || keys_alone(summary, context))
        && says_no_more(document)
}

fn copies_need(summary: &str, context: &ReadContext) -> bool {
    let Some(task) = &context.current else { return false };
    // Beyond this many bytes more the two cannot be the same.
    if summary.len() > 2 * task.need.len() + 64 {
        return false;
    }
    let need = folded(&task.need);
    need.split(' ').nth(SHORTEST - 1).is_some() && folded(summary) == need
}

fn keys_alone(summary: &str, context: &ReadContext) -> bool {
    let mut lines = summary.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if context.current.is_none() || lines.peek().is_none() {
        return false;
    }
    let items: Option<Vec<(&str, &str)>> = lines.map(key_and_value).collect();
    let Some(items) = items.filter(|items| items.len() > 1 && items.iter().any(|(key, _)| *key == label::NEED)) else {
        return false;
    };
    let values: Vec<&str> = items.iter().map(|(_, value)| *value).collect();
    let asked = Asked::of(context);
    let tells = |value: &&str| asked.is_told_more_by(value) || is_quoted(value);
    !values.iter().any(tells) && asked.has_most_words_of(&values)
}

/// A key of a task in an item or a line of its own, and what stands behind it.
fn key_and_value(line: &str) -> Option<(&'static str, &str)> {
    let found = label_line(line, TASK_LABELS)?;
    match found.label {
        Label::Known(name) if name != label::OUTPUT => Some((name, found.value)),
        _ => None,
    }
}

fn is_quoted(value: &str) -> bool {
    value.matches(['"', '“', '„', '«']).count() > 0
}
