//! Replies of executions, with and without changes, and of merges (spec 3.8, 3.9, 3.11, 3.12).

use callsheet_core::issue::{IssueCode, Span};
use callsheet_core::nouns::Phase;

use crate::edit::FileEdit;
use crate::markdown::Heading;
use crate::reading::{Diagnostics, ReadContext, Reading};
use crate::reply::ExecutionReply;
use crate::reply::calls;
use crate::reply::task::next_section;

use super::body::{self, Parts};
use super::{links, write};

/// A reply with changes, and their effect on files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The reply. Its changes have canonical paths.
    pub execution: ExecutionReply,
    /// New texts of the changed files, in path order. Empty after any error.
    pub edits: Vec<FileEdit>,
}

/// Reads an execution reply (spec 3.8), including the final reply of a loop task.
pub fn read_execution(text: &str, context: &ReadContext) -> Reading<ExecutionReply> {
    let mut notes = notes(Phase::Execute, context);
    let execution = result(text, context, &mut notes);
    notes.finish(execution)
}

/// Reads a merge reply (spec 3.12): like an execution, but without details files and without links to its own output.
pub fn read_merge(text: &str, context: &ReadContext) -> Reading<ExecutionReply> {
    let mut notes = notes(Phase::Merge, context);
    let execution = merge(text, context, &mut notes);
    notes.finish(execution)
}

/// Reads a reply with changes (spec 3.9) and composes them. The texts of the files come from `context.answers`.
pub fn read_write_execution(text: &str, context: &ReadContext) -> Reading<Written> {
    let mut notes = notes(Phase::Execute, context);
    let written = writer(text, context, &mut notes);
    notes.finish(written)
}

pub(super) fn result(text: &str, context: &ReadContext, notes: &mut Diagnostics) -> ExecutionReply {
    plain(text, Parts { details: true, changes: false }, context, notes)
}

pub(super) fn merge(text: &str, context: &ReadContext, notes: &mut Diagnostics) -> ExecutionReply {
    plain(text, Parts { details: false, changes: false }, context, notes)
}

pub(super) fn writer(text: &str, context: &ReadContext, notes: &mut Diagnostics) -> Written {
    let parts = Parts { details: true, changes: true };
    let split = next_section::split(text);
    let head = split.as_ref().map_or(text, |(head, _)| head);
    let document = body::prepare(head, parts, context, notes);
    let tail = split.as_ref().map(|(_, tail)| tail).filter(|_| !document.ended);
    let cut = context.length_stop && !document.ended;
    let mut written = Written::default();
    if body::has_text(&document, notes) {
        let mut execution = body::read(&document, parts, context, notes);
        let (changes, blocks) = write::changes(&document, tail, context, notes);
        let end = tail.map_or(document.span(0..document.len()).last, |tail| tail.last);
        let in_change = tail.is_some() || body::ends_in_change(&document);
        if cut {
            body::length_stop(Span::line(end), in_change, context, notes);
        }
        write::check_presence(&document, &mut execution, blocks, cut, context, notes);
        if let Some(tail) = tail {
            execution.document = format!("{}\n\n{}", execution.document, tail.content.trim_end());
        }
        execution.changes = changes;
        written.edits = write::resolve(&mut execution.changes, context, notes);
        write::check_effect(&document, &mut written.edits, notes);
        links::check(&document, &execution, context, notes);
        written.execution = execution;
    }
    written
}

pub(super) fn notes(phase: Phase, context: &ReadContext) -> Diagnostics {
    let mut notes = Diagnostics::new(phase, context.strict);
    notes.set_task(context.current.as_ref().map(|task| task.name.as_str()));
    notes
}

fn plain(text: &str, parts: Parts, context: &ReadContext, notes: &mut Diagnostics) -> ExecutionReply {
    let document = body::prepare(text, parts, context, notes);
    if !body::has_reply(&document, context, notes) {
        return ExecutionReply::default();
    }
    if document.all(Heading::ResultSummary).next().is_none() && calls::is_only_calls(&document.whole()) {
        notes.push(notes.issue(IssueCode::CallUnread, "answer", document.span(0..document.len()), &[]));
        return ExecutionReply::default();
    }
    let execution = body::read(&document, parts, context, notes);
    links::check(&document, &execution, context, notes);
    execution
}
