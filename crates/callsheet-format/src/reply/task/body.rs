//! What execution replies, replies with changes, merges and final loop replies share: summary, markers, details files
//! (spec 3.8, 4.4).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::names::heading_key;
use unicode_normalization::char::is_combining_mark;

use crate::markdown::{Document, Format, Heading, PieceKind, Prepare, Section, item_text, label_line};
use crate::reading::{Diagnostics, ReadContext};
use crate::reply::list::TASK_LABELS;
use crate::reply::placeholder::is_copied_form;
use crate::reply::{DetailFile, ExecutionReply};

use super::formats::{self, Blocks, DETAIL_LABELS, MORE_WORK};
use super::links;
use super::write::words_of_files;

/// The longest reply without headings that can be its own summary, in characters (spec 4.4 `summary-bare`).
const BARE: usize = 1_200;

/// The heading of a result in a quoting sentence.
const QUOTED: &str = "`## Result summary`";

/// What a kind of reply may contain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// `Details` blocks.
    pub details: bool,
    /// `Change details` blocks.
    pub changes: bool,
}

/// Prepares a reply with the headings that it really uses.
pub(super) fn prepare<'a>(text: &'a str, parts: Parts, context: &ReadContext, notes: &mut Diagnostics) -> Document<'a> {
    let prepare = Prepare { copies: &[], length_stop: context.length_stop, ..Prepare::default() };
    let mut scratch = notes.fork();
    let loosest = if parts.changes { Blocks::Synonym } else { Blocks::None };
    let widest = formats::execution(parts.details, loosest, parts.changes);
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
    if (details, changes) == (parts.details, loosest) || has_plain_form(&probe, &scratch) {
        notes.absorb(scratch);
        return without_prompt_end(probe, notes);
    }
    let format: Format = formats::execution(details, changes, parts.changes);
    without_prompt_end(Document::read(text, &format, prepare, notes), notes)
}

/// Removes a last line that repeats the last line of the prompt after a complete result. After an invented task it
/// stays, and the result is rejected because of it.
fn without_prompt_end<'a>(mut document: Document<'a>, notes: &mut Diagnostics) -> Document<'a> {
    let Some(at) = ends_in_prompt(&document) else { return document };
    let first = (0..at).find(|line| !document.line(*line).trim().is_empty());
    let own = |heading| matches!(heading, Heading::ResultSummary | Heading::ChangeDetails);
    let begins = document.sections.first().is_some_and(|one| Some(one.line) == first && one.heading.is_some_and(own));
    let apart = at > 0 && document.line(at - 1).trim().is_empty();
    let of_a_task = |line: usize| {
        label_line(document.line(line), TASK_LABELS)
            .is_some_and(|found| matches!(found.label.as_str(), "What is needed" | "Expected output"))
    };
    if begins && apart && !(0..at).any(of_a_task) {
        document.take_away(at, RepairCode::ProseTrimmed, notes);
    }
    document
}

/// Whether a narrower format gives the same result: there is no heading of a block, no tie, and no removed text that a
/// heading limits.
fn has_plain_form(document: &Document<'_>, notes: &Diagnostics) -> bool {
    let blocks = [Heading::Details, Heading::ChangeDetails];
    document.fences.is_empty()
        && notes.issues().is_empty()
        && !notes.has_repair(RepairCode::ThinkingRemoved)
        && !notes.has_repair(RepairCode::ReplyUnfenced)
        && document.sections.iter().all(|section| section.heading.is_none_or(|heading| !blocks.contains(&heading)))
}

fn has_label(document: &Document, section: &Section, rules: &'static [crate::markdown::LabelRule], name: &str) -> bool {
    document.pieces(section.body.clone(), rules).iter().any(|piece| match &piece.kind {
        PieceKind::Label(labelled) => labelled.known() == Some(name),
        _ => false,
    })
}

/// Whether a section is `Change details`, or has a synonym as its title and a key that names the file.
pub(super) fn is_change(document: &Document, section: &Section) -> bool {
    if heading_key(&section.title).starts_with("change-details") {
        return true;
    }
    document.pieces(section.body.clone(), formats::CHANGE_LABELS).iter().any(|piece| match &piece.kind {
        PieceKind::Label(labelled) => crate::edit::is_path_key(labelled.label.as_str()),
        _ => false,
    })
}

/// Notes what concerns the whole reply. Returns false if there is nothing to read.
pub(super) fn has_reply(document: &Document, context: &ReadContext, notes: &mut Diagnostics) -> bool {
    if !document.ended {
        length_stop(Span::line(document.span(0..document.len().max(1)).last), false, context, notes);
    }
    has_text(document, notes)
}

/// Notes `empty-reply`. Returns false if there is nothing to read.
pub(super) fn has_text(document: &Document, notes: &mut Diagnostics) -> bool {
    if document.is_empty() {
        let whole = document.span(0..document.len().max(1));
        notes.push(notes.issue(IssueCode::EmptyReply, "", whole, &[]));
    }
    !document.is_empty()
}

/// Notes a stop at the length limit: `content-truncated` if it cut the content of a change, else `reply-truncated`.
pub(super) fn length_stop(last: Span, in_change: bool, context: &ReadContext, notes: &mut Diagnostics) {
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
pub(super) fn read(
    document: &Document,
    parts: Parts,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> ExecutionReply {
    let mut execution = ExecutionReply { document: document.whole(), ..ExecutionReply::default() };
    execution.more_work = document.take_marker(MORE_WORK, 0..document.len(), notes);
    execution.summary = summary(document, context, notes);
    if parts.details {
        execution.details = details(document, &execution.summary, context, notes);
    }
    execution
}

fn summary(document: &Document, context: &ReadContext, notes: &mut Diagnostics) -> String {
    let found: Vec<&Section> = document.all(Heading::ResultSummary).collect();
    notes.set_section(Some("Result summary"));
    let text = match found.as_slice() {
        [one] => {
            let end = body_end(document, one);
            let text = document.text(one.body.start..end);
            if let Some(at) = ends_in_prompt(document) {
                notes.push(notes.issue(IssueCode::SummaryMissing, "prompt", document.span(at..at + 1), &[]));
            }
            if text.is_empty() || is_copied_form(&text) {
                notes.push(notes.issue(IssueCode::SummaryMissing, "empty", one.heading_span(), &[]));
            } else if repeats_task(&text, document, context) {
                notes.push(notes.issue(IssueCode::SummaryMissing, "task", one.heading_span(), &[]));
            }
            text
        }
        [] => bare_summary(document, context, notes),
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

/// Whether a result only repeats the need or the expected output of its task, word for word, without a section or a
/// fence that adds something. Otherwise the task or person that reads a result judges what it means.
fn repeats_task(text: &str, document: &Document, context: &ReadContext) -> bool {
    let other = |section: &&Section| section.heading != Some(Heading::ResultSummary);
    let brings_more = || document.sections.iter().filter(other).any(|section| document.has_text(section.body.clone()));
    let repeats = |asked: &String| {
        // With this many more bytes, the two cannot be equal.
        let asked = if text.len() > 2 * asked.len() + 64 { String::new() } else { normalize(asked) };
        !asked.is_empty() && normalize(text) == asked
    };
    let mut asked = context.current.iter().flat_map(|task| [&task.need, &task.expected]);
    document.fences.is_empty() && asked.any(repeats) && !brings_more()
}

/// The last line, if it quotes the heading with which a result begins: those are the last words of the prompt, and an
/// invented task comes before them.
fn ends_in_prompt(document: &Document) -> Option<usize> {
    let at = (0..document.len()).rev().find(|at| !document.line(*at).trim().is_empty())?;
    let fenced = document.fences.last().is_some_and(|fence| document.span(at..at + 1).first <= fence.span.last);
    (!fenced && document.line(at).contains(QUOTED)).then_some(at)
}

/// The end of a section, including deeper sections that turned out to be ordinary content.
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

fn bare_summary(document: &Document, context: &ReadContext, notes: &mut Diagnostics) -> String {
    let only_details = document.sections.iter().all(|section| section.heading == Some(Heading::Details));
    let end = document.sections.first().map_or(document.len(), |section| section.line);
    let all = 0..end;
    let headed = !only_details
        || begins_with_fenced_headings(document)
        || document.pieces(all.clone(), &[]).iter().any(|piece| matches!(piece.kind, PieceKind::Heading(..)));
    let text = document.text(all.clone());
    let span = document.span(all);
    let long = text.chars().count() > BARE;
    let says_nothing = is_copied_form(&text) || repeats_task(&text, document, context);
    if headed || long || says_nothing || !is_answer(&text) {
        let variant = if long && !headed { "long" } else { "" };
        notes.push(notes.issue(IssueCode::SummaryMissing, variant, document.span(0..document.len()), &[]));
        return String::new();
    }
    notes.repair(RepairCode::SummaryBare, span, &text, "## Result summary");
    text
}

/// Whether words without a heading can be the answer: prose that neither names the form nor repeats itself (spec 4.4
/// `summary-bare`).
fn is_answer(text: &str) -> bool {
    const FORM: &str = "result summary";
    const TIMES: usize = 3;
    let prose: Vec<String> = outside_comments(&links::outside_fences(text));
    if !prose.iter().any(|line| line.contains(char::is_alphanumeric)) || text.to_lowercase().contains(FORM) {
        return false;
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let sentences = prose.iter().flat_map(|line| line.split_inclusive(". ")).map(normalize);
    // A short one, such as `yes` in a list, may repeat.
    sentences.filter(|sentence| sentence.split(' ').count() > 2).all(|sentence| {
        let count = seen.entry(sentence).or_default();
        *count += 1;
        *count < TIMES
    })
}

fn outside_comments(lines: &[(u32, String)]) -> Vec<String> {
    let text = lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
    let mut kept = String::new();
    let mut rest = text.as_str();
    while let Some((before, comment)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.lines().map(str::to_owned).collect()
}

/// Whether a reply is in its own fence, without a known heading, and has words after it (spec 4.4 `reply-unfenced`).
fn begins_with_fenced_headings(document: &Document) -> bool {
    let Some(fence) = document.fences.first().filter(|fence| matches!(fence.lang.as_str(), "md" | "markdown")) else {
        return false;
    };
    let before = usize::try_from(fence.span.first).unwrap_or(1).saturating_sub(1);
    let heading = |line: &str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    !document.has_text(0..before) && fence.content.lines().any(heading)
}

fn details(document: &Document, summary: &str, context: &ReadContext, notes: &mut Diagnostics) -> Vec<DetailFile> {
    let mut files: Vec<DetailFile> = Vec::new();
    let mut names = BTreeSet::new();
    // Built once, because a reply may name many files.
    let task = context.current.iter().flat_map(|task| [task.need.as_str(), task.expected.as_str()]);
    let named: BTreeSet<&str> = task.chain([summary]).flat_map(words_of_files).collect();
    for section in document.all(Heading::Details) {
        notes.set_section(Some("Details"));
        let mut open: Option<(String, Span)> = None;
        let pieces = document.pieces(section.body.clone(), DETAIL_LABELS);
        let brings_none = !pieces.iter().any(|piece| match &piece.kind {
            PieceKind::Fence(_) => true,
            PieceKind::Label(labelled) => !labelled.fences.is_empty(),
            _ => false,
        });
        let block = Block { brings_none, named: &named };
        for piece in pieces {
            let mut take = |name: Option<(String, Span)>, index: usize, notes: &mut Diagnostics| {
                if let (Some((name, span)), Some(fence)) = (name, document.fences.get(index))
                    && let Some(filename) = filename(&name, span, notes)
                {
                    if names.insert(filename.clone()) {
                        files.push(DetailFile { filename, content: fence.content.clone() });
                    } else {
                        // A name that was derived from another one tells nothing to the writer of the other one.
                        let variant = if bare(&name) == filename { "twice" } else { "same" };
                        let facts = [("name", bare(&name)), ("kept", filename.as_str())];
                        notes.push(notes.issue(IssueCode::FilenameInvalid, variant, span, &facts));
                    }
                }
            };
            match piece.kind {
                // A label in a code span quotes the form, unless content is below it.
                PieceKind::Label(labelled) if brings_none && quotes_item(labelled.written) => {}
                PieceKind::Label(labelled) if labelled.known() == Some("Filename") => {
                    incomplete(open.take(), &block, context, notes);
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
        incomplete(open.take(), &block, context, notes);
    }
    notes.set_section(None);
    files
}

/// Whether an item begins with a code span that is itself an item.
fn quotes_item(written: &str) -> bool {
    let code = item_text(written).and_then(|text| text.strip_prefix('`'));
    code.and_then(item_text).is_some()
}

/// A `Details` block besides its list.
struct Block<'a> {
    /// Whether it has no fence at all.
    brings_none: bool,
    /// Words of the task and of the summary.
    named: &'a BTreeSet<&'a str>,
}

/// Reports a file without content. If the project has that file, it is the source of what is said and not a file to
/// hand over: its block is ordinary content, and the issue is a warning. The same applies to a block without any
/// content, unless the task asks for that file or the summary mentions it.
fn incomplete(open: Option<(String, Span)>, block: &Block<'_>, context: &ReadContext, notes: &mut Diagnostics) {
    let Some((name, span)) = open else { return };
    let path = name.trim().trim_matches(['`', '*', '"']).trim();
    let is_source = !path.is_empty() && links::is_known(path, span, context, notes);
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let wanted = || words_of_files(file).any(|word| block.named.contains(word));
    let is_aside = !is_source && block.brings_none && !file.is_empty() && !wanted();
    let variant = if is_source {
        "source"
    } else if is_aside {
        "aside"
    } else {
        ""
    };
    let issue = notes.issue(IssueCode::DetailsIncomplete, variant, span, &[("name", &name)]).key("Filename");
    notes.push(if is_source || is_aside { issue.warning() } else { issue });
}

/// The maximum number of bytes of a file name. Systems allow 255, and a part of a task may add to the name (spec
/// 3.12).
const LONGEST_NAME: usize = 200;

/// A written file name without its marks.
fn bare(written: &str) -> &str {
    written.trim().trim_matches(['`', '*', '"']).trim()
}

/// A file name with one component (repair `filename-flattened`), or the issue `filename-invalid`.
fn filename(written: &str, span: Span, notes: &mut Diagnostics) -> Option<String> {
    let bare = bare(written);
    let parts: Vec<&str> = bare.split(['/', '\\']).collect();
    let drive = bare.chars().nth(1) == Some(':') && bare.starts_with(|c: char| c.is_ascii_alphabetic());
    let last = parts.last().copied().unwrap_or("");
    let climbs = parts.contains(&"..");
    if bare.is_empty() || last.is_empty() || last == "." || climbs || drive || bare.starts_with(['/', '\\', '~']) {
        notes.push(notes.issue(IssueCode::FilenameInvalid, "", span, &[("name", bare)]).key("Filename"));
        return None;
    }
    // Vowel signs and accents belong to letters.
    let is_letter = |c: char| c.is_alphanumeric() || is_combining_mark(c);
    let clean: String =
        last.chars().map(|c| if is_letter(c) || matches!(c, '.' | '_' | '-') { c } else { '-' }).collect();
    if clean.len() > LONGEST_NAME {
        let name: String = bare.chars().take(60).collect();
        let (length, longest) = (clean.len().to_string(), LONGEST_NAME.to_string());
        let facts = [("name", name.as_str()), ("length", &length), ("longest", &longest)];
        notes.push(notes.issue(IssueCode::FilenameInvalid, "long", span, &facts).key("Filename"));
        return None;
    }
    if clean != written.trim() {
        notes.repair(RepairCode::FilenameFlattened, span, written, &clean);
    }
    Some(clean)
}
