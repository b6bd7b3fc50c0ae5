//! Text of a person that is not a task, where tasks are expected. In a reply such words are trimmed. In a person's
//! sheet everything that is left out is reported, and no guess turns it into a task (spec 2.18, 3.4).

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::names::{folded, slug_of};

use crate::markdown::{Document, Heading, Label, PieceKind, Section, label_line};
use crate::reading::{Diagnostics, ReadContext};
use crate::reply::references::is_none;

use super::format::{SHEET, TASK_LABELS, label};
use super::group::{RawTask, hint, tasks};
use super::{Kind, relevant};

/// The longest quotation in characters.
const QUOTED: usize = 60;

/// Text that belongs to no task.
pub(super) fn unread(kind: Kind, span: Span, text: &str, notes: &mut Diagnostics) {
    if kind == Kind::Sheet && says_something(text) {
        told(span, text, notes);
    } else {
        notes.repair(RepairCode::ProseTrimmed, span, text, "");
    }
}

/// Whether a text says something. "Task 1" only numbers the tasks, and "none" says that there are none.
fn says_something(text: &str) -> bool {
    let counts = || hint(text.into()).is_none() || is_none(text);
    text.starts_with("```") || text.chars().any(char::is_alphanumeric) && !counts()
}

/// An error: the words belong to no task.
pub(super) fn told(span: Span, text: &str, notes: &mut Diagnostics) {
    let text = quoted(text.lines().next().unwrap_or_default());
    let issue = notes.issue(IssueCode::NeedMissing, "text", span, &[("text", &text)]);
    notes.push(issue.key(label::NEED));
}

fn quoted(line: &str) -> String {
    let text: String = line.trim().chars().take(QUOTED).collect();
    text.trim_end().to_owned()
}

/// Reports what was trimmed from a person's sheet: their own file keeps it, but a run writes its sheet again.
pub(super) fn left_out(is_edit: bool, notes: &mut Diagnostics) {
    let trimmed = notes.repairs().iter().filter(|repair| repair.code == RepairCode::ProseTrimmed);
    let lines = trimmed.filter_map(|repair| {
        let is_title = |line: &&str| line.trim_start().starts_with('#');
        let is_comment = |line: &&str| !is_edit && line.trim_start().starts_with("<!--");
        let mut lines = repair.before.lines().filter(|line| says_something(line));
        let line = lines.find(|line| !is_title(line) && !is_comment(line))?;
        Some((repair.span, line.to_owned()))
    });
    for (span, line) in lines.collect::<Vec<_>>() {
        lost(is_edit, span, &line, notes);
    }
}

/// Reports a fence that was not closed where it should be, so that it hides what follows.
pub(super) fn swallowed(document: &Document<'_>, notes: &mut Diagnostics) {
    for fence in document.fences.iter().filter(|fence| !fence.closed || fence.unsure) {
        if let Some(line) = fence.content.lines().find(|line| is_key(line) || SHEET.is_title_line(line)) {
            let facts = [("text", quoted(line))];
            let facts = facts.each_ref().map(|(name, text)| (*name, text.as_str()));
            notes.push(notes.issue(IssueCode::TaskBoundary, "fence", Span::line(fence.span.first), &facts));
        }
    }
}

/// Reports a comment that contains a task or a heading, because whether they count would be a guess.
pub(super) fn commented(text: &str, document: &Document<'_>, notes: &mut Diagnostics) {
    // Fences are in order, and lines are read once.
    let mut fences = document.fences.iter().map(|fence| fence.span).peekable();
    let mut in_fence = move |number: u32| {
        while fences.next_if(|fence| fence.last < number).is_some() {}
        fences.peek().is_some_and(|fence| fence.first <= number)
    };
    let mut open: Option<u32> = None;
    for (number, line) in (1..).zip(text.lines()).filter(|(number, _)| !in_fence(*number)) {
        let ends = line.rfind("-->");
        match open {
            None if line.trim_start().starts_with("<!--") && ends.is_none() => open = Some(number),
            None => {}
            Some(_) if ends.is_some() => open = None,
            Some(first) if is_key(line) || SHEET.is_title_line(line) => {
                let quoted = quoted(line);
                notes.push(notes.issue(IssueCode::TaskBoundary, "comment", Span::line(first), &[("text", &quoted)]));
                open = None;
            }
            Some(_) => {}
        }
    }
}

/// Whether a line is a key of a task.
fn is_key(line: &str) -> bool {
    let label = label_line(line, TASK_LABELS).filter(|label| label.marked);
    label.is_some_and(|label| matches!(label.label, Label::Known(_)))
}

fn lost(is_edit: bool, span: Span, line: &str, notes: &mut Diagnostics) {
    let variant = if is_edit { "edit" } else { "" };
    let issue = notes.issue(IssueCode::TextUnread, variant, span, &[("text", &quoted(line))]);
    notes.push(if is_edit { issue } else { issue.warning() });
}

/// Text that a person added to a section that the host writes and does not read.
pub(super) fn added(document: &Document<'_>, section: &Section, context: &ReadContext, notes: &mut Diagnostics) {
    let pieces = document.pieces(section.body.clone(), TASK_LABELS);
    let lists_links = section.heading == Some(Heading::NoLongerRelevant);
    let words = pieces.iter().filter_map(|piece| {
        let text = match &piece.kind {
            PieceKind::Prose(text) => text.to_string(),
            PieceKind::Item(text) if !lists_links || relevant::marks(text).next().is_none() => (*text).to_owned(),
            PieceKind::Fence(_) => "```".to_owned(),
            _ => return None,
        };
        says_something(&text).then_some((piece.span, text))
    });
    for (span, text) in words.collect::<Vec<_>>() {
        lost(true, span, text.lines().next().unwrap_or_default(), notes);
    }
    let listed = tasks(pieces, Kind::Plan, &mut notes.fork());
    for task in listed.iter().filter(|task| !is_finished(task, context)) {
        let facts = [("section", section.title.as_str())];
        notes.push(notes.issue(IssueCode::TaskBoundary, "section", task.span, &facts));
    }
}

/// Whether the host wrote it: it has an output, or equals a finished task.
fn is_finished(task: &RawTask<'_>, context: &ReadContext) -> bool {
    let value = |name: &str| task.all(name).next().map(|label| label.value.trim()).unwrap_or_default();
    let slug = slug_of(value(label::NAME));
    let same = |need: &str| folded(need) == folded(value(label::NEED));
    task.has(label::OUTPUT)
        || context
            .tasks
            .find(&slug)
            .is_some_and(|known| known.done && known.task.slug == slug && same(&known.task.need))
}
