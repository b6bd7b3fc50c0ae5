//! Replies with changes (spec 3.9, 3.11): `Change details` blocks become changes of existing files, which are checked
//! together.

use std::collections::BTreeSet;

use callsheet_core::issue::{IssueCode, RepairCode, Span};

use crate::edit;
use crate::edit::{Change, ChangeBlock, ChangeFence, ChangeKey, ChangeWay, FileEdit, Files, Outlines, ShownFiles};
use crate::markdown::{Document, Heading, Label, PieceKind, Section};
use crate::reading::{Answer, Candidates, Diagnostics, Lookup, ReadContext, clause};
use crate::reply::ExecutionReply;
use crate::reply::references::is_near;
use crate::reply::task::next_section::Tail;

use super::body::is_change;
use super::formats::{CHANGE_LABELS, NO_CHANGES};
use super::{captions, unchanged, whole_file};

/// The changes of a prepared reply, as written.
pub(super) fn changes(
    document: &Document,
    tail: Option<&Tail>,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> (Vec<Change>, usize) {
    let sections: Vec<&Section> =
        document.all(Heading::ChangeDetails).filter(|section| is_change(document, section)).collect();
    let mut changes = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (index, section) in sections.iter().enumerate() {
        let words = document.text_of(section.body.clone());
        if seen.contains(&words) {
            notes.repair(RepairCode::ChangeDeduplicated, document.span(section.line..section.body.end), &words, "");
            continue;
        }
        seen.insert(words);
        notes.set_section(Some("Change details"));
        let last = index + 1 == sections.len();
        let mut block = block(document, section, index + 1, tail.filter(|_| last), notes);
        captions::remove(&mut block, context, notes);
        whole_file::imply(&mut block, context, notes);
        changes.extend(edit::read_change(&block, notes));
    }
    notes.set_section(None);
    (changes, sections.len())
}

/// Checks that changes and the marker of spec 3.11 fit together.
pub(super) fn check_presence(
    document: &Document,
    execution: &mut ExecutionReply,
    blocks: usize,
    cut_off: bool,
    context: &ReadContext,
    notes: &mut Diagnostics,
) {
    execution.no_changes = document.take_marker(NO_CHANGES, 0..document.len(), notes);
    let whole = document.span(0..document.len().max(1));
    if execution.no_changes && blocks > 0 {
        notes.push(notes.issue(IssueCode::ChangesAndNone, "", whole, &[]));
    } else if !execution.no_changes && blocks == 0 && !cut_off {
        notes.push(notes.issue(IssueCode::ChangeDetailsMissing, "", whole, &[]));
    } else if execution.no_changes {
        execution.unchanged = unchanged::shown(document, context, notes);
        if let Some(path) = unchanged::missing(context, notes) {
            notes.push(notes.issue(IssueCode::UnchangedUnquoted, "missing", whole, &[("path", path)]));
        } else if execution.unchanged.is_empty() {
            notes.push(notes.issue(IssueCode::UnchangedUnquoted, "", whole, &[]));
        }
    }
}

/// Drops changes that leave every file unchanged (spec 3.11).
pub(super) fn check_effect(document: &Document, edits: &mut Vec<FileEdit>, notes: &mut Diagnostics) {
    if !edits.is_empty() && edits.iter().all(|edit| edit.before == edit.after) {
        let whole = document.span(0..document.len().max(1));
        notes.push(notes.issue(IssueCode::ChangeDetailsMissing, "same", whole, &[]));
        edits.clear();
    }
}

fn block(
    document: &Document,
    section: &Section,
    number: usize,
    tail: Option<&Tail>,
    notes: &mut Diagnostics,
) -> ChangeBlock {
    let mut block = ChangeBlock { number, span: section.span(), ..ChangeBlock::default() };
    if let Some(tail) = tail {
        block.tail = Some(tail.content.clone());
        block.tail_holds_block = tail.holds_block;
        block.span.last = block.span.last.max(tail.last);
    }
    for piece in document.pieces(section.body.clone(), CHANGE_LABELS) {
        match piece.kind {
            PieceKind::Label(labelled) => {
                let value = before_fence(&labelled.value);
                let known = matches!(labelled.label, Label::Known(_));
                if !known && (value.is_empty() || !block.fences.is_empty()) {
                    notes.repair(RepairCode::KeyDropped, piece.span, labelled.written, "");
                } else {
                    labelled.note(notes);
                    let label = labelled.label.as_str().to_owned();
                    block.keys.push(ChangeKey { label, value, span: labelled.span });
                }
                for index in &labelled.fences {
                    block.fences.extend(fence(document, *index));
                }
            }
            PieceKind::Fence(index) => block.fences.extend(fence(document, index)),
            // `- lines 10-20` has no mark between label and value.
            PieceKind::Item(text) => {
                if let Some(value) =
                    text.strip_prefix("lines ").filter(|value| value.starts_with(|c: char| c.is_ascii_digit()))
                {
                    block.keys.push(ChangeKey { label: "lines".into(), value: value.into(), span: piece.span });
                }
            }
            _ => {}
        }
    }
    block
}

fn fence(document: &Document, index: usize) -> Option<ChangeFence> {
    let fence = document.fences.get(index)?;
    Some(ChangeFence { content: fence.content.clone(), span: fence.span, closed: fence.closed, unsure: fence.unsure })
}

/// The words of a text. Paths are split into their parts.
pub(super) fn words_of_files(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| {
        c.is_whitespace() || matches!(c, '/' | '`' | '"' | '\'' | '(' | ')' | '[' | ']' | '*' | ',' | ':' | ';')
    };
    text.split(is_end).map(|word| word.trim_end_matches('.')).filter(|word| !word.is_empty())
}

/// The part of a value before a fence inside the list item.
fn before_fence(value: &str) -> String {
    let lines = value.lines().take_while(|line| {
        let start = line.trim_start();
        !(start.starts_with("```") || start.starts_with("~~~"))
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

pub(super) fn path_lookup(path: &str) -> Lookup {
    Lookup::Path { path: path.to_owned(), fragment: None }
}

/// Whether `path-near` applies: only to excerpt and symbol changes (spec 4.4), because what they replace shows which
/// file is meant.
fn near_fits(way: &ChangeWay) -> bool {
    matches!(way, ChangeWay::Excerpt { .. } | ChangeWay::Symbol { .. })
}

/// The only other path that a missing path can mean.
fn only(written: &str, other: &Candidates, near: bool) -> Option<(RepairCode, String)> {
    if let Some(path) = &other.respelled {
        return Some((RepairCode::PathSpelling, path.clone()));
    }
    match (&other.without_slash, other.near.as_slice()) {
        (Some(path), _) => Some((RepairCode::PathLeadingSlash, path.clone())),
        (None, [path]) if near && is_near(written, path) => Some((RepairCode::PathNear, path.clone())),
        _ => None,
    }
}

/// Makes paths canonical, takes texts from the answers, and composes the set. After an earlier error nothing is
/// composed, because a set is applied as a whole or not at all (spec 3.10).
pub(super) fn resolve(changes: &mut [Change], context: &ReadContext, notes: &mut Diagnostics) -> Vec<FileEdit> {
    notes.set_section(Some("Change details"));
    let mut files = Files::new();
    let mut outlines = Outlines::new();
    let mut clean = true;
    for (index, change) in changes.iter_mut().enumerate() {
        clean &= place(change, index, &mut files, context, notes) && outline(change, &mut outlines, context, notes);
    }
    let refused = notes.errors() > 0;
    let shown = ShownFiles { in_full: &context.shown_in_full, in_part: &context.shown_in_part };
    let edits = if clean { edit::compose(changes, &files, &outlines, shown, notes) } else { Vec::new() };
    notes.set_section(None);
    if refused { Vec::new() } else { edits }
}

fn place(change: &mut Change, index: usize, files: &mut Files, context: &ReadContext, notes: &mut Diagnostics) -> bool {
    let written = change.path.clone();
    let span = change.span;
    let refuse = |code: IssueCode, variant: &str, why: &str, other: &Candidates, notes: &mut Diagnostics| {
        let facts = [("path", written.as_str()), ("why", why)];
        let item = format!("change {}", index + 1);
        let mut issue = notes.issue(code, variant, span, &facts).item(&item).key("file_path");
        if !issue.is_counted() {
            issue.allowed = other.near.iter().take(5).cloned().collect();
        }
        notes.push(issue);
        false
    };
    let none = Candidates::default();
    match notes.answer(context, path_lookup(&written)) {
        None => return refuse(IssueCode::LookupMissing, "change", "", &none, notes),
        Some(Answer::File(facts)) if facts.directory => {
            return refuse(IssueCode::AddressConflict, "directory", "", &none, notes);
        }
        Some(Answer::File(facts)) if facts.binary => {
            return refuse(IssueCode::FileUnreadable, "change", &clause("binary", &[]), &none, notes);
        }
        Some(Answer::File(facts)) if facts.link && change.way == ChangeWay::Delete => {
            // Otherwise a file other than the named one would be deleted, and the link would remain and lead nowhere.
            let to = Candidates { near: vec![facts.path.clone()], ..Candidates::default() };
            return refuse(IssueCode::AddressConflict, "link", "", &to, notes);
        }
        Some(Answer::File(facts)) => change.path.clone_from(&facts.path),
        Some(Answer::Missing(other)) => match only(&written, other, near_fits(&change.way)) {
            Some((code, path)) => moved(change, code, path, notes),
            None if matches!(change.way, ChangeWay::Whole { .. }) && !written.starts_with('/') => return true,
            None => match new_in_project(change, context, notes) {
                Some(path) => moved(change, RepairCode::PathLeadingSlash, path, notes),
                None => return refuse(IssueCode::FileMissing, "change", "", other, notes),
            },
        },
        Some(Answer::Outside(other)) => match &other.without_slash {
            Some(path) => moved(change, RepairCode::PathLeadingSlash, path.clone(), notes),
            None => return refuse(IssueCode::OutsideProject, "change", "", other, notes),
        },
        Some(Answer::Unreadable(why)) => return refuse(IssueCode::FileUnreadable, "change", why, &none, notes),
        Some(Answer::Protected) => return refuse(IssueCode::ProtectedPath, "change", "", &none, notes),
        Some(_) => {
            return refuse(IssueCode::LookupMissing, "change", "", &none, notes);
        }
    }
    match notes.answer(context, Lookup::Content(change.path.clone())) {
        Some(Answer::Content(text)) => {
            // Many changes of one file are usual, and the file is large compared with them.
            if !files.contains_key(&change.path) {
                files.insert(change.path.clone(), text.clone());
            }
            true
        }
        Some(Answer::Missing(_)) => true,
        Some(Answer::Unreadable(why)) => refuse(IssueCode::FileUnreadable, "change", why, &none, notes),
        Some(Answer::Protected) => refuse(IssueCode::ProtectedPath, "change", "", &none, notes),
        Some(Answer::Outside(other)) => refuse(IssueCode::OutsideProject, "change", "", other, notes),
        _ => refuse(IssueCode::LookupMissing, "change", "", &none, notes),
    }
}

/// The symbols of the file, if the change names one.
fn outline(change: &Change, outlines: &mut Outlines, context: &ReadContext, notes: &mut Diagnostics) -> bool {
    if !edit::names_symbol(change) || outlines.contains_key(&change.path) {
        return true;
    }
    match notes.answer(context, Lookup::Symbols(change.path.clone())) {
        Some(Answer::Symbols(symbols)) => drop(outlines.insert(change.path.clone(), symbols.clone())),
        Some(_) => {}
        None => {
            notes.push(notes.issue(IssueCode::LookupMissing, "change", change.span, &[("path", &change.path)]));
            return false;
        }
    }
    true
}

/// Where a new file belongs whose path is written from the root, if its folder exists in the project.
fn new_in_project(change: &Change, context: &ReadContext, notes: &mut Diagnostics) -> Option<String> {
    if !matches!(change.way, ChangeWay::Whole { .. }) || !change.path.starts_with('/') {
        return None;
    }
    match notes.answer(context, Lookup::Content(change.path.clone())) {
        Some(Answer::Missing(other)) => other.without_slash.clone(),
        _ => None,
    }
}

fn moved(change: &mut Change, code: RepairCode, path: String, notes: &mut Diagnostics) {
    let span: Span = change.span;
    notes.repair(code, span, &change.path, &path);
    change.path = path;
}
