//! What a person wrote where tasks are read, and that is none. In a reply such words are trimmed; of a person's sheet
//! nothing is left out unsaid, and nothing is made a task by a guess (spec 2.18, 3.4).

use crate::reply::markdown::{Document, PieceKind, Section};
use crate::reply::{IssueCode, Notes, ReadContext, RepairCode, Span};
use crate::sheet::{fill::folded, slug_of};

use super::format::{TASK_LABELS, label};
use super::group::{RawTask, hint, holds_keys, tasks};
use super::{Kind, words};

/// Characters of what is quoted.
const QUOTED: usize = 60;

/// Text that belongs to no task.
pub(super) fn unread(kind: Kind, span: Span, text: &str, notes: &mut Notes) {
    // "Task 1" only counts the tasks.
    let counts = || hint(text.into()).is_none() || words::says_done(text);
    let says_something = text.starts_with("```") || text.chars().any(char::is_alphanumeric) && !counts();
    if kind == Kind::Sheet && says_something {
        told(span, text, notes);
    } else {
        notes.repair(RepairCode::ProseTrimmed, span, text, "");
    }
}

fn told(span: Span, text: &str, notes: &mut Notes) {
    let line = text.lines().next().unwrap_or_default().trim();
    let text: String = line.chars().take(QUOTED).collect();
    let issue = notes.issue(IssueCode::NeedMissing, "text", span, &[("text", text.trim_end())]);
    notes.push(issue.key(label::NEED));
}

/// What a person added to a section that the host writes and does not read.
pub(super) fn added(document: &Document<'_>, section: &Section, context: &ReadContext, notes: &mut Notes) {
    let pieces = document.pieces(section.body.clone(), TASK_LABELS);
    if !holds_keys(&pieces) {
        return;
    }
    // Links of what is no longer relevant are items.
    let prose = pieces.iter().filter_map(|piece| match &piece.kind {
        PieceKind::Prose(text) if text.chars().any(char::is_alphanumeric) => Some((piece.span, text.to_string())),
        _ => None,
    });
    for (span, text) in prose.collect::<Vec<_>>() {
        told(span, &text, notes);
    }
    let listed = tasks(pieces, Kind::Plan, &mut notes.fork());
    for task in listed.iter().filter(|task| !is_finished(task, context)) {
        let facts = [("section", section.title.as_str())];
        notes.push(notes.issue(IssueCode::TaskBoundary, "section", task.span, &facts));
    }
}

/// Whether the host wrote it: it has an output, or says what a finished task says.
fn is_finished(task: &RawTask<'_>, context: &ReadContext) -> bool {
    let value = |name: &str| task.all(name).next().map(|label| label.value.trim()).unwrap_or_default();
    let slug = slug_of(value(label::NAME));
    let same = |need: &str| folded(need) == folded(value(label::NEED));
    task.has(label::OUTPUT)
        || context.tasks.iter().any(|known| known.done && known.task.slug == slug && same(&known.task.need))
}
