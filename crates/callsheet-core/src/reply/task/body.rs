//! What execution, writer, merge and final loop replies share: summary, markers, details files (spec 3.8, 4.4).

use std::collections::BTreeSet;

use crate::reply::blank::is_copied_form;
use crate::reply::markdown::{Document, Format, Heading, PieceKind, Prepare, Section};
use crate::reply::{DetailFile, Execution, IssueCode, Notes, ReadContext, RepairCode, Span};
use crate::sheet::heading_key;

use super::formats::{self, Blocks, DETAIL_LABELS, MORE_WORK};

/// Longest reply without headings that is its own summary, characters (spec 4.4 `summary-bare`).
const BARE: usize = 1_200;

/// What a kind of reply may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// `Details` blocks.
    pub details: bool,
    /// `Change details` blocks.
    pub changes: bool,
}

/// Prepares a reply with the headings it really uses.
pub(super) fn prepare(text: &str, parts: Parts, context: &ReadContext, notes: &mut Notes) -> Document {
    let prepare = Prepare { copies: &[], length_stop: context.length_stop, ..Prepare::default() };
    let mut scratch = Notes::new(notes.phase(), false);
    let widest = formats::execution(parts.details, if parts.changes { Blocks::Synonym } else { Blocks::None }, true);
    let probe = Document::read(text, &widest, prepare, &mut scratch);
    let details = probe.all(Heading::Details).any(|section| has_label(&probe, section, DETAIL_LABELS, "Filename"));
    let changes = probe.all(Heading::ChangeDetails).fold(Blocks::None, |blocks, section| {
        let canonical = heading_key(&section.title).starts_with("change-details");
        match blocks {
            Blocks::Synonym => blocks,
            _ if canonical => Blocks::Canonical,
            _ if is_change(&probe, section) => Blocks::Synonym,
            _ => blocks,
        }
    });
    let format: Format = formats::execution(details, changes, parts.changes);
    Document::read(text, &format, prepare, notes)
}

fn has_label(
    document: &Document,
    section: &Section,
    rules: &'static [crate::reply::markdown::LabelRule],
    name: &str,
) -> bool {
    document.pieces(section.body.clone(), rules).iter().any(|piece| match &piece.kind {
        PieceKind::Label(labelled) => labelled.known() == Some(name),
        _ => false,
    })
}

/// A `Change details` section, or one under a synonym with a key that names the file.
pub(super) fn is_change(document: &Document, section: &Section) -> bool {
    if heading_key(&section.title).starts_with("change-details") {
        return true;
    }
    document.pieces(section.body.clone(), formats::CHANGE_LABELS).iter().any(|piece| match &piece.kind {
        PieceKind::Label(labelled) => crate::reply::change::is_path_key(labelled.label.as_str()),
        _ => false,
    })
}

/// Notes what concerns the reply as a whole; false if there is nothing to read.
pub(super) fn has_reply(document: &Document, context: &ReadContext, notes: &mut Notes) -> bool {
    if !document.ended {
        length_stop(Span::line(document.span(0..document.len().max(1)).last), false, context, notes);
    }
    has_text(document, notes)
}

/// Notes `empty-reply`; false if there is nothing to read.
pub(super) fn has_text(document: &Document, notes: &mut Notes) -> bool {
    if document.is_empty() {
        let whole = document.span(0..document.len().max(1));
        notes.push(notes.issue(IssueCode::EmptyReply, "", whole, &[]));
    }
    !document.is_empty()
}

/// Notes a stop at the length limit: `content-truncated` where it cut change content, else `reply-truncated`.
pub(super) fn length_stop(last: Span, in_change: bool, context: &ReadContext, notes: &mut Notes) {
    let code = if in_change { IssueCode::ContentTruncated } else { IssueCode::ReplyTruncated };
    let known = notes.issues().iter().any(|issue| issue.code == IssueCode::ContentTruncated);
    if context.length_stop && !(in_change && known) {
        notes.push(notes.issue(code, "", last, &[]));
    }
}

/// Whether the reply ends inside a fence of a change block.
pub(super) fn ends_in_change(document: &Document) -> bool {
    let open = document.fences.last().is_some_and(|fence| !fence.closed);
    let last = document.sections.last();
    open && last.is_some_and(|section| section.heading == Some(Heading::ChangeDetails) && is_change(document, section))
}

/// Summary, markers and details files of a prepared reply.
pub(super) fn read(document: &Document, parts: Parts, notes: &mut Notes) -> Execution {
    let mut execution = Execution { document: document.whole(), ..Execution::default() };
    execution.more_work = document.take_marker(MORE_WORK, 0..document.len(), notes);
    execution.summary = summary(document, notes);
    if parts.details {
        execution.details = details(document, notes);
    }
    execution
}

fn summary(document: &Document, notes: &mut Notes) -> String {
    let found: Vec<&Section> = document.all(Heading::ResultSummary).collect();
    notes.set_section(Some("Result summary"));
    let text = match found.as_slice() {
        [one] => {
            let end = body_end(document, one);
            let text = document.text(one.body.start..end);
            if text.is_empty() || is_copied_form(&text) {
                notes.push(notes.issue(IssueCode::SummaryMissing, "empty", one.heading_span(), &[]));
            }
            text
        }
        [] => bare_summary(document, notes),
        [first, second, ..] => {
            let lines = format!("{} and {}", first.heading_span().first, second.heading_span().first);
            let facts = [("title", "Result summary"), ("lines", lines.as_str())];
            notes.push(notes.issue(IssueCode::DuplicateSection, "result", second.heading_span(), &facts));
            document.text(first.body.clone())
        }
    };
    notes.set_section(None);
    text
}

/// The end of a section, deeper sections included that turned out to be ordinary content.
fn body_end(document: &Document, section: &Section) -> usize {
    let mut end = section.body.end;
    for next in document.sections.iter().filter(|next| next.line >= section.body.end) {
        let ordinary = match next.heading {
            Some(Heading::Details) => !has_label(document, next, DETAIL_LABELS, "Filename"),
            Some(Heading::ChangeDetails) => !is_change(document, next),
            None => true,
            Some(_) => false,
        };
        if next.line != end || !ordinary || next.level <= section.level {
            break;
        }
        end = next.body.end;
    }
    end
}

fn bare_summary(document: &Document, notes: &mut Notes) -> String {
    let all = 0..document.len();
    let headed = !document.sections.is_empty()
        || begins_with_fenced_headings(document)
        || document.pieces(all.clone(), &[]).iter().any(|piece| matches!(piece.kind, PieceKind::Heading(..)));
    let text = document.text(all.clone());
    let span = document.span(all);
    let long = text.chars().count() > BARE;
    if headed || long || text.is_empty() || is_copied_form(&text) {
        let variant = if long && !headed { "long" } else { "" };
        notes.push(notes.issue(IssueCode::SummaryMissing, variant, span, &[]));
        return String::new();
    }
    notes.repair(RepairCode::SummaryBare, span, &text, "## Result summary");
    text
}

/// A reply in a fence of its own, without a heading that is known, and words behind it (spec 4.4 `reply-unfenced`).
fn begins_with_fenced_headings(document: &Document) -> bool {
    let Some(fence) = document.fences.first().filter(|fence| matches!(fence.lang.as_str(), "md" | "markdown")) else {
        return false;
    };
    let before = usize::try_from(fence.span.first).unwrap_or(1).saturating_sub(1);
    let heading = |line: &str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    !document.has_text(0..before) && fence.content.lines().any(heading)
}

fn details(document: &Document, notes: &mut Notes) -> Vec<DetailFile> {
    let mut files: Vec<DetailFile> = Vec::new();
    let mut names = BTreeSet::new();
    for section in document.all(Heading::Details) {
        notes.set_section(Some("Details"));
        let mut open: Option<(String, Span)> = None;
        for piece in document.pieces(section.body.clone(), DETAIL_LABELS) {
            let mut take = |name: Option<(String, Span)>, index: usize, notes: &mut Notes| {
                if let (Some((name, span)), Some(fence)) = (name, document.fences.get(index))
                    && let Some(filename) = filename(&name, span, notes)
                {
                    if names.insert(filename.clone()) {
                        files.push(DetailFile { filename, content: fence.content.clone() });
                    } else {
                        notes.push(notes.issue(IssueCode::FilenameInvalid, "twice", span, &[("name", &filename)]));
                    }
                }
            };
            match piece.kind {
                PieceKind::Label(labelled) if labelled.known() == Some("Filename") => {
                    incomplete(open.take(), notes);
                    labelled.note(notes);
                    let name = labelled.value.lines().next().unwrap_or("").to_owned();
                    match labelled.fences.first() {
                        Some(index) => take(Some((name, labelled.span)), *index, notes),
                        None => open = Some((name, labelled.span)),
                    }
                }
                PieceKind::Fence(index) if open.is_some() => take(open.take(), index, notes),
                _ => {}
            }
        }
        incomplete(open.take(), notes);
    }
    notes.set_section(None);
    files
}

fn incomplete(open: Option<(String, Span)>, notes: &mut Notes) {
    if let Some((name, span)) = open {
        notes.push(notes.issue(IssueCode::DetailsIncomplete, "", span, &[("name", &name)]).key("Filename"));
    }
}

/// A file name of one component (repair `filename-flattened`), or the issue `filename-invalid`.
fn filename(written: &str, span: Span, notes: &mut Notes) -> Option<String> {
    let bare = written.trim().trim_matches(['`', '*', '"']).trim();
    let parts: Vec<&str> = bare.split(['/', '\\']).collect();
    let drive = bare.chars().nth(1) == Some(':') && bare.starts_with(|c: char| c.is_ascii_alphabetic());
    let last = parts.last().copied().unwrap_or("");
    let climbs = parts.contains(&"..");
    if bare.is_empty() || last.is_empty() || last == "." || climbs || drive || bare.starts_with(['/', '\\', '~']) {
        notes.push(notes.issue(IssueCode::FilenameInvalid, "", span, &[("name", bare)]).key("Filename"));
        return None;
    }
    let clean: String =
        last.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' }).collect();
    if clean != written.trim() {
        notes.repair(RepairCode::FilenameFlattened, span, written, &clean);
    }
    Some(clean)
}
