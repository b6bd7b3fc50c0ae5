//! Finds where one task ends and the next begins (spec 4.4 `list-shape`, `list-split`; 4.5).

use std::borrow::Cow;

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::names::heading_key;

use crate::markdown::{Label, Labelled, Piece, PieceKind};
use crate::reading::Diagnostics;

use super::Kind;
use super::format::label;
use super::unread::unread;

/// A task as labels, before its values are read.
#[derive(Clone, Debug)]
pub struct RawTask<'a> {
    /// Text of its heading or item, used if its name is missing.
    pub hint: Option<Cow<'a, str>>,
    /// Its labels in order.
    pub labels: Vec<Labelled<'a>>,
    /// The fences after its list and between its labels.
    pub fences: Vec<Behind>,
    /// First to last line.
    pub span: Span,
}

/// A fence outside of values, and the label that it follows, both by index.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    /// The index of the fence in the document.
    pub fence: usize,
    /// The index of the label in the task.
    pub label: usize,
}

impl<'a> RawTask<'a> {
    /// Values of a known key in order.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &Labelled<'a>> {
        self.labels.iter().filter(move |label| label.known() == Some(name))
    }

    /// Whether it has a known key.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

/// A label, and whether something separates it from the label before.
struct Entry<'a> {
    label: Labelled<'a>,
    apart: bool,
    fences: Vec<(usize, Span)>,
}

/// Labels under one heading or item, or outside any.
#[derive(Default)]
struct Chunk<'a> {
    title: Option<(Cow<'a, str>, Span)>,
    entries: Vec<Entry<'a>>,
}

/// The tasks of a section body. Prose between them is noted as trimmed; a person's prose is an issue.
pub fn tasks<'a>(pieces: Vec<Piece<'a>>, kind: Kind, notes: &mut Diagnostics) -> Vec<RawTask<'a>> {
    let mut found = Vec::new();
    for chunk in chunks(pieces, kind, notes) {
        if chunk.entries.is_empty() {
            if let Some((title, span)) = &chunk.title {
                unread(kind, *span, title, notes);
            }
            continue;
        }
        let mut tasks = split(chunk.entries, notes);
        if let Some((title, span)) = chunk.title {
            notes.repair(RepairCode::ListShape, span, &title, "");
            if let [only] = tasks.as_mut_slice() {
                only.span = only.span.to(span);
                only.hint = hint(title);
            }
        }
        found.extend(tasks);
    }
    found
}

/// Whether pieces contain a key of a task.
pub fn holds_keys(pieces: &[Piece<'_>]) -> bool {
    let known = |name: &str| {
        pieces.iter().any(|piece| matches!(&piece.kind, PieceKind::Label(label) if label.known() == Some(name)))
    };
    known(label::NEED) || known(label::SKILL) && known(label::EXPECTED)
}

fn chunks<'a>(pieces: Vec<Piece<'a>>, kind: Kind, notes: &mut Diagnostics) -> Vec<Chunk<'a>> {
    let nested_next: Vec<bool> = pieces
        .iter()
        .skip(1)
        .map(|piece| matches!(&piece.kind, PieceKind::Label(label) if label.nested))
        .chain([false])
        .collect();
    let mut chunks = vec![Chunk::default()];
    let mut apart = false;
    for (piece, opens) in pieces.into_iter().zip(nested_next) {
        let span = piece.span;
        let blank = piece.after_blank;
        match piece.kind {
            PieceKind::Heading(_, title) => {
                chunks.push(Chunk { title: Some((title.into(), span)), ..Chunk::default() });
            }
            PieceKind::Item(text) if opens => {
                chunks.push(Chunk { title: Some((plain(text).into(), span)), ..Chunk::default() });
            }
            PieceKind::Label(Labelled { label: Label::Unknown(text), value, .. }) if opens => {
                let title = if value.is_empty() { text } else { format!("{text}: {value}") };
                chunks.push(Chunk { title: Some((title.into(), span)), ..Chunk::default() });
            }
            PieceKind::Item(text) => {
                unread(kind, span, text, notes);
                apart = true;
                continue;
            }
            PieceKind::Prose(text) => {
                unread(kind, span, &text, notes);
                apart = true;
                continue;
            }
            PieceKind::Label(label) => {
                // A label that is no longer nested ends the task of the item above.
                let outer = chunks.last().is_some_and(|chunk| {
                    chunk.entries.last().is_some_and(|last| last.label.nested && !label.nested && blank_title(chunk))
                });
                if outer {
                    chunks.push(Chunk::default());
                }
                if let Some(chunk) = chunks.last_mut() {
                    chunk.entries.push(Entry { label, apart: apart || blank, fences: Vec::new() });
                }
            }
            PieceKind::Fence(index) => {
                match chunks.last_mut().and_then(|chunk| chunk.entries.last_mut()) {
                    Some(entry) => entry.fences.push((index, span)),
                    None if kind == Kind::Sheet => unread(kind, span, "```", notes),
                    None => {}
                }
                apart = true;
                continue;
            }
        }
        apart = false;
    }
    chunks
}

/// Whether the chunk has no item or heading as its title.
fn blank_title(chunk: &Chunk<'_>) -> bool {
    chunk.title.is_some()
}

/// Item text without markup and trailing colon.
fn plain(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | ':'))
}

/// The title of a task's heading or item as its name, unless it only numbers tasks.
pub fn hint(title: Cow<'_, str>) -> Option<Cow<'_, str>> {
    // Nearly every title begins differently from the words that number tasks.
    let first = title.chars().find(|c| c.is_alphanumeric() || !c.is_ascii());
    if first.is_some_and(|c| c.is_ascii_alphabetic() && !"tspgTSPG".contains(c)) {
        return Some(title);
    }
    let key = heading_key(&title);
    let stem = key.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    let counts = ["", "task", "tasks", "task-section", "section", "step", "phase", "stage", "group"].contains(&stem);
    (!counts).then_some(title)
}

/// Task boundaries of one list (spec 4.5).
fn split<'a>(entries: Vec<Entry<'a>>, notes: &mut Diagnostics) -> Vec<RawTask<'a>> {
    let groups = by_gaps(&entries);
    let clear = groups.iter().all(|group| {
        let part = entries.get(group.clone()).unwrap_or_default();
        part.iter().any(|entry| is(entry, label::NEED)) && !repeats(part)
    });
    let starts: Vec<usize> = if clear { groups.iter().map(|group| group.start).collect() } else { by_keys(&entries) };
    let several = starts.len() > 1;
    let gaps = !clear && (several || groups.len() > 1);
    let mut tasks: Vec<RawTask<'a>> = Vec::new();
    let mut starts = starts.into_iter().peekable();
    for (at, entry) in entries.into_iter().enumerate() {
        let span = entry.label.span;
        if starts.next_if_eq(&at).is_some() || tasks.is_empty() {
            tasks.push(RawTask { hint: None, labels: Vec::new(), fences: Vec::new(), span });
        }
        if let Some(task) = tasks.last_mut() {
            task.span = task.span.to(span);
            task.labels.push(entry.label);
            for (index, span) in entry.fences {
                task.span = task.span.to(span);
                task.fences.push(Behind { fence: index, label: task.labels.len() - 1 });
            }
        }
    }
    if gaps && let (Some(first), Some(last)) = (tasks.first(), tasks.last()) {
        let count = format!("{} tasks", tasks.len());
        notes.repair(RepairCode::ListSplit, first.span.to(last.span), "adjacent lists", &count);
    }
    if several {
        check(&tasks, notes);
    }
    tasks.iter().for_each(|task| twice(task, notes));
    tasks
}

fn is(entry: &Entry<'_>, name: &str) -> bool {
    entry.label.known() == Some(name)
}

/// Ranges of entries between blank lines, prose and fences.
fn by_gaps(entries: &[Entry<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if !entry.apart => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// Whether a key occurs twice. Adjacent `References` count once.
fn repeats(entries: &[Entry<'_>]) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    let mut last = None;
    for entry in entries {
        let Some(name) = entry.label.known() else {
            last = None;
            continue;
        };
        if seen.contains(&name) && !(name == label::REFERENCES && last == Some(name)) {
            return true;
        }
        seen.push(name);
        last = Some(name);
    }
    false
}

/// First entries of tasks: at a key that the task already has, or at `Name` if the task already has `Expected output`.
fn by_keys(entries: &[Entry<'_>]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut last = None;
    for (at, entry) in entries.iter().enumerate() {
        let name = entry.label.known();
        if let Some(name) = name {
            let merged = name == label::REFERENCES && last == Some(label::REFERENCES);
            let repeated = seen.contains(&name) && !merged;
            if repeated || name == label::NAME && seen.contains(&label::EXPECTED) {
                starts.push(at);
                seen.clear();
            }
            seen.push(name);
        }
        if at == 0 && starts.is_empty() {
            starts.push(0);
        }
        last = name;
    }
    own_tasks(entries, &starts)
}

/// The starts of tasks. What has neither a name nor a need is no task of its own: a key occurs twice in the task above.
fn own_tasks(entries: &[Entry<'_>], starts: &[usize]) -> Vec<usize> {
    let ends = starts.iter().skip(1).copied().chain([entries.len()]);
    let ranges = starts.iter().copied().zip(ends).enumerate();
    let is_own = |from: usize, to: usize| {
        let part = entries.get(from..to).unwrap_or_default();
        part.iter().any(|entry| is(entry, label::NAME) || is(entry, label::NEED))
    };
    ranges.filter(|(number, (from, to))| *number == 0 || is_own(*from, *to)).map(|(_, (from, _))| from).collect()
}

/// Reports a key that occurs twice in a task.
fn twice(task: &RawTask<'_>, notes: &mut Diagnostics) {
    let mut seen: Vec<&str> = Vec::new();
    for found in &task.labels {
        let Some(name) = found.known() else { continue };
        if seen.contains(&name) && name != label::REFERENCES {
            notes.push(notes.issue(IssueCode::TaskBoundary, "twice", found.span, &[("label", name)]).key(name));
            return;
        }
        seen.push(name);
    }
}

/// Reports guessed boundaries: a task has no need, or its name is on the other side of the need.
fn check(tasks: &[RawTask<'_>], notes: &mut Diagnostics) {
    if let Some(task) = tasks.iter().find(|task| !task.has(label::NEED)) {
        notes.push(notes.issue(IssueCode::TaskBoundary, "need", task.span, &[]));
        return;
    }
    let name_first = |task: &RawTask<'_>| -> Option<bool> {
        let at = |name: &str| task.labels.iter().position(|label| label.known() == Some(name));
        Some(at(label::NAME)? < at(label::NEED)?)
    };
    let orders: Vec<(bool, Span)> = tasks.iter().filter_map(|task| Some((name_first(task)?, task.span))).collect();
    if let Some((first, _)) = orders.first()
        && let Some((_, span)) = orders.iter().find(|(order, _)| order != first)
    {
        notes.push(notes.issue(IssueCode::TaskBoundary, "order", *span, &[]));
    }
}
