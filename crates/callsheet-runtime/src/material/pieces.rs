//! The sections of a file in a form that a reference can name: those of its headings, its symbols, or some lines.

use std::collections::BTreeMap;

use callsheet_core::links::fragment_of;
use callsheet_core::nouns::{Fragment, tokens};
use callsheet_core::symbols::{SymbolMatch, find_symbol};
use callsheet_core::words::{Counts, Question, Words, scores};
use callsheet_format::prompt::Excerpt;
use callsheet_format::sheet::{find_heading, headings};

use crate::ports::Outline;
use crate::references::is_markdown;

/// Longer sections are split at an empty line.
const MOST_LINES: u32 = 60;
/// Shorter symbols are joined with what follows.
const LEAST_LINES: u32 = 8;

/// Consecutive lines of a file. All pieces of a file together are the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The first line, counted from 1.
    pub(crate) first: u32,
    /// The last line.
    pub(crate) last: u32,
    /// The heading or symbol that covers exactly these lines.
    pub(crate) anchor: Option<String>,
    /// Its name, for a title and for its words.
    pub(crate) name: String,
    /// Tokens of its lines.
    pub(crate) tokens: u32,
}

impl Piece {
    /// The fragment that a reference uses for it.
    pub(crate) fn fragment(&self) -> Fragment {
        match &self.anchor {
            Some(anchor) => Fragment::Anchor(anchor.clone()),
            None => Fragment::Lines { first: self.first, last: self.last },
        }
    }
}

/// Where a section begins.
#[derive(Default)]
struct Start {
    name: String,
    /// The last line of the named section, and its anchor.
    whole: Option<(u32, String)>,
}

/// The pieces of a text in order.
pub(crate) fn pieces(path: &str, text: &str, outline: &dyn Outline) -> Vec<Piece> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let total = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let (mut starts, joins) =
        if is_markdown(path) { (of_headings(text), false) } else { (of_symbols(path, text, outline), true) };
    starts.entry(1).or_default();
    let mut starts: Vec<(u32, Start)> = starts.into_iter().filter(|(line, _)| (1..=total).contains(line)).collect();
    if joins {
        starts = joined(starts, total);
    }
    let ends: Vec<u32> = starts.iter().skip(1).map(|(next, _)| next - 1).chain([total]).collect();
    let mut pieces = Vec::new();
    for ((first, start), last) in starts.into_iter().zip(ends) {
        let is_whole = |(end, anchor): (u32, String)| (end == last).then_some(anchor);
        let anchor = start.whole.and_then(is_whole).filter(|_| last - first < MOST_LINES);
        for (from, to) in divided(&lines, first, last) {
            let shown = slice(&lines, from, to).concat();
            pieces.push(Piece {
                first: from,
                last: to,
                anchor: anchor.clone(),
                name: start.name.clone(),
                tokens: tokens(&shown),
            });
        }
    }
    pieces
}

/// How well each piece of a text matches a question.
pub(crate) fn best(question: &Question, text: &str, pieces: &[Piece]) -> Vec<f64> {
    let count = |piece: &Piece| {
        let mut words = Words::of(&Excerpt::lines(text, piece.first, piece.last).head);
        words.add(&piece.name, 1);
        question.count(&words)
    };
    let counts: Vec<Counts> = pieces.iter().map(count).collect();
    scores(&counts)
}

fn of_headings(text: &str) -> BTreeMap<u32, Start> {
    let all = headings(text);
    let start = |heading: &callsheet_format::sheet::Heading| {
        let named = find_heading(&all, &heading.slug).is_some_and(|found| found.first == heading.first);
        let whole = (named && is_anchor(&heading.slug)).then(|| (heading.last, heading.slug.clone()));
        (heading.first, Start { name: heading.title.clone(), whole })
    };
    all.iter().map(start).collect()
}

fn of_symbols(path: &str, text: &str, outline: &dyn Outline) -> BTreeMap<u32, Start> {
    let symbols = outline.outline(path, text).unwrap_or_default();
    let mut starts: BTreeMap<u32, Start> = BTreeMap::new();
    for symbol in &symbols {
        // What follows a symbol does not belong to it.
        starts.entry(symbol.last.saturating_add(1)).or_default();
        let name = symbol.name();
        let named = matches!(find_symbol(&symbols, &name), SymbolMatch::One(found) if found == symbol);
        let whole = (named && is_anchor(&name)).then_some((symbol.last, name));
        let start = Start { name: symbol.path.clone(), whole };
        let known = starts.entry(symbol.outer_first).or_default();
        // An outer symbol comes first.
        if known.name.is_empty() {
            *known = start;
        }
    }
    starts
}

/// Whether the name, written as a fragment, means a name and not lines.
fn is_anchor(name: &str) -> bool {
    !name.is_empty() && matches!(fragment_of(name), Ok(Fragment::Anchor(read)) if read == name)
}

/// Sections with a minimum number of lines. A short one is joined with the next.
fn joined(starts: Vec<(u32, Start)>, total: u32) -> Vec<(u32, Start)> {
    let mut kept: Vec<(u32, Start)> = Vec::new();
    for (line, start) in starts {
        match kept.last_mut() {
            Some((first, before)) if line - *first < LEAST_LINES && total > LEAST_LINES => {
                if !start.name.is_empty() {
                    before.name = format!("{} {}", before.name, start.name).trim().to_owned();
                }
                before.whole = None;
            }
            _ => kept.push((line, start)),
        }
    }
    kept
}

/// Lines `first` to `last` in parts of limited length, split at empty lines if there are some.
fn divided(lines: &[&str], first: u32, last: u32) -> Vec<(u32, u32)> {
    let mut parts = Vec::new();
    let mut from = first;
    while last - from >= MOST_LINES {
        let most = from + MOST_LINES - 1;
        let is_empty = |line: &u32| slice(lines, *line, *line).iter().all(|line| line.trim().is_empty());
        let to = (from + MOST_LINES / 2..=most).rev().find(is_empty).unwrap_or(most);
        parts.push((from, to));
        from = to + 1;
    }
    parts.push((from, last));
    parts
}

fn slice<'a, 'b>(lines: &'a [&'b str], first: u32, last: u32) -> &'a [&'b str] {
    let at = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    lines.get(at(first.saturating_sub(1))..at(last).min(lines.len())).unwrap_or_default()
}
