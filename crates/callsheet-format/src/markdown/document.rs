//! A text as the sections of a format.

use std::collections::BTreeSet;
use std::ops::Range;

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::names::heading_key;

use crate::reading::Diagnostics;

use super::fence::{self, Fence};
use super::heading::{Fit, Format, Heading, Match, Matched, Rule, bold_only, clean};
use super::structure::{self, Form, Raw};
use super::text::{self, Line, straighten};
use super::{channels, items, nested, thinking, turn_end, wrapper};

/// The longest line, in bytes, that can be a canonical title alone.
const LONGEST_TITLE: usize = 48;

/// What kind of line this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ordinary text.
    Text,
    /// Nothing.
    Blank,
    /// Part of the fence with this index.
    Fence(usize),
    /// An unrecognised heading or its underline, with its level. 0 for an underline.
    Heading(u8),
    /// A recognised heading.
    Section,
    /// A marker line, by its index in the format.
    Marker(usize),
    /// A thematic break.
    Rule,
    /// User text or removed text. Never content.
    Hidden,
}

/// How a text is prepared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prepare<'a> {
    /// User texts. An exact copy under an `Original prompt` heading is not read (spec 4.4 `prompt-echo-dropped`).
    pub copies: &'a [String],
    /// Whether the provider stopped at its length limit. An open fence is then not closed silently.
    pub length_stop: bool,
    /// Whether it is a person's file, which no chat mark ends.
    pub by_hand: bool,
}

/// A recognised section, or one without a recognised heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its heading. `None` for an unrecognised heading that ended the section before it.
    pub heading: Option<Heading>,
    /// Number after the title.
    pub number: Option<u32>,
    /// Title as written, cleaned.
    pub title: String,
    /// The larger of the written and the canonical level.
    pub level: u8,
    /// Whether the title is canonical, a synonym or nearly one.
    pub fit: Option<Fit>,
    /// 0-based line of the heading.
    pub line: usize,
    /// 0-based lines of the body.
    pub body: Range<usize>,
}

impl Section {
    /// Heading and body.
    pub fn span(&self) -> Span {
        let last = self.body.end.max(self.line + 1);
        Span { first: number(self.line), last: u32::try_from(last).unwrap_or(u32::MAX) }
    }

    /// The line of the heading.
    pub fn heading_span(&self) -> Span {
        Span::line(number(self.line))
    }
}

/// A prepared text.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    pub(super) lines: Vec<Line<'a>>,
    pub(super) kinds: Vec<Kind>,
    /// Fences in order.
    pub fences: Vec<Fence>,
    /// Sections in order.
    pub sections: Vec<Section>,
    /// 0-based lines before the first section.
    pub preamble: Range<usize>,
    /// Removed reasoning, for viewing.
    pub thinking: String,
    /// Whether the reply ends at a chat mark. What was cut off after it was not part of the reply.
    pub ended: bool,
    format: Format,
}

impl<'a> Document<'a> {
    /// Prepares a text and finds the sections of `format`. Notes repairs.
    pub fn read(source: &'a str, format: &Format, prepare: Prepare<'_>, notes: &mut Diagnostics) -> Self {
        let (mut lines, cut, mut thinking) = channels::lines(source, prepare.by_hand, notes);
        if cut {
            let span = Span { first: 1, last: number(lines.len().saturating_sub(1)) };
            notes.push(notes.issue(IssueCode::ReplyTooLarge, "", span, &[]));
        }
        // A person who writes such tags means them.
        let reason = |lines: &mut Vec<Line<'a>>, notes: &mut Diagnostics| match prepare.by_hand {
            true => String::new(),
            false => thinking::remove(lines, format, notes),
        };
        thinking.push_str(&reason(&mut lines, notes));
        let mut ended = !prepare.by_hand && turn_end::cut(&mut lines, notes);
        if wrapper::remove(&mut lines, format, notes) {
            thinking.push_str(&reason(&mut lines, notes));
            ended |= !prepare.by_hand && turn_end::cut(&mut lines, notes);
        }
        if !source.is_ascii() {
            plain_starts(&mut lines, notes);
        }
        nested::lengthen(&mut lines, format, notes);
        if !prepare.length_stop || ended {
            fence::drop_stray(&mut lines, notes);
        }
        let mut scratch = notes.fork();
        let mut found = LineStructure::of(&lines, format, prepare, ended, &mut scratch);
        let without = !found.sections.iter().any(|section| section.heading.is_some_and(items::is_essential));
        if without && items::promote(&mut lines, format, notes) {
            scratch = notes.fork();
            found = LineStructure::of(&lines, format, prepare, ended, &mut scratch);
        }
        notes.absorb(scratch);
        let LineStructure { kinds, fences, sections } = found;
        let preamble = 0..sections.first().map_or(lines.len(), |section| section.line);
        Self { lines, kinds, fences, sections, preamble, thinking, ended, format: *format }
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether only blanks are left.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| text::is_blank(&line.text))
    }

    /// A line, by its 0-based number.
    pub fn line(&self, at: usize) -> &str {
        self.lines.get(at).map_or("", |line| &*line.text)
    }

    /// Sections of one heading.
    pub fn all(&self, heading: Heading) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(move |section| section.heading == Some(heading))
    }

    /// Text of some lines without blank lines at the edges, marker lines, removed lines, and thematic breaks at the
    /// edges. Headings and fences inside are unchanged.
    pub fn text(&self, range: Range<usize>) -> String {
        let first = range.clone().find(|at| !self.is_at_edge(*at)).unwrap_or(range.end);
        let last = range.clone().rev().find(|at| !self.is_at_edge(*at)).map_or(first, |at| at + 1);
        let mut text = String::new();
        for at in first..last {
            let Some(line) = self.lines.get(at).filter(|line| !line.removed) else { continue };
            if !matches!(self.kinds.get(at), Some(Kind::Marker(_))) {
                text.push_str(line.text.trim_end());
                text.push('\n');
            }
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Adds one line in the form of [`Document::text`].
    pub fn push_text(&self, at: usize, out: &mut String) {
        if let Some(line) = self.lines.get(at).filter(|line| !line.removed && !self.is_at_edge(at)) {
            out.push_str(line.text.trim_end());
        }
    }

    /// These lines without what was removed and without trailing blanks.
    pub fn text_of(&self, lines: Range<usize>) -> String {
        let lines = self.lines.get(lines).unwrap_or_default().iter().filter(|line| !line.removed);
        let kept: Vec<&str> = lines.map(|line| line.text.trim_end()).collect();
        kept.join("\n").trim_matches('\n').to_owned()
    }

    /// The whole text of the model without reasoning and wrapper.
    pub fn whole(&self) -> String {
        let kept: Vec<&str> = self.lines.iter().filter(|line| !line.removed).map(|line| &*line.text).collect();
        kept.join("\n").trim_matches('\n').to_owned()
    }

    /// Removes a line that is not part of what the reply says, and notes it.
    pub fn take_away(&mut self, at: usize, code: RepairCode, notes: &mut Diagnostics) {
        let span = self.span(at..at + 1);
        if let (Some(line), Some(kind)) = (self.lines.get_mut(at), self.kinds.get_mut(at)) {
            notes.repair(code, span, line.text.trim(), "");
            line.text = "".into();
            line.removed = true;
            *kind = Kind::Hidden;
        }
    }

    /// 0-based lines in `range` that consist of a marker of the format.
    pub fn markers(&self, marker: &str, range: Range<usize>) -> Vec<usize> {
        let Some(index) = self.format.markers.iter().position(|known| *known == marker) else { return Vec::new() };
        range.filter(|at| self.kinds.get(*at) == Some(&Kind::Marker(index))).collect()
    }

    /// Whether `range` contains the marker. Notes `label-form` if the marker is not in bold and lower case.
    pub fn take_marker(&self, marker: &str, range: Range<usize>, notes: &mut Diagnostics) -> bool {
        let found = self.markers(marker, range);
        for at in &found {
            let written = self.lines.get(*at).map_or("", |line| line.text.trim());
            let canonical = format!("**{marker}**");
            if written != canonical {
                notes.repair(RepairCode::LabelForm, self.span(*at..at + 1), written, &canonical);
            }
        }
        !found.is_empty()
    }

    /// The lines as a span of the original text.
    pub fn span(&self, range: Range<usize>) -> Span {
        Span { first: number(range.start), last: number(range.end.saturating_sub(1).max(range.start)) }
    }

    /// Whether any line of the range has text other than markers and thematic breaks.
    pub fn has_text(&self, range: Range<usize>) -> bool {
        let first = range.clone().find(|at| !self.is_at_edge(*at));
        // Nearly always the first line that counts has text.
        let says = |at: usize| self.lines.get(at).is_some_and(|line| !line.removed && !text::is_blank(&line.text));
        first.is_some_and(|at| says(at) || !self.text(range).is_empty())
    }

    /// Whether a line is omitted at the beginning and the end of a text.
    fn is_at_edge(&self, at: usize) -> bool {
        let kind = self.kinds.get(at).copied().unwrap_or(Kind::Blank);
        let blank = || self.lines.get(at).is_none_or(|line| text::is_blank(&line.text));
        matches!(kind, Kind::Blank | Kind::Marker(_) | Kind::Rule) || (!matches!(kind, Kind::Fence(_)) && blank())
    }

    /// Notes `prose-trimmed` for a range that contains text.
    pub fn trim_prose(&self, range: Range<usize>, notes: &mut Diagnostics) {
        if self.has_text(range.clone()) {
            let text = if notes.is_full(RepairCode::ProseTrimmed) { String::new() } else { self.text(range.clone()) };
            let first = range.clone().find(|at| self.lines.get(*at).is_some_and(|line| !text::is_blank(&line.text)));
            notes.repair(RepairCode::ProseTrimmed, self.span(first.unwrap_or(range.start)..range.end), &text, "");
        }
    }

    /// Index of the fence that starts at this 0-based line.
    pub(super) fn fence_at(&self, at: usize) -> Option<usize> {
        match self.kinds.get(at) {
            Some(Kind::Fence(index)) => {
                self.fences.get(*index).filter(|fence| fence.span.first == number(at)).map(|_| *index)
            }
            _ => None,
        }
    }
}

/// The structure of prepared lines.
struct LineStructure {
    kinds: Vec<Kind>,
    fences: Vec<Fence>,
    sections: Vec<Section>,
}

impl LineStructure {
    fn of(lines: &[Line<'_>], format: &Format, prepare: Prepare<'_>, ended: bool, notes: &mut Diagnostics) -> Self {
        let mut hidden = copies(lines, format, prepare.copies);
        let fences = fence::find(lines, &hidden);
        close_last(&fences, prepare.length_stop && !ended, notes);
        let mut kinds = kinds(lines, &hidden, &fences, format);
        for (hide, kind) in hidden.iter_mut().zip(&kinds) {
            *hide |= matches!(kind, Kind::Fence(_));
        }
        let (mut raw, rules) = structure::scan(lines, &hidden);
        for at in rules {
            set(&mut kinds, at, Kind::Rule);
        }
        raw.extend(title_lines(lines, &kinds, format, &raw));
        raw.sort_by_key(|heading| heading.line);
        take_marks(&mut raw, &mut kinds, format);
        let sections = sections(&raw, &mut kinds, format, notes);
        Self { kinds, fences, sections }
    }
}

pub(super) fn number(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(u32::MAX)
}

fn set(kinds: &mut [Kind], at: usize, kind: Kind) {
    if let Some(slot) = kinds.get_mut(at) {
        *slot = kind;
    }
}

/// Removes odd characters before heading, list and emphasis marks, because they would hide the mark.
fn plain_starts(lines: &mut [Line<'_>], notes: &mut Diagnostics) {
    let mut tracker = fence::Tracker::default();
    for (at, line) in lines.iter_mut().enumerate() {
        if tracker.next(&line.text) == fence::Part::Outside
            && let Some(plain) = text::plain_start(&line.text)
        {
            notes.repair(RepairCode::QuotesStraightened, Span::line(number(at)), &line.text, &plain);
            line.text = plain.into();
        }
    }
}

fn close_last(fences: &[Fence], length_stop: bool, notes: &mut Diagnostics) {
    if let Some(fence) = fences.last().filter(|fence| !fence.closed && !length_stop) {
        notes.repair(RepairCode::FenceClosed, fence.span, &fence.lang, "");
    }
}

/// Finds lines that are an exact copy of a user text under an `Original prompt` heading.
fn copies(lines: &[Line<'_>], format: &Format, texts: &[String]) -> Vec<bool> {
    let mut hidden: Vec<bool> = vec![false; lines.len()];
    let knows_prompt = format.rules.iter().any(|rule| rule.heading == Heading::OriginalPrompt);
    if !knows_prompt || texts.iter().all(|text| text.trim().is_empty()) {
        return hidden;
    }
    let title = heading_key("Original prompt");
    let texts: Vec<Vec<&str>> = texts
        .iter()
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
        .map(|text| text.lines().map(str::trim_end).collect())
        .collect();
    for (at, line) in lines.iter().enumerate() {
        let first = line.text.bytes().find(|byte| !matches!(byte, b' ' | b'\t'));
        let may = first.is_some_and(|byte| !byte.is_ascii() || byte.is_ascii_control() || b"#*_".contains(&byte));
        let marked = may && line.text.trim_start().starts_with(['#', '*', '_']);
        if hidden.get(at) == Some(&true) || !marked || heading_key(clean(line.text.trim())) != title {
            continue;
        }
        let start = lines.iter().skip(at + 1).take_while(|line| line.text.trim().is_empty()).count() + at + 1;
        let copied = texts.iter().filter_map(|text| copied_lines(lines.get(start..)?, text)).max().unwrap_or(0);
        for hide in hidden.iter_mut().skip(start).take(copied) {
            *hide = true;
        }
    }
    hidden
}

/// How many of the lines copy the text's lines. `None` if they are not a copy.
fn copied_lines(lines: &[Line<'_>], wanted: &[&str]) -> Option<usize> {
    let copied = wanted.len() <= lines.len() && wanted.iter().zip(lines).all(|(a, b)| *a == b.text.trim_end());
    copied.then_some(wanted.len())
}

fn kinds(lines: &[Line<'_>], hidden: &[bool], fences: &[Fence], format: &Format) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = lines
        .iter()
        .zip(hidden)
        .map(|(line, hide)| {
            if *hide || line.removed {
                Kind::Hidden
            } else if text::is_blank(&line.text) {
                Kind::Blank
            } else {
                marker_of(&line.text, format).map_or(Kind::Text, Kind::Marker)
            }
        })
        .collect();
    for (index, fence) in fences.iter().enumerate() {
        let first = usize::try_from(fence.span.first).unwrap_or(1).saturating_sub(1);
        let last = usize::try_from(fence.span.last).unwrap_or(1);
        for slot in kinds.iter_mut().take(last).skip(first) {
            *slot = Kind::Fence(index);
        }
    }
    kinds
}

/// The marker that a line consists of, in any case, with or without bold, list mark and final period.
pub(crate) fn marker_of(line: &str, format: &Format) -> Option<usize> {
    if format.markers.is_empty() || line.len() > 80 {
        return None;
    }
    let first = line.chars().find(|c| c.is_alphabetic())?.to_ascii_lowercase();
    if !format.markers.iter().any(|marker| marker.starts_with(first)) {
        return None;
    }
    let plain = straighten(line);
    let body = super::label::marker(&plain).map_or(plain.trim(), |marker| marker.rest);
    let words = body.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '.' | '`' | '!'));
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    format.markers.iter().position(|marker| *marker == words)
}

/// Turns a heading that is a marker of the format into that marker, if nothing is below it, including deeper headings.
fn take_marks(raw: &mut Vec<Raw<'_>>, kinds: &mut [Kind], format: &Format) {
    let mut next: Option<(usize, u8)> = None;
    let mut taken = BTreeSet::new();
    for heading in raw.iter().rev() {
        let (line, level, end) = (heading.line, heading.level, next.map_or(kinds.len(), |(line, _)| line));
        let deeper = next.is_some_and(|(_, below)| below > level);
        next = Some((line, level));
        let index = marker_of(clean(heading.text), format).filter(|_| heading.form == Form::Atx && !deeper);
        let below = kinds.get(heading.last + 1..end).unwrap_or_default();
        if let Some(index) = index.filter(|_| below.iter().all(|kind| matches!(kind, Kind::Blank | Kind::Hidden))) {
            set(kinds, line, Kind::Marker(index));
            taken.insert(line);
        }
    }
    raw.retain(|heading| !taken.contains(&heading.line));
}

/// Recognised titles that CommonMark reads as text: bold alone on a line, number signs without a space and, if the
/// format allows it, a canonical title alone.
fn title_lines<'l>(lines: &'l [Line<'_>], kinds: &[Kind], format: &Format, known: &[Raw<'_>]) -> Vec<Raw<'l>> {
    // Headings come in line order, so one walk covers them all.
    let mut known = known.iter().peekable();
    let mut found = Vec::new();
    let mut last: Option<(&str, Matched)> = None;
    for (at, (line, kind)) in lines.iter().zip(kinds).enumerate() {
        if *kind != Kind::Text || line.text.len() > 200 || !may_begin_title(&line.text, format) {
            continue;
        }
        while known.next_if(|raw| raw.last < at).is_some() {}
        if known.peek().is_some_and(|raw| raw.line <= at) {
            continue;
        }
        let plain = straighten(&line.text);
        let bold = bold_only(&plain).is_some();
        let signs = plain.starts_with('#');
        if !bold && !signs && !may_be_title(&plain, format) {
            continue;
        }
        let known = last.filter(|(text, _)| *text == line.text).map(|(_, matched)| matched);
        let matched = known.unwrap_or_else(|| format.find(clean(&plain)));
        last = Some((&*line.text, matched));
        let Matched::One(matched) = matched else { continue };
        if bold || signs || format.plain_titles && is_plain_title(&plain, &matched) {
            let level = if signs { plain.chars().take_while(|c| *c == '#').count() } else { 0 };
            let level = u8::try_from(level).unwrap_or(6).min(6);
            found.push(Raw { line: at, last: at, level, text: &line.text, form: Form::Line });
        }
    }
    found
}

/// The cheapest check of a line: its first byte.
fn may_begin_title(line: &str, format: &Format) -> bool {
    let Some(first) = line.bytes().next() else { return false };
    let begins = |title: &str| title.bytes().next().is_some_and(|letter| letter.eq_ignore_ascii_case(&first));
    match first {
        b'#' | b'*' | b'_' => true,
        _ if first.is_ascii() => format.plain_titles && format.rules.iter().any(|rule| begins(rule.title)),
        _ => !line.starts_with(char::is_whitespace),
    }
}

/// A cheap first check of a line of text.
fn may_be_title(line: &str, format: &Format) -> bool {
    let begins = |title: &str| line.get(..title.len()).is_some_and(|head| head.eq_ignore_ascii_case(title));
    format.plain_titles && line.len() <= LONGEST_TITLE && format.rules.iter().any(|rule| begins(rule.title))
}

/// Whether a line is a title alone, such as `Task section 2` or `Goals / summary`. A single word needs a colon.
fn is_plain_title(line: &str, matched: &Match) -> bool {
    let line = line.trim();
    let title = line.trim_end_matches(':');
    let mut wanted = matched.rule.title.to_lowercase();
    if let Some(number) = matched.number {
        wanted = format!("{wanted} {number}");
    }
    let several = matched.rule.title.contains(' ');
    title.to_lowercase() == wanted && (several || line.ends_with(':'))
}

fn sections(raw: &[Raw<'_>], kinds: &mut [Kind], format: &Format, notes: &mut Diagnostics) -> Vec<Section> {
    // A model in a loop writes the same heading repeatedly.
    let mut last: Option<(&str, Matched)> = None;
    let mut matches: Vec<Matched> = Vec::with_capacity(raw.len());
    for heading in raw {
        let matched = match last {
            Some((text, matched)) if text == heading.text => matched,
            _ => format.find(clean(heading.text)),
        };
        last = Some((heading.text, matched));
        matches.push(matched);
    }
    let canonical: BTreeSet<Heading> = matches
        .iter()
        .filter_map(|matched| match matched {
            Matched::One(found) if found.fit == Fit::Canonical => Some(found.rule.heading),
            _ => None,
        })
        .collect();
    let mut sections: Vec<Section> = Vec::new();
    for (heading, matched) in raw.iter().zip(&matches) {
        let span = Span { first: number(heading.line), last: number(heading.last) };
        if matches!(matched, Matched::Two) {
            let title = clean(heading.text);
            notes.push(notes.issue(IssueCode::DuplicateSection, "two-titles", span, &[("title", title)]));
        }
        let found = match matched {
            Matched::One(found) if found.fit == Fit::Canonical || !canonical.contains(&found.rule.heading) => {
                Some(found)
            }
            _ => None,
        };
        match found {
            Some(found) => {
                end_last(&mut sections, heading.line);
                note_heading(heading, found, span, notes);
                for at in heading.line..=heading.last {
                    set(kinds, at, Kind::Section);
                }
                sections.push(section(heading, Some(found)));
            }
            None => ordinary(heading, &mut sections, kinds),
        }
    }
    end_last(&mut sections, kinds.len());
    sections
}

fn section(heading: &Raw<'_>, found: Option<&Match>) -> Section {
    let canonical = found.map_or(0, |found| found.rule.level);
    Section {
        heading: found.map(|found| found.rule.heading),
        number: found.and_then(|found| found.number),
        title: straighten(clean(heading.text)).into_owned(),
        level: heading.level.max(canonical),
        fit: found.map(|found| found.fit),
        line: heading.line,
        body: heading.last + 1..heading.last + 1,
    }
}

fn end_last(sections: &mut [Section], at: usize) {
    if let Some(last) = sections.last_mut() {
        last.body.end = at.max(last.body.start);
    }
}

/// Handles an unrecognised heading. It is content of a section with a higher heading, or else it ends the section.
fn ordinary(heading: &Raw<'_>, sections: &mut Vec<Section>, kinds: &mut [Kind]) {
    let one_line = heading.last <= heading.line + 1;
    let short = heading.text.chars().count() <= 60 && !heading.text.ends_with(['.', '!', '?', ',', ';']);
    let counts = match heading.form {
        Form::Atx => true,
        // A dashed line directly below a sentence is a separator, not an underline. The same applies below the first
        // line of a section, which would otherwise be empty.
        Form::Underlined => one_line && (heading.level == 1 || short && !is_first_line(heading, sections, kinds)),
        Form::Line => false,
    };
    if !counts {
        if heading.form == Form::Underlined {
            set(kinds, heading.last, Kind::Rule);
        }
        return;
    }
    set(kinds, heading.line, Kind::Heading(heading.level));
    if heading.last > heading.line {
        set(kinds, heading.last, Kind::Heading(0));
    }
    let ends = sections.last().is_some_and(|last| last.heading.is_some() && heading.level <= last.level);
    if ends {
        end_last(sections, heading.line);
        sections.push(section(heading, None));
    }
}

/// Whether only blank lines are between a recognised heading and this one.
fn is_first_line(heading: &Raw<'_>, sections: &[Section], kinds: &[Kind]) -> bool {
    let of = sections.last().filter(|last| last.heading.is_some());
    let between = of.and_then(|last| kinds.get(last.body.start..heading.line));
    between.is_some_and(|between| between.iter().all(|kind| *kind == Kind::Blank))
}

fn note_heading(heading: &Raw<'_>, found: &Match, span: Span, notes: &mut Diagnostics) {
    let rule: &Rule = found.rule;
    let straight = straighten(heading.text);
    if straight != heading.text {
        notes.repair(RepairCode::QuotesStraightened, span, heading.text, &straight);
    }
    let written = clean(&straight);
    let signs = "######".get(..usize::from(rule.level)).unwrap_or_default();
    let number = found.number.map(|number| format!(" {number}")).unwrap_or_default();
    let after = format_args!("{signs} {}{number}", rule.title);
    if heading.form != Form::Atx || heading.level != rule.level || straight.trim_start_matches('#').trim() != written {
        notes.repair(RepairCode::HeadingLevel, span, heading.text, after);
    }
    if written.strip_prefix(rule.title) != Some(&number) {
        notes.repair(RepairCode::HeadingName, span, heading.text, after);
    }
}
