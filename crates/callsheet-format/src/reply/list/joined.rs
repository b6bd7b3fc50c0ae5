//! `lists-joined` (spec 4.4): one list under several `## Tasks` headings.

use std::collections::BTreeSet;

use callsheet_core::links::parse_target;
use callsheet_core::names::slug_of;
use callsheet_core::nouns::Slug;

use crate::markdown::{Document, Heading};
use crate::reply::references::written_links;

use super::collect::Run;
use super::format::label;
use super::group::RawTask;

/// Whether a list continues the one before it and is not a second draft of it: its section numbers continue, or it
/// reads an output of the one before and no name occurs twice.
pub(super) fn goes_on(document: &Document<'_>, first: &Run<'_>, next: &Run<'_>) -> bool {
    if next.steps.is_empty() {
        return false;
    }
    numbered_on(document, first, next) || reads_on(first, next)
}

/// Whether all tasks are in sections with rising numbers, and the second list does not begin at 1.
fn numbered_on(document: &Document<'_>, first: &Run<'_>, next: &Run<'_>) -> bool {
    let numbers = |run: &Run| -> Option<Vec<u32>> {
        let sections = document.sections.get(run.sections.clone())?.iter();
        let sections = sections.filter(|section| section.heading == Some(Heading::TaskSection));
        let numbers: Option<Vec<u32>> = sections.map(|section| section.number).collect();
        numbers.filter(|numbers| numbers.len() == run.steps.len())
    };
    let (Some(before), Some(after)) = (numbers(first), numbers(next)) else { return false };
    before.iter().chain(&after).is_sorted_by(|a, b| a < b)
}

/// Whether a task of the second list reads the output of a task that only the first list has.
fn reads_on(first: &Run<'_>, next: &Run<'_>) -> bool {
    let (Some(before), Some(after)) = (names(first), names(next)) else { return false };
    let read = tasks(next)
        .flat_map(|task| task.all(label::REFERENCES))
        .flat_map(|references| written_links(&references.value))
        .filter_map(|link| parse_target(&link.target).ok()?.producer().cloned());
    before.is_disjoint(&after) && read.into_iter().any(|slug| before.contains(&slug))
}

/// The slugs of a list's tasks. `None` if a task has no name, or two have the same.
fn names(run: &Run<'_>) -> Option<BTreeSet<Slug>> {
    let mut names = BTreeSet::new();
    for task in tasks(run) {
        let name = task.all(label::NAME).map(|name| name.value.trim()).find(|name| !name.is_empty())?;
        if !names.insert(slug_of(name)) {
            return None;
        }
    }
    Some(names)
}

fn tasks<'r, 'a>(run: &'r Run<'a>) -> impl Iterator<Item = &'r RawTask<'a>> {
    run.steps.iter().flat_map(|step| &step.tasks)
}
