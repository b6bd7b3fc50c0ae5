//! Replies that are taken unchanged: an answer in prose (spec 2.3, 2.15), and the text of a new file (spec 3.9).

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::nouns::Phase;

use crate::markdown::{Document, Fence, Format, Prepare};
use crate::reading::{Diagnostics, Reading};
use crate::reply::{calls, json};

/// An answer has no sections.
const FORMAT: Format = Format { rules: &[], markers: &[], plain_titles: false };

/// Reads an answer. An empty text or a part of an answer is rejected. `cut` means that the reply ended at its length
/// limit.
pub fn read_answer(text: &str, cut: bool) -> Reading<String> {
    let mut notes = Diagnostics::new(Phase::Join, false);
    let prepare = Prepare { length_stop: cut, ..Prepare::default() };
    let document = Document::read(text, &FORMAT, prepare, &mut notes);
    let whole = document.whole();
    let answer = match document.fences.as_slice() {
        [only] if is_wrapper(only, whole.trim()) => {
            notes.repair(RepairCode::ReplyUnfenced, only.span, "", "");
            only.content.trim().to_owned()
        }
        _ => whole.trim().to_owned(),
    };
    let found = match (answer.is_empty(), cut && !document.ended) {
        (true, _) => Some((IssueCode::EmptyReply, "")),
        (false, true) => Some((IssueCode::ReplyTruncated, "")),
        (false, false) => calls::is_only_calls(&answer).then_some((IssueCode::CallUnread, "answer")),
    };
    if let Some((code, variant)) = found {
        let issue = notes.issue(code, variant, Span::line(1), &[]);
        notes.push(issue);
    }
    notes.finish(answer)
}

/// Whether the whole reply is in one Markdown fence. A fence of another language may be the requested content.
fn is_wrapper(fence: &Fence, whole: &str) -> bool {
    matches!(fence.lang.as_str(), "markdown" | "md") && stands_alone(fence, whole)
}

/// Whether a fence is the whole reply.
fn stands_alone(fence: &Fence, whole: &str) -> bool {
    let lines = usize::try_from(fence.span.last.saturating_sub(fence.span.first)).unwrap_or_default() + 1;
    whole.lines().count() == lines
}

/// Reads the text of a new file: the reply is the file (spec 3.9). Words around the only fence that contains a file of
/// this kind are ignored. An empty text, a part of a file, and a JSON file without a JSON value are rejected.
pub fn read_document(text: &str, path: &str, cut: bool) -> Reading<String> {
    let mut notes = Diagnostics::new(Phase::Execute, false);
    let prepare = Prepare { length_stop: cut, ..Prepare::default() };
    let document = Document::read(text, &FORMAT, prepare, &mut notes);
    let whole = document.whole();
    let mut content = match file_fence(&document, path) {
        Some(fence) => {
            notes.repair(RepairCode::ReplyUnfenced, fence.span, "", "");
            fence.content.clone()
        }
        None => whole.trim().to_owned(),
    };
    let whole_cut = cut && !document.ended;
    if content.trim().is_empty() {
        notes.push(notes.issue(IssueCode::EmptyReply, "", Span::line(1), &[]));
    } else if whole_cut {
        notes.push(notes.issue(IssueCode::ReplyTruncated, "", Span::line(1), &[]));
    } else if extension(path) == "json" {
        read_json(&mut content, &mut notes);
    }
    if !content.ends_with('\n') {
        content.push('\n');
    }
    notes.finish(content)
}

/// A JSON file contains exactly one value. Invalid JSON is repaired as in calls (spec 4.4), or rejected.
fn read_json(content: &mut String, notes: &mut Diagnostics) {
    let refused = |notes: &mut Diagnostics, what: &str| {
        let issue = notes.issue(IssueCode::JsonInvalid, "file", Span::line(1), &[("what", what)]);
        notes.push(issue);
    };
    match json::read_document(content) {
        Ok(read) => match read.values.as_slice() {
            [_] if read.repairs.is_empty() => {}
            [only] => {
                read.repairs
                    .iter()
                    .for_each(|repair| notes.repair(repair.code, Span::line(1), &repair.before, &repair.after));
                *content = serde_json::to_string_pretty(&only.value).unwrap_or_default();
            }
            _ => refused(notes, "there are several values"),
        },
        Err(fault) => refused(notes, &fault.what),
    }
}

/// The only fence of a reply that contains the file. For a Markdown file, a Markdown fence, because others may be a
/// part of it; for another file, any fence.
fn file_fence<'a>(document: &'a Document<'_>, path: &str) -> Option<&'a Fence> {
    let is_markdown = matches!(extension(path), "md" | "markdown");
    let is_file = |fence: &&Fence| !is_markdown || matches!(fence.lang.as_str(), "markdown" | "md");
    let mut found = document.fences.iter().filter(is_file);
    let whole = document.whole();
    let alone = document.fences.first().filter(|fence| fence.lang.is_empty() && stands_alone(fence, whole.trim()));
    found.next().filter(|_| found.next().is_none()).or(alone)
}

fn extension(path: &str) -> &str {
    path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, ending)| ending)
}
