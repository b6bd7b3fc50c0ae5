//! Finds the old text of an exact-excerpt change (spec 3.9; repair `excerpt-whitespace` of 4.4).

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::reading::clause;

use super::form::Written;
use super::text::{Lines, ending, is_uniform};

/// The maximum number of matches listed in an issue. The rest is counted as one "and more".
const LISTED: usize = 50;

/// A tab in a line that an issue shows, in the form for all invisible characters.
const TAB: &str = "<U+0009>";
/// The maximum number of candidates that are examined for an indent shift. With more, the excerpt is not specific
/// enough.
const CANDIDATES: usize = 1_000;

/// A file in which the excerpts of a set are searched. What several of them need is computed once.
pub(super) struct Views<'a> {
    pub lines: Lines<'a>,
    /// The line ending of most of its lines.
    pub eol: &'static str,
    /// Whether all of its lines have that ending.
    pub uniform: bool,
    pub text: &'a str,
    /// Results by old and new text, because models repeat themselves.
    found: RefCell<BTreeMap<(String, String), ExcerptMatch>>,
    trailing: OnceCell<Joined>,
    trimmed: OnceCell<Joined>,
}

/// The lines of a file in some normal form, each between line breaks, and the start of each.
struct Joined {
    text: String,
    starts: Vec<usize>,
}

impl<'a> Views<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self {
            lines: Lines::of(text),
            eol: ending(text),
            uniform: is_uniform(text),
            text,
            found: RefCell::default(),
            trailing: OnceCell::new(),
            trimmed: OnceCell::new(),
        }
    }

    /// Where an excerpt is and what replaces it, searched only once; and the texts that were searched.
    pub(super) fn find<'w>(&self, written: Written<'w>) -> (ExcerptMatch, Written<'w>) {
        let found = self.find_as_is(written);
        match without_blank_edges(written).filter(|_| found == ExcerptMatch::Nowhere) {
            Some(bare) => match self.find_as_is(bare) {
                ExcerptMatch::Once { range, new, .. } => (ExcerptMatch::Once { range, new, repaired: true }, bare),
                other => (other, bare),
            },
            None => (found, written),
        }
    }

    fn find_as_is(&self, written: Written<'_>) -> ExcerptMatch {
        let key = (written.old.to_owned(), written.new.to_owned());
        self.found.borrow_mut().entry(key).or_insert_with(|| find(self, written.old, written.new)).clone()
    }
}

impl Joined {
    fn of(lines: &Lines<'_>, view: fn(&str) -> &str) -> Self {
        let mut text = String::from("\n");
        let mut starts = Vec::with_capacity(lines.count());
        for line in lines.iter() {
            starts.push(text.len() - 1);
            text.push_str(view(line));
            text.push('\n');
        }
        Self { text, starts }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExcerptMatch {
    /// Once. `repaired` means with a repair.
    Once {
        /// Bytes of the file.
        range: Range<usize>,
        /// The replacement, with the file's indentation.
        new: String,
        /// Whether differences of blanks, line endings or indentation were ignored.
        repaired: bool,
    },
    /// Several times, at these 1-based lines.
    Several(Vec<usize>),
    /// Not at all.
    Nowhere,
}

/// Finds the lines of `old` in `text`: exactly; else ignoring trailing blanks and line endings; else with one uniform
/// indent shift, which then applies to `new` too. Only whole lines match, and each method counts only if it gives
/// exactly one match.
fn find(views: &Views<'_>, old: &str, new: &str) -> ExcerptMatch {
    let (text, lines) = (views.text, &views.lines);
    let fits = |at: usize| {
        let behind = text.get(at + old.len()..).unwrap_or("");
        (at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'))
            && (behind.is_empty() && !old.ends_with('\n') || behind.starts_with('\n') || behind.starts_with("\r\n"))
    };
    let exact = occurrences(text, old, LISTED, fits);
    match exact.as_slice() {
        [at] => return ExcerptMatch::Once { range: *at..*at + old.len(), new: new.to_owned(), repaired: false },
        [] => {}
        several => return ExcerptMatch::Several(several.iter().map(|at| lines.line_at(*at)).collect()),
    }
    let wanted: Vec<&str> = old.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let trailing =
        line_matches(views.trailing.get_or_init(|| Joined::of(lines, str::trim_end)), &wanted, str::trim_end);
    match trailing.as_slice() {
        [first] => return whole_lines(lines, *first, wanted.len(), new.to_owned()),
        [] => {}
        several => return ExcerptMatch::Several(several.iter().copied().take(LISTED).collect()),
    }
    let candidates = line_matches(views.trimmed.get_or_init(|| Joined::of(lines, str::trim)), &wanted, str::trim);
    let shifted: Vec<(usize, String)> = candidates
        .into_iter()
        .filter_map(|first| Some((first, shift_of(lines, first, &wanted)?.apply(new)?)))
        .collect();
    match shifted.as_slice() {
        [(first, new)] => whole_lines(lines, *first, wanted.len(), new.clone()),
        [] => ExcerptMatch::Nowhere,
        several => ExcerptMatch::Several(several.iter().map(|(line, _)| *line).take(LISTED).collect()),
    }
}

fn whole_lines(lines: &Lines<'_>, first: usize, count: usize, new: String) -> ExcerptMatch {
    let last = first + count.saturating_sub(1);
    let range = lines.start(first)..lines.start(last) + lines.get(last).len();
    ExcerptMatch::Once { range, new, repaired: true }
}

/// Both texts of an excerpt without the blank lines at the edges of the old one, if there are any: a model sees blank
/// lines at the end of a file or a block.
fn without_blank_edges(written: Written<'_>) -> Option<Written<'_>> {
    let Written { old: mut bare, new: mut put } = written;
    while let Some((_, rest)) = bare.split_once('\n').filter(|(first, _)| first.trim().is_empty()) {
        bare = rest;
        put = match put.split_once('\n') {
            Some((line, rest)) if line.trim().is_empty() => rest,
            None if put.trim().is_empty() => "",
            _ => put,
        };
    }
    while let Some((rest, _)) = bare.rsplit_once('\n').filter(|(_, last)| last.trim().is_empty()) {
        bare = rest;
        put = match put.rsplit_once('\n') {
            Some((rest, line)) if line.trim().is_empty() => rest,
            _ => put,
        };
    }
    let line = |text| str::strip_suffix(text, '\r').unwrap_or(text);
    (bare.len() < written.old.len()).then(|| Written { old: line(bare), new: line(put) })
}

/// Bytes at which `needle` begins and that fit, including overlapping ones, at most `most`.
fn occurrences(text: &str, needle: &str, most: usize, fits: impl Fn(usize) -> bool) -> Vec<usize> {
    let step = needle.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < most {
        let Some(at) = text.get(from..).and_then(|rest| rest.find(needle)) else { break };
        if fits(from + at) {
            found.push(from + at);
        }
        from += at + step;
    }
    found
}

/// 1-based lines at which all `wanted` lines follow one another, compared in the form of `view`.
fn line_matches(joined: &Joined, wanted: &[&str], view: fn(&str) -> &str) -> Vec<usize> {
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    // One search in the joined lines takes linear time. A line break on both sides limits matches to whole lines.
    let mut needle = String::from("\n");
    for line in wanted {
        needle.push_str(view(line));
        needle.push('\n');
    }
    occurrences(&joined.text, &needle, CANDIDATES, |_| true)
        .into_iter()
        .filter_map(|at| joined.starts.binary_search(&at).ok().map(|index| index + 1))
        .collect()
}

/// How the file's indentation differs from the excerpt's. The difference is the same on every line.
enum Shift<'a> {
    /// The file has this before the excerpt's own indentation.
    More(&'a str),
    /// The excerpt has this before the file's own indentation.
    Less(&'a str),
}

impl Shift<'_> {
    fn apply(&self, new: &str) -> Option<String> {
        let mut out = String::with_capacity(new.len());
        for line in new.split_inclusive('\n') {
            match self {
                _ if line.trim().is_empty() => out.push_str(line),
                Self::More(indent) => {
                    out.push_str(indent);
                    out.push_str(line);
                }
                Self::Less(indent) => out.push_str(line.strip_prefix(indent)?),
            }
        }
        Some(out)
    }
}

fn shift_of<'a>(lines: &Lines<'a>, first: usize, wanted: &[&'a str]) -> Option<Shift<'a>> {
    let mut shift: Option<Shift<'a>> = None;
    for (offset, old) in wanted.iter().enumerate() {
        let (old, line) = (old.trim_end(), lines.get(first + offset).trim_end());
        if old.is_empty() {
            continue;
        }
        match &shift {
            None => {
                let more = line.strip_suffix(old).filter(|_| line.len() >= old.len());
                shift = Some(match more {
                    Some(indent) => Shift::More(indent),
                    None => Shift::Less(old.strip_suffix(line)?),
                });
            }
            Some(Shift::More(indent)) if line.strip_prefix(indent) == Some(old) => {}
            Some(Shift::Less(indent)) if old.strip_prefix(indent) == Some(line) => {}
            Some(_) => return None,
        }
    }
    shift
}

/// The lines of the file that are most similar to the excerpt's first non-empty line, nearest first: by shared words,
/// then, among the best, by edit distance.
pub(super) fn nearest_lines(lines: &Lines<'_>, old: &str, count: usize) -> Vec<String> {
    let Some(wanted) = old.lines().map(str::trim).find(|line| !line.is_empty()) else { return Vec::new() };
    let words = words_of(wanted);
    let mut ranked: Vec<(usize, usize)> = (1..=lines.count())
        .filter_map(|line| {
            let shared = words_of(lines.get(line)).intersection(&words).count();
            (shared > 0).then_some((usize::MAX - shared, line))
        })
        .collect();
    ranked.sort_unstable();
    ranked.truncate(40);
    let mut best: Vec<(usize, usize)> = ranked
        .into_iter()
        .map(|(_, line)| (strsim::levenshtein(&cut(lines.get(line).trim()), &cut(wanted)), line))
        .collect();
    best.sort_unstable();
    best.truncate(count);
    // A tab in place of blanks looks the same unless it is made visible.
    let shown = |line: &str| if old.contains('\t') { line.to_owned() } else { line.replace('\t', TAB) };
    best.into_iter()
        .map(|(_, line)| clause("line", &[("line", &line.to_string()), ("text", &cut(&shown(lines.get(line))))]))
        .collect()
}

fn words_of(line: &str) -> BTreeSet<&str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).take(60).collect()
}

fn cut(line: &str) -> String {
    line.chars().take(120).collect()
}
