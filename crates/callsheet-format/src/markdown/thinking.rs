//! `thinking-removed` (spec 4.4): reasoning blocks outside fences are taken away and kept aside.

use std::borrow::Cow;
use std::collections::BTreeMap;

use callsheet_core::issue::{RepairCode, Span};

use crate::reading::Diagnostics;

use super::fence::{Part, Tracker};
use super::heading::Format;
use super::text::{Line, is_blank};

const TAGS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
];

/// Takes reasoning out of the lines and returns it. Lines that become empty are marked removed.
pub fn remove<'a>(lines: &mut [Line<'a>], format: &Format, notes: &mut Diagnostics) -> String {
    let mut thinking = String::new();
    if !lines.iter().any(|line| line.text.contains('<')) {
        return thinking;
    }
    let original: Vec<Cow<'a, str>> = lines.iter().map(|line| line.text.clone()).collect();
    drop_unopened(lines, &original, format, &mut thinking, notes);
    let mut tracker = Tracker::default();
    let last = last_closing(&original);
    let mut open: Option<(&str, usize)> = None;
    let mut ends_at = 0;
    for (at, line) in lines.iter_mut().enumerate() {
        // Inside a block that never closes; what follows it may open another one.
        if at < ends_at {
            thinking.push_str(&line.text);
            thinking.push('\n');
            line.removed |= !line.text.trim().is_empty();
            line.text = Cow::Borrowed("");
            continue;
        }
        if open.is_none() && tracker.next(&line.text) != Part::Outside {
            continue;
        }
        if open.is_none() && !line.text.contains('<') {
            continue;
        }
        let had_text = !is_blank(&line.text);
        let kept = take(&line.text, at, &mut open, &mut thinking, notes);
        if kept != line.text {
            line.removed |= had_text && kept.trim().is_empty();
            line.text = kept.into();
        }
        if let Some((close, start)) = open
            && last.get(close).is_none_or(|last| *last <= at)
        {
            ends_at = end_at_heading(&original, start, format);
            notes.repair(RepairCode::ThinkingRemoved, span(start, ends_at.saturating_sub(1)), "unclosed", "");
            open = None;
            tracker = Tracker::default();
        }
    }
    thinking
}

/// The text with reasoning blanked, so that everything else stays where it is. A block that never closes takes all the rest,
/// a closing tag without an opening one all before it.
pub fn without(text: &str) -> Cow<'_, str> {
    let first = split_opening(text).map_or(text.len(), |(before, ..)| before.len());
    let mut at = text.get(..first).and_then(end_of_closing).unwrap_or(0);
    let mut blank: Vec<std::ops::Range<usize>> = std::iter::once(0..at).collect();
    while let Some((before, after, close)) = text.get(at..).and_then(split_opening) {
        let start = at + before.len();
        at = split_ignoring_case(after, close).map_or(text.len(), |(_, rest)| text.len() - rest.len());
        blank.push(start..at);
    }
    if blank.iter().all(std::ops::Range::is_empty) {
        return Cow::Borrowed(text);
    }
    let is_blank = |at: usize| blank.iter().any(|range| range.contains(&at));
    let kept = text.char_indices().map(|(at, c)| match c {
        c if c == '\n' || !is_blank(at) => c.to_string(),
        c => " ".repeat(c.len_utf8()),
    });
    Cow::Owned(kept.collect())
}

/// The last line that holds each closing tag. A block without one behind it never closes, which is known without
/// looking through all the rest for each.
fn last_closing(original: &[Cow<'_, str>]) -> BTreeMap<&'static str, usize> {
    let mut last = BTreeMap::new();
    for (at, text) in original.iter().enumerate().filter(|(_, text)| text.contains("</")) {
        last.extend(TAGS.iter().filter(|(_, close)| split_ignoring_case(text, close).is_some()).map(|(_, c)| (*c, at)));
    }
    last
}

/// The part of one line outside reasoning; opens and closes blocks as it goes.
fn take(
    line: &str,
    at: usize,
    open: &mut Option<(&'static str, usize)>,
    thinking: &mut String,
    notes: &mut Diagnostics,
) -> String {
    let mut kept = String::new();
    let mut rest = line;
    loop {
        if let Some((close, start)) = open {
            let Some((inside, after)) = split_ignoring_case(rest, close) else {
                thinking.push_str(rest);
                thinking.push('\n');
                return kept;
            };
            thinking.push_str(inside);
            thinking.push('\n');
            let span = span(*start, at);
            notes.repair(RepairCode::ThinkingRemoved, span, close.trim_start_matches("</").trim_end_matches('>'), "");
            *open = None;
            rest = after;
        } else {
            let Some((before, after, close)) = split_opening(rest) else {
                kept.push_str(rest);
                return kept;
            };
            kept.push_str(before);
            *open = Some((close, at));
            rest = after;
        }
    }
}

/// Where a block that never closes ends: before the first recognised heading; without one it takes all the rest.
fn end_at_heading(original: &[Cow<'_, str>], start: usize, format: &Format) -> usize {
    let next = original.iter().enumerate().skip(start + 1).find(|(_, text)| format.is_title_line(text));
    next.map_or(original.len(), |(at, _)| at)
}

/// A closing tag without an opening one: providers that put the opening tag into the prompt send this. Everything
/// before it is reasoning if a recognised heading follows.
fn drop_unopened<'a>(
    lines: &mut [Line<'a>],
    original: &[Cow<'a, str>],
    format: &Format,
    thinking: &mut String,
    notes: &mut Diagnostics,
) {
    let Some((at, after)) = last_unopened(original, format) else { return };
    for (line, text) in lines.iter_mut().zip(original).take(at + 1) {
        thinking.push_str(text);
        thinking.push('\n');
        *line = Line::gone();
    }
    if let Some(line) = lines.get_mut(at).filter(|_| !after.trim().is_empty()) {
        *line = Line::of(after);
    }
    notes.repair(RepairCode::ThinkingRemoved, span(0, at), "unopened", "");
}

/// The last closing tag in front of every opening one that a recognised heading follows, by line, with what stands behind
/// it. Of several the last counts: what is left of the text would be read like that, too.
fn last_unopened(original: &[Cow<'_, str>], format: &Format) -> Option<(usize, String)> {
    let mut tracker = Tracker::default();
    let mut last_title = None;
    let mut found = None;
    for (at, text) in original.iter().enumerate() {
        if tracker.next(text) != Part::Outside || !text.contains('<') {
            continue;
        }
        let opens = split_opening(text).map(|(before, ..)| before.len());
        if let Some(after) = text.get(..opens.unwrap_or(text.len())).and_then(end_of_closing) {
            let after = text.get(after..).unwrap_or_default();
            let title = *last_title.get_or_insert_with(|| original.iter().rposition(|text| format.is_title_line(text)));
            if title.is_none_or(|title| title <= at) && !format.is_title_line(after) {
                break;
            }
            found = Some((at, after.to_owned()));
            tracker = Tracker::default();
            tracker.next(after);
        }
        if opens.is_some() {
            break;
        }
    }
    found
}

/// Where the last closing tag of a text ends.
fn end_of_closing(text: &str) -> Option<usize> {
    text.rmatch_indices('<').find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let (_, close) = TAGS.into_iter().find(|(_, close)| begins(rest, close))?;
        Some(at + close.len())
    })
}

/// Splits at the first opening tag of any kind, in any case; gives the tag that closes it. One look at the text.
fn split_opening(text: &str) -> Option<(&str, &str, &'static str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let (tag, close) = TAGS.into_iter().find(|(tag, _)| begins(rest, tag))?;
        Some((text.get(..at)?, rest.get(tag.len()..)?, close))
    })
}

/// Splits at the first occurrence of an ASCII `tag` in any case.
fn split_ignoring_case<'a>(text: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let (at, _) = text.match_indices('<').find(|(at, _)| text.get(*at..).is_some_and(|rest| begins(rest, tag)))?;
    Some((text.get(..at)?, text.get(at + tag.len()..)?))
}

fn begins(text: &str, tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
}

fn span(first: usize, last: usize) -> Span {
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    Span { first: number(first), last: number(last.max(first)) }
}
