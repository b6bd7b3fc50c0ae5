//! `For each`: a task that is done once for each item of a list (spec 3.16).

use std::collections::BTreeSet;

use callsheet_core::issue::{Issue, IssueCode, Span};
use callsheet_core::links::link;
use callsheet_core::nouns::{ForEach, Reference, SkillMode, Target, Task};

use crate::items::{items_of, placeholders};
use crate::markdown::Labelled;
use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};
use crate::reply::references::{Scope, check_source};
use crate::sheet::{ALLOW_FAILURES, IN};

use super::format::label;
use super::group::RawTask;

/// The name of the placeholder if the author gave none.
const ITEM: &str = "item";

/// `For each` with the text of its link and the first line of that text.
pub fn read(raw: &RawTask<'_>) -> Option<(ForEach, (String, u32))> {
    let first = raw.all(label::FOR_EACH).next()?;
    let (for_each, source) = parts(&first.value);
    Some((for_each, (source.to_owned(), first.value_line)))
}

/// The parts of `file in [Notes](notes/), allow failures`: what it says, and its link.
fn parts(value: &str) -> (ForEach, &str) {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let kept = lower.trim_end_matches([')', '.']).strip_suffix(ALLOW_FAILURES).map(str::len);
    let rest = kept.and_then(|kept| value.get(..kept)).unwrap_or(value).trim_end_matches([' ', ',', '(', ';']);
    let (name, source) = rest.split_once(IN).unwrap_or(("", rest));
    let name = name.split_whitespace().last().unwrap_or_default();
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let name = if name.is_empty() { ITEM.to_owned() } else { name.to_ascii_lowercase() };
    (ForEach { name, allow_failures: kept.is_some() }, source.trim())
}

/// Warns about each placeholder in the words of a task that does not stand for its item. Braces in code are no
/// placeholders.
pub fn check_placeholders(for_each: &ForEach, need: &str, expected: &str, span: Span, notes: &mut Diagnostics) {
    let mut told: Vec<String> = Vec::new();
    for placeholder in [need, expected].into_iter().flat_map(placeholders) {
        let name = placeholder.split('.').next().unwrap_or_default();
        if name != for_each.name && !told.contains(&placeholder) {
            let (written, item) = (format!("{{{placeholder}}}"), format!("{{{}}}", for_each.name));
            let facts = [("placeholder", written.as_str()), ("name", item.as_str())];
            let issue = notes.issue(IssueCode::ForEachInvalid, "placeholder", span, &facts).warning();
            notes.push(issue.key(label::FOR_EACH));
            told.push(placeholder);
        }
    }
}

/// A field of an item that the words of a task name, with the line.
pub type NamedField = (String, u32);

/// The fields of an item that the words of a task name.
pub fn fields(raw: &RawTask<'_>, for_each: &ForEach) -> Vec<NamedField> {
    let of_item = |placeholder: String| {
        let (name, field) = placeholder.split_once('.')?;
        (name == for_each.name).then(|| field.to_owned())
    };
    let of_label = |label: &Labelled<'_>| {
        let found = placeholders(&label.value).into_iter().filter_map(of_item);
        let line = |field: &str| {
            let written = format!("{{{}.{field}}}", for_each.name);
            let before = label.value.lines().position(|line| line.contains(&written)).unwrap_or_default();
            label.value_line.saturating_add(u32::try_from(before).unwrap_or_default())
        };
        found.map(|field| (line(&field), field)).map(|(line, field)| (field, line)).collect::<Vec<_>>()
    };
    [label::NEED, label::EXPECTED].into_iter().filter_map(|name| raw.all(name).next()).flat_map(of_label).collect()
}

/// Reports each named field that no item has: an error, or a warning if an earlier task may write the list.
fn check_fields(
    for_each: &ForEach,
    fields: &[NamedField],
    source: &Reference,
    written_before: bool,
    context: &ReadContext,
    notes: &mut Diagnostics,
) {
    let items = match &source.target {
        _ if fields.is_empty() => return,
        // The items of a folder are paths.
        Target::Directory(_) => Vec::new(),
        Target::File { path, fragment: None } => match notes.answer(context, Lookup::Content(path.clone())) {
            Some(Answer::Content(text)) => match items_of(path, text) {
                Ok(items) if !items.is_empty() => items,
                _ => return,
            },
            _ => return,
        },
        _ => return,
    };
    let known: BTreeSet<&str> = items.iter().flat_map(|item| &item.fields).map(|(field, _)| field.as_str()).collect();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for (field, line) in fields.iter().filter(|(field, _)| !known.contains(field.as_str())) {
        if !told.insert(field) {
            continue;
        }
        let (link, written) = (link(source), format!("{{{}.{field}}}", for_each.name));
        let item = format!("{{{}}}", for_each.name);
        let facts = [("link", link.as_str()), ("placeholder", written.as_str()), ("name", item.as_str())];
        let variant = if known.is_empty() { "no-fields" } else { "field" };
        let issue =
            notes.issue(IssueCode::ForEachInvalid, variant, Span::line(*line), &facts).key(label::FOR_EACH).item(field);
        let issue = if known.is_empty() { issue } else { issue.allowed(field, known.iter().copied()) };
        notes.push(if written_before { issue.warning() } else { issue });
    }
}

/// The link of a task with `For each`, checked. Without exactly one valid link the task has an error and no `For each`.
/// `fields` are those that its words name, and `written_before` says whether an earlier task may write the list.
pub fn source(
    task: &mut Task,
    (value, line): &(String, u32),
    (fields, written_before): (&[NamedField], bool),
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Vec<Reference> {
    let errors = notes.errors();
    let found = if value.is_empty() {
        Vec::new()
    } else {
        check_source(value, (label::FOR_EACH, *line), scope, context, notes)
    };
    let span = Span::line(*line);
    let fits = match found.as_slice() {
        [] => {
            if notes.errors() == errors {
                notes.push(issue("", span, notes));
            }
            false
        }
        [only] => {
            let lists = matches!(
                only.target,
                Target::File { .. } | Target::Directory(_) | Target::TaskOutput { .. } | Target::TaskDetail { .. }
            );
            if !lists {
                let link = link(only);
                let kind = notes.issue(IssueCode::ForEachInvalid, "kind", span, &[("link", &link)]);
                notes.push(kind.key(label::FOR_EACH));
            }
            lists
        }
        _ => {
            notes.push(issue("several", span, notes));
            false
        }
    };
    let skill = context.catalog.iter().find(|skill| Some(&skill.name) == task.skill.as_ref());
    if skill.is_some_and(|skill| skill.policy.mode == SkillMode::Template) {
        notes.push(issue("template", span, notes));
    }
    if !task.calls.is_empty() {
        notes.push(issue("calls", span, notes));
    }
    let Some(for_each) = task.for_each.as_ref().filter(|_| fits) else {
        task.for_each = None;
        return Vec::new();
    };
    for source in &found {
        check_fields(for_each, fields, source, written_before, context, notes);
    }
    found
}

fn issue(variant: &str, span: Span, notes: &Diagnostics) -> Issue {
    notes.issue(IssueCode::ForEachInvalid, variant, span, &[]).key(label::FOR_EACH)
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn the_parts_of_a_value() {
        let check = |value: &str, name: &str, allow: bool, link: &str| {
            let (for_each, source) = parts(value);
            assert_eq!((for_each.name.as_str(), for_each.allow_failures, source), (name, allow, link), "{value}");
        };
        check("file in [Notes](notes/)", "file", false, "[Notes](notes/)");
        check("{file} in notes/", "file", false, "notes/");
        check("each Row in [Table](a in b.csv), allow failures", "row", true, "[Table](a in b.csv)");
        check("[Notes](notes/) (allow failures)", "item", true, "[Notes](notes/)");
        check("", "item", false, "");
    }
}
