//! Links of results (spec 3.8, 5.5): broken ones cause warnings, file links of the summary are carried over (2.12).

use std::collections::BTreeSet;

use callsheet_core::issue::{IssueCode, Severity, Span};
use callsheet_core::links::{link_target, parse_name};
use callsheet_core::nouns::{Phase, Slug, Target};

use crate::edit::{ChangeWay, headings};
use crate::markdown::Document;
use crate::reading::{Diagnostics, ReadContext, clause};
use crate::reply::ExecutionReply;
use crate::reply::references::{Scope, check_target};

/// The maximum number of links examined in one document.
const MOST: usize = 200;

/// The maximum number of places of one document that are examined as possible links.
const PLACES: usize = 10 * MOST;

/// The longest target in characters. Longer text is not a link.
const LONGEST: usize = 500;

/// A link in running text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FoundLink {
    target: String,
    raw: String,
    /// 1-based line.
    line: u32,
}

/// Heading keys of a result document, for references to its sections (spec 5.1).
pub fn document_headings(document: &str) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for heading in headings(document) {
        if !heading.key.is_empty() && seen.insert(heading.key.clone()) {
            keys.push(heading.key);
        }
    }
    keys
}

/// Canonical file targets of links in the summary, without duplicates, in order (spec 2.12). Files that the task itself
/// creates count, although they do not exist yet.
pub fn summary_files(execution: &ExecutionReply, context: &ReadContext) -> Vec<String> {
    let scope = Scope::of_current(context);
    let mut files: Vec<String> = Vec::new();
    let lines = outside_fences(&execution.summary);
    for link in links_in(lines.iter().map(|(line, text)| (*line, text.as_str()))) {
        let mut scratch = Diagnostics::new(Phase::Execute, false);
        let target = match parse_name(&link.target) {
            Ok(target @ Target::File { .. }) if is_changed(&target, execution) => Some(target),
            Ok(Target::File { path, .. }) if execution.changes.iter().any(|change| change.path == path) => None,
            Ok(Target::File { .. }) => check_target(&link.target, Span::line(link.line), &scope, context, &mut scratch),
            _ => None,
        };
        if let Some(target @ Target::File { .. }) = target {
            let text = link_target(&target);
            if !files.contains(&text) {
                files.push(text);
            }
        }
    }
    files
}

/// The summary, followed by a link to each details file (spec 3.8).
pub fn summary_with_details<'a>(summary: &str, slug: &Slug, details: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = summary.to_owned();
    let mut added = BTreeSet::new();
    for (index, file) in details.into_iter().enumerate() {
        let target = Target::TaskDetail { slug: slug.clone(), file: file.to_owned() };
        let link = format!("[{file}]({})", link_target(&target));
        if !summary.contains(&link) && added.insert(link.clone()) {
            text.push_str(if index == 0 { "\n\n" } else { "\n" });
            text.push_str(&format!("- {link}"));
        }
    }
    text
}

/// The text with each link outside of code changed to the target that `place` returns. A link without such a target
/// becomes its words.
pub fn relinked(text: &str, place: &dyn Fn(&str) -> Option<String>) -> String {
    let outside: BTreeSet<u32> = outside_fences(text).into_iter().map(|(number, _)| number).collect();
    let relinked = |(number, line): (u32, &str)| {
        let mut out = String::new();
        let mut rest = line;
        let links = if outside.contains(&number) { links_in(std::iter::once((number, line))) } else { Vec::new() };
        for link in links {
            let title = link.raw.strip_prefix('[').and_then(|raw| raw.split_once("](")).map(|(title, _)| title);
            let Some((title, (before, after))) = title.zip(rest.split_once(link.raw.as_str())) else { continue };
            out.push_str(before);
            match place(&link.target) {
                Some(target) => out.push_str(&format!("[{title}]({target})")),
                None => out.push_str(title),
            }
            rest = after;
        }
        out + rest
    };
    (1..).zip(text.lines()).map(relinked).collect::<Vec<_>>().join("\n")
}

/// Notes a warning for each link that leads nowhere. Anchors within the document are searched in the whole document.
pub(super) fn check(document: &Document, execution: &ExecutionReply, context: &ReadContext, notes: &mut Diagnostics) {
    let scope = Scope::of_current(context);
    let mut anchors: Option<BTreeSet<String>> = None;
    let own = context.current.as_ref().map(|task| &task.slug);
    let mut seen = BTreeSet::new();
    for link in document_links(document) {
        if !seen.insert(link.target.clone()) {
            continue;
        }
        let span = Span::line(link.line);
        if let Some(anchor) = link.target.strip_prefix('#') {
            let anchors = anchors.get_or_insert_with(|| all_anchors(&execution.document));
            if anchors.contains(anchor) || anchors.contains(&callsheet_core::names::heading_key(anchor)) {
                continue;
            }
        }
        let Ok(target) = parse_name(&link.target) else {
            broken(&link, &clause("no-target", &[]), span, notes);
            continue;
        };
        if target.producer().is_some() && target.producer() == own {
            let recorded = matches!(&target, Target::TaskDetail { file, .. }
                if execution.details.iter().any(|detail| detail.filename == *file));
            if !recorded {
                let issue = notes.issue(IssueCode::SelfLink, "", span, &[("link", &link.raw)]);
                notes.push(issue.item(&link.raw).warning());
            }
            continue;
        }
        let known = matches!(target, Target::Http(_) | Target::Resource { .. })
            || is_changed(&target, execution)
            || is_detail(&target, execution);
        if !known {
            against_world(&link, span, &scope, context, notes);
        }
    }
}

fn against_world(link: &FoundLink, span: Span, scope: &Scope, context: &ReadContext, notes: &mut Diagnostics) {
    if let Some(why) = fault(&link.target, span, scope, context, notes) {
        broken(link, &why, span, notes);
    }
}

/// Why a target leads nowhere. Asks the lookups that this needs.
fn fault(target: &str, span: Span, scope: &Scope, context: &ReadContext, notes: &mut Diagnostics) -> Option<String> {
    let mut scratch = Diagnostics::new(notes.phase(), false);
    check_target(target, span, scope, context, &mut scratch);
    let error = scratch.issues().iter().find(|issue| issue.severity == Severity::Error).map(|issue| issue.what.clone());
    for lookup in scratch.wanted() {
        notes.answer(context, lookup);
    }
    error
}

/// Whether a path names a file of the project.
pub(super) fn is_known(path: &str, span: Span, context: &ReadContext, notes: &mut Diagnostics) -> bool {
    let is_file = matches!(parse_name(path), Ok(Target::File { .. }));
    is_file && fault(path, span, &Scope::of_current(context), context, notes).is_none()
}

fn broken(link: &FoundLink, why: &str, span: Span, notes: &mut Diagnostics) {
    let issue = notes.issue(IssueCode::LinkBroken, "", span, &[("link", &link.raw), ("why", why)]);
    notes.push(issue.item(&link.raw).warning());
}

/// Whether the target is a file that the reply itself writes.
fn is_changed(target: &Target, execution: &ExecutionReply) -> bool {
    let written =
        |path: &String| execution.changes.iter().any(|change| change.path == *path && change.way != ChangeWay::Delete);
    matches!(target, Target::File { path, .. } if written(path))
}

/// Whether the target is a details file, by its plain name.
fn is_detail(target: &Target, execution: &ExecutionReply) -> bool {
    matches!(target, Target::File { path, .. } if execution.details.iter().any(|detail| detail.filename == *path))
}

fn all_anchors(document: &str) -> BTreeSet<String> {
    headings(document).into_iter().flat_map(|heading| [heading.key, heading.anchor]).collect()
}

fn document_links(document: &Document) -> Vec<FoundLink> {
    let mut fences = document.fences.iter().peekable();
    let mut lines: Vec<(u32, String)> = Vec::new();
    // Each of them is examined, so no more than are examined are needed.
    for at in 0..document.len() {
        if lines.len() >= PLACES {
            break;
        }
        let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
        while fences.next_if(|fence| fence.span.last < line).is_some() {}
        let outside = fences.peek().is_none_or(|fence| line < fence.span.first);
        if outside && document.line(at).contains("](") {
            lines.push((line, document.text(at..at + 1)));
        }
    }
    links_in(lines.iter().map(|(line, text)| (*line, text.as_str())))
}

pub(super) fn outside_fences(text: &str) -> Vec<(u32, String)> {
    let mut open: Option<char> = None;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let sign = start.chars().next().filter(|_| start.starts_with("```") || start.starts_with("~~~"));
        match (open, sign) {
            (None, Some(sign)) => open = Some(sign),
            (Some(inside), Some(sign)) if inside == sign => open = None,
            (None, None) => lines.push((u32::try_from(at + 1).unwrap_or(u32::MAX), line.to_owned())),
            _ => {}
        }
    }
    lines
}

fn links_in<'a>(lines: impl Iterator<Item = (u32, &'a str)>) -> Vec<FoundLink> {
    let mut links = Vec::new();
    let mut places = 0;
    for (line, text) in lines {
        let mut from = 0;
        let mut ticks = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find("](")).map(|at| from + at) {
            ticks += text.get(from..at).map_or(0, |before| before.matches('`').count());
            let start = from;
            from = at + 2;
            if ticks % 2 == 1 {
                continue;
            }
            if let Some(length) = target_length(text.get(from..).unwrap_or("")) {
                let written = text.get(from..from + length).unwrap_or("");
                let title_at =
                    text.get(start..at).and_then(|before| before.rfind('[')).map_or(start, |found| start + found);
                let raw = text.get(title_at..from + length + 1).unwrap_or(written).to_owned();
                links.push(FoundLink { target: plain_target(written), raw, line });
                from += length;
            }
            places += 1;
            if links.len() >= MOST || places >= PLACES {
                return links;
            }
        }
    }
    links.retain(|link| !link.target.is_empty());
    links
}

/// Number of bytes up to the parenthesis that closes the target.
fn target_length(rest: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in rest.char_indices().take(LONGEST) {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The target without angle brackets and link title.
fn plain_target(written: &str) -> String {
    let text = written.trim();
    let text = [" \"", " '"].iter().find_map(|mark| text.find(mark)).and_then(|at| text.get(..at)).unwrap_or(text);
    text.trim().trim_start_matches('<').trim_end_matches('>').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 2.15
    #[test]
    fn links_lead_where_they_are_told_to() {
        let place = |target: &str| target.strip_suffix(".md").map(|name| format!("out/{name}"));
        let text = "See [a](a.md), [b](b.txt) and `[c](c.md)`; [a](a.md).\n```\n[d](d.md)\n```\n- [e f](<e.md>)";
        let wanted = "See [a](out/a), b and `[c](c.md)`; [a](out/a).\n```\n[d](d.md)\n```\n- [e f](out/e)";
        assert_eq!(relinked(text, &place), wanted);
        assert_eq!(relinked("no [link] here", &place), "no [link] here");
    }
}
